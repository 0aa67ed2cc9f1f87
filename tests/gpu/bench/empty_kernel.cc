#include "tests/gpu/bench/empty_kernel.h"

#include "runtime/compile.h"
#include "runtime/nvrtc.h"

namespace octet::bench {

EmptyKernel::EmptyKernel(const Options& options) {
  // Four tensor maps of 128 bytes and a few words.
  const std::string source =
      "struct Parameters { char bytes[576]; };\n"
      "extern \"C\" __global__ void octet_bench_empty(const __grid_constant__ Parameters) {}\n";
  const std::string arch = Runtime::device_facts(0).arch;
  const auto nvrtc = Nvrtc::open(options.nvrtc_library);
  cubin_ = compile(*nvrtc, source, "octet_bench_empty", arch, compile_flags(arch, false)).cubin;
  const Driver& driver = Driver::get();
  check(driver.cuLibraryLoadData(&library_, cubin_.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "cuLibraryLoadData");
  CUkernel kernel = nullptr;
  check(driver.cuLibraryGetKernel(&kernel, library_, "octet_bench_empty"), "cuLibraryGetKernel");
  check(driver.cuKernelGetFunction(&function_, kernel), "cuKernelGetFunction");
}

EmptyKernel::~EmptyKernel() { Driver::get().cuLibraryUnload(library_); }

void EmptyKernel::launch(CUstream stream) {
  CUlaunchConfig config = {};
  config.gridDimX = 132;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 384;
  config.hStream = stream;
  void* parameters[] = {parameter_};
  check(Driver::get().cuLaunchKernelEx(&config, function_, parameters, nullptr), "cuLaunchKernelEx");
}

}  // namespace octet::bench
