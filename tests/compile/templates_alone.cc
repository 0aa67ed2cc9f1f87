// The template files are valid CUDA C++ as they stand, with the sample Config: what an editor and nvcc see.
#include <cstdlib>
#include <string>

#include "runtime/compile.h"
#include "runtime/nvrtc.h"
#include "tests/support/catch.h"

TEST_CASE("templates: every kernel file compiles as it stands, with the sample config") {
  const auto nvrtc =
      octet::Nvrtc::open(std::getenv("OCTET_NVRTC_LIBRARY") == nullptr ? "" : std::getenv("OCTET_NVRTC_LIBRARY"));
  const std::vector<std::string> flags = {"--gpu-architecture=sm_90a", "-std=c++17",
                                          "--include-path=" OCTET_SOURCE_DIR "/templates"};
  for (const char* file : {"gemm.cu", "quantize_rows.cu", "quantize_blocks.cu"}) {
    INFO(file);
    const std::string source = "#include \"" + std::string(file) + "\"\n";
    CHECK_FALSE(octet::compile(*nvrtc, source, "sample_kernel", "sm_90a", flags).cubin.empty());
  }
}
