// The template files are valid CUDA C++ as they stand, with the sample Config: what an editor and nvcc see.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/compile.h"
#include "runtime/nvrtc.h"
#include "tests/support/catch.h"
#include "tests/support/paths.h"

namespace {

std::vector<std::string> kernel_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(octet::test::source_path("templates"))) {
    if (entry.path().extension() == ".cu") files.push_back(entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("templates: every kernel of the library is among the files below") {
  CHECK(kernel_files() == std::vector<std::string>{"convert.cu", "dequantize.cu", "gemm.cu", "gemm_mx.cu",
                                                   "gemm_portable.cu", "quantize_current.cu", "quantize_rows.cu",
                                                   "quantize_tiles.cu"});
}

TEST_CASE("templates: every kernel file compiles as it stands, with the sample config") {
  const auto nvrtc =
      octet::Nvrtc::open(std::getenv("OCTET_NVRTC_LIBRARY") == nullptr ? "" : std::getenv("OCTET_NVRTC_LIBRARY"));
  const std::vector<std::string> flags = {"--gpu-architecture=sm_90a", "-std=c++17",
                                          "--include-path=" + octet::test::source_path("templates")};
  for (const std::string& file : kernel_files()) {
    INFO(file);
    const std::string source = "#include \"" + file + "\"\n";
    CHECK_NOTHROW(octet::compile(*nvrtc, source, "sample_kernel", "sm_90a", flags));
  }
}
