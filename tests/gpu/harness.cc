#include "tests/gpu/harness.h"

#include <stdlib.h>
#include <cstdlib>

#include <stdexcept>

#include "tests/gpu/parallel.h"

namespace octet::test {

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "octet-gpu-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a directory like " + pattern);
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Options options_with_cache(const std::filesystem::path& directory) {
  Options options;
  options.nvrtc_library = Options::from_environment().nvrtc_library;
  options.cache_dir = directory.string();
  return options;
}

Runtime& runtime() {
  // The processes of tools/gpu_tests.py share the cache that they are given; a run by hand has its own.
  static const TemporaryDirectory own;
  const char* given = std::getenv("OCTET_CACHE_DIR");
  const bool is_given = given != nullptr && *given != '\0';
  static Runtime shared(options_with_cache(is_given ? std::filesystem::path(given) : own.path() / "cache"));
  return shared;
}

std::vector<Gemm> prepare_all(const std::vector<Spec>& specs) {
  // NVRTC holds a quarter of a gigabyte per compiling thread and has a lock of its own: more threads do not help.
  constexpr unsigned kThreads = 8;
  std::vector<Gemm> kernels(specs.size());
  parallel_for(
      specs.size(), [&](std::size_t i) { kernels[i] = runtime().prepare_gemm(specs[i], 0); }, kThreads);
  return kernels;
}

}  // namespace octet::test
