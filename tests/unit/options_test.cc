// Options::from_environment and SearchRoots::from_environment.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "octet/runtime.h"
#include "runtime/nvrtc.h"
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

namespace {

using octet::CacheMode;
using octet::Error;
using octet::ErrorCode;
using octet::Options;

// Exactly these variables, of all that are read, are set for a scope.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& variables) {
    for (const char* name : {"OCTET_CACHE_DIR", "OCTET_CACHE_READONLY_DIRS", "OCTET_CACHE_MODE", "OCTET_NVRTC_LIBRARY",
                             "OCTET_TEMPLATE_DIR", "OCTET_DUMP_DIR", "OCTET_LINEINFO", "XDG_CACHE_HOME", "HOME",
                             "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "VIRTUAL_ENV"}) {
      const char* value = std::getenv(name);
      before_[name] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
      unsetenv(name);
    }
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : before_) value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

Options options_of(const std::map<std::string, std::string>& variables) {
  const Environment environment(variables);
  return Options::from_environment();
}

std::string refusal_of(const std::map<std::string, std::string>& variables) {
  try {
    options_of(variables);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("options: defaults when nothing but HOME is set") {
  const Options options = options_of({{"HOME", "/home/ada"}});
  CHECK(options.cache_dir == "/home/ada/.cache/octet");
  CHECK(options.cache_readonly_dirs.empty());
  CHECK(options.cache_mode == CacheMode::build);
  CHECK(options.nvrtc_library.empty());
  CHECK(options.template_dir.empty());
  CHECK(options.dump_dir.empty());
  CHECK_FALSE(options.lineinfo);
}

TEST_CASE("options: every variable reaches its field") {
  const Options options = options_of({{"HOME", "/home/ada"},
                                      {"XDG_CACHE_HOME", "/xdg"},
                                      {"OCTET_CACHE_DIR", "/var/my cache"},
                                      {"OCTET_CACHE_READONLY_DIRS", "/opt/a::/opt/b c:"},
                                      {"OCTET_CACHE_MODE", "cached-only"},
                                      {"OCTET_NVRTC_LIBRARY", "libnvrtc.so.13"},
                                      {"OCTET_TEMPLATE_DIR", "/templates"},
                                      {"OCTET_DUMP_DIR", "/dump"},
                                      {"OCTET_LINEINFO", "1"}});
  CHECK(options.cache_dir == "/var/my cache");
  CHECK(options.cache_readonly_dirs == std::vector<std::string>{"/opt/a", "/opt/b c"});
  CHECK(options.cache_mode == CacheMode::cached_only);
  CHECK(options.nvrtc_library == "libnvrtc.so.13");  // a name for the loader, not a path
  CHECK(options.template_dir == "/templates");
  CHECK(options.dump_dir == "/dump");
  CHECK(options.lineinfo);
}

TEST_CASE("options: the cache folder follows XDG_CACHE_HOME, which must be absolute") {
  CHECK(options_of({{"HOME", "/home/ada"}, {"XDG_CACHE_HOME", "/xdg"}}).cache_dir == "/xdg/octet");
  CHECK(options_of({{"HOME", "/home/ada"}, {"XDG_CACHE_HOME", "xdg"}}).cache_dir == "/home/ada/.cache/octet");
  CHECK(options_of({{"HOME", "/home/ada"}, {"XDG_CACHE_HOME", ""}}).cache_dir == "/home/ada/.cache/octet");
}

TEST_CASE("options: a relative cache folder does not move with the current folder") {
  const std::string here = std::filesystem::current_path().string();
  CHECK(options_of({{"OCTET_CACHE_DIR", "kernels"}}).cache_dir == here + "/kernels");
}

TEST_CASE("options: an empty OCTET_CACHE_DIR means memory only") {
  CHECK(options_of({{"HOME", "/home/ada"}, {"OCTET_CACHE_DIR", ""}}).cache_dir.empty());
}

TEST_CASE("D09: without HOME, or with one that does not exist, options are read without an error") {
  CHECK(options_of({}).cache_dir.empty());
  CHECK(options_of({{"HOME", ""}}).cache_dir.empty());
  CHECK(options_of({{"HOME", "/nonexistent"}}).cache_dir == "/nonexistent/.cache/octet");
}

TEST_CASE("options: child without HOME", "[.child]") {
  Options::from_environment();
  CHECK(Options::from_environment().cache_dir.empty());
}

TEST_CASE("D09: a missing cache folder is told once, naming the setting") {
  const auto child =
      octet::test::run_test_case("options: child without HOME", "-u HOME -u XDG_CACHE_HOME -u OCTET_CACHE_DIR");
  CHECK(child.exit_code == 0);
  const auto first = child.output.find("octet: warning: HOME is not set");
  REQUIRE(first != std::string::npos);
  CHECK(child.output.find("OCTET_CACHE_DIR", first) != std::string::npos);
  CHECK(child.output.find("octet: warning", first + 1) == std::string::npos);
}

TEST_CASE("options: a bad value is refused with the variable's name and the accepted values") {
  CHECK(refusal_of({{"HOME", "/h"}, {"OCTET_CACHE_MODE", "cached_only"}}) ==
        "OCTET_CACHE_MODE=\"cached_only\": accepted values are build and cached-only");
  CHECK(refusal_of({{"HOME", "/h"}, {"OCTET_LINEINFO", "yes"}}) ==
        "OCTET_LINEINFO=\"yes\": accepted values are 0 and 1");
}

TEST_CASE("options: values that mean the default") {
  CHECK(options_of({{"HOME", "/h"}, {"OCTET_CACHE_MODE", "build"}}).cache_mode == CacheMode::build);
  CHECK(options_of({{"HOME", "/h"}, {"OCTET_CACHE_MODE", ""}}).cache_mode == CacheMode::build);
  CHECK_FALSE(options_of({{"HOME", "/h"}, {"OCTET_LINEINFO", "0"}}).lineinfo);
  CHECK_FALSE(options_of({{"HOME", "/h"}, {"OCTET_LINEINFO", ""}}).lineinfo);
}

TEST_CASE("options: the roots of the search for libnvrtc") {
  const Environment environment(
      {{"HOME", "/home/ada"}, {"CUDA_HOME", "/opt/cuda"}, {"CONDA_PREFIX", "/conda"}, {"VIRTUAL_ENV", "/venv"}});
  const octet::SearchRoots roots = octet::SearchRoots::from_environment();
  CHECK(roots.toolkits == std::vector<std::string>{"/opt/cuda", "/conda"});
  CHECK(roots.python_prefixes == std::vector<std::string>{"/venv", "/conda", "/home/ada/.local"});
}
