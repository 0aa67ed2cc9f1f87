#include "runtime/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "octet/error.h"

namespace octet {
namespace {

// The first release whose ptxas schedules wgmma well enough to be worth running.
constexpr int oldest_major = 12, oldest_minor = 3;

constexpr const char* toolkit_library_folders[] = {
    "lib64",
    "lib",
#if defined(__aarch64__)
    "targets/sbsa-linux/lib",
#else
    "targets/x86_64-linux/lib",
#endif
};

// The wheels of CUDA 13 and of CUDA 12.
constexpr const char* wheel_library_folders[] = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"};

template <typename Function>
void resolve(const DynamicLibrary& library, const char* name, Function*& target, std::string& missing) {
  target = reinterpret_cast<Function*>(library.symbol(name));
  if (target == nullptr) missing += (missing.empty() ? "" : ", ") + std::string(name);
}

[[noreturn]] void fail(const LibrarySearch& search, const std::vector<LibraryAttempt>& tried) {
  if (!search.given.empty())
    throw Error(ErrorCode::compile_failed,
                fmt::format("libnvrtc cannot be used as set by OCTET_NVRTC_LIBRARY:\n{}"
                            "Set it to the path of a libnvrtc.so of CUDA {}.{} or later, or unset it to have the usual "
                            "places searched.",
                            describe(tried), oldest_major, oldest_minor));
  throw Error(ErrorCode::compile_failed,
              fmt::format("libnvrtc was not found, so no kernel can be compiled. Tried:\n{}"
                          "Set OCTET_NVRTC_LIBRARY to the path of a libnvrtc.so of CUDA {}.{} or later, or run: pip "
                          "install nvidia-cuda-nvrtc",
                          describe(tried), oldest_major, oldest_minor));
}

// At its first compile NVRTC opens its built-in headers by bare name. PyPI's wheels have no RPATH, so a library that
// was opened by path, outside the loader's folders, would not find the file beside it: it does when that is loaded
// already. Where this fails NVRTC may still find another one; if not, the compile log says so.
void load_builtins(const Nvrtc& nvrtc) {
  const std::string folder = nvrtc.path().substr(0, nvrtc.path().rfind('/') + 1);
  if (folder.empty()) return;
  const std::string path = fmt::format("{}libnvrtc-builtins.so.{}.{}", folder, nvrtc.major(), nvrtc.minor());
  dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

LibrarySearch nvrtc_search(const std::string& library, const SearchRoots& roots) {
  LibrarySearch search{library, "libnvrtc", {"libnvrtc.so.13", "libnvrtc.so", "libnvrtc.so.12"}, {}};
  const auto add = [&search](std::string pattern) {
    if (std::find(search.folders.begin(), search.folders.end(), pattern) == search.folders.end())
      search.folders.push_back(std::move(pattern));
  };
  std::vector<std::string> toolkits = roots.toolkits;
  toolkits.emplace_back("/usr/local/cuda");
  for (const std::string& toolkit : toolkits)
    for (const char* folder : toolkit_library_folders) add(fmt::format("{}/{}", escape_glob(toolkit), folder));

  std::vector<std::string> prefixes = roots.python_prefixes;
  prefixes.insert(prefixes.end(), {"/usr/local", "/usr"});
  for (const std::string& prefix : prefixes)  // Debian says dist-packages, Fedora lib64
    for (const char* folder : wheel_library_folders)
      add(fmt::format("{}/lib*/python3*/*-packages/{}", escape_glob(prefix), folder));
  return search;
}

std::string Nvrtc::bind(const DynamicLibrary& library) {
  std::string missing;
  resolve(library, "nvrtcVersion", version, missing);
  resolve(library, "nvrtcCreateProgram", create_program, missing);
  resolve(library, "nvrtcCompileProgram", compile_program, missing);
  resolve(library, "nvrtcDestroyProgram", destroy_program, missing);
  resolve(library, "nvrtcGetCUBINSize", get_cubin_size, missing);
  resolve(library, "nvrtcGetCUBIN", get_cubin, missing);
  resolve(library, "nvrtcGetPTXSize", get_ptx_size, missing);
  resolve(library, "nvrtcGetPTX", get_ptx, missing);
  resolve(library, "nvrtcGetProgramLogSize", get_program_log_size, missing);
  resolve(library, "nvrtcGetProgramLog", get_program_log, missing);
  resolve(library, "nvrtcGetErrorString", get_error_string, missing);
  if (!missing.empty()) return "is a stub or too old: it lacks " + missing;
  if (const nvrtcResult result = version(&major_, &minor_); result != NVRTC_SUCCESS)
    return fmt::format("does not tell its version: {}", get_error_string(result));
  if (std::tie(major_, minor_) < std::tie(oldest_major, oldest_minor))
    return fmt::format("is NVRTC {}.{}; {}.{} or later is needed", major_, minor_, oldest_major, oldest_minor);
  path_ = library.path;
  return {};
}

std::shared_ptr<const Nvrtc> Nvrtc::open_from(const LibrarySearch& search) {
  const auto nvrtc = std::make_shared<Nvrtc>();
  std::vector<LibraryAttempt> tried;
  if (!find_library(
          search, [&nvrtc](const DynamicLibrary& library) { return nvrtc->bind(library); }, tried))
    fail(search, tried);
  load_builtins(*nvrtc);
  return nvrtc;
}

std::shared_ptr<const Nvrtc> Nvrtc::open(const std::string& library) {
  static std::mutex mutex;
  // Not destroyed at exit: other threads may still compile then.
  static auto& instances = *new std::map<std::string, std::shared_ptr<const Nvrtc>>;
  const std::lock_guard lock(mutex);
  auto& instance = instances[library];
  if (!instance) instance = open_from(nvrtc_search(library, SearchRoots::from_environment()));
  return instance;
}

}  // namespace octet
