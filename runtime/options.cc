// The environment is read here and nowhere else in the library.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>

#include "octet/runtime.h"
#include "runtime/nvrtc.h"

namespace octet {
namespace {

// Unset and empty are told apart where an empty value means something: OCTET_CACHE_DIR.
std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

std::string text(const char* name) { return variable(name).value_or(""); }

// A later change of the current folder must not move the cache.
std::string absolute(const std::string& path) {
  if (path.empty()) return path;
  std::error_code failed;
  const std::string result = std::filesystem::absolute(path, failed).string();
  return failed ? path : result;
}

std::vector<std::string> split_paths(std::string_view list) {
  std::vector<std::string> paths;
  while (!list.empty()) {
    const std::string_view path = list.substr(0, list.find(':'));
    list.remove_prefix(std::min(path.size() + 1, list.size()));
    if (!path.empty()) paths.push_back(absolute(std::string(path)));
  }
  return paths;
}

[[noreturn]] void refuse(const char* name, const std::string& value, const char* accepted) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}=\"{}\": accepted values are {}", name, value, accepted));
}

void warn_of_no_cache_dir() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::fputs(
        "octet: warning: HOME is not set, so compiled kernels are kept in memory only; "
        "set OCTET_CACHE_DIR to a folder to keep them, or to nothing to silence this\n",
        stderr);
  });
}

std::string cache_dir() {
  if (const auto dir = variable("OCTET_CACHE_DIR")) return absolute(*dir);
  // The XDG specification has relative values ignored.
  if (const std::string xdg = text("XDG_CACHE_HOME"); xdg.rfind('/', 0) == 0) return xdg + "/octet";
  if (const std::string home = text("HOME"); !home.empty()) return absolute(home + "/.cache/octet");
  warn_of_no_cache_dir();
  return {};
}

CacheMode cache_mode() {
  const std::string value = text("OCTET_CACHE_MODE");
  if (value.empty() || value == "build") return CacheMode::build;
  if (value == "cached-only") return CacheMode::cached_only;
  refuse("OCTET_CACHE_MODE", value, "build and cached-only");
}

bool lineinfo() {
  const std::string value = text("OCTET_LINEINFO");
  if (value.empty() || value == "0") return false;
  if (value == "1") return true;
  refuse("OCTET_LINEINFO", value, "0 and 1");
}

void add_set(std::vector<std::string>& roots, const char* name) {
  if (std::string value = text(name); !value.empty()) roots.push_back(std::move(value));
}

}  // namespace

Options Options::from_environment() {
  Options options;
  options.cache_dir = octet::cache_dir();
  options.cache_readonly_dirs = split_paths(text("OCTET_CACHE_READONLY_DIRS"));
  options.cache_mode = octet::cache_mode();
  options.nvrtc_library = text("OCTET_NVRTC_LIBRARY");
  options.template_dir = absolute(text("OCTET_TEMPLATE_DIR"));
  options.dump_dir = absolute(text("OCTET_DUMP_DIR"));
  options.lineinfo = octet::lineinfo();
  return options;
}

SearchRoots SearchRoots::from_environment() {
  SearchRoots roots;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"}) add_set(roots.toolkits, name);
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) add_set(roots.python_prefixes, name);
  if (const std::string home = text("HOME"); !home.empty()) roots.python_prefixes.push_back(home + "/.local");
  return roots;
}

}  // namespace octet
