// An emulated portable GEMM: its D is compared with a plain loop in f64 over operands that the reference has quantized
// and dequantized. Compiled once for all kernels.
#pragma once

#include <functional>

namespace emulator {

struct GemmKernel {
  unsigned threads;
  std::function<void(const void*)> main, pointers;  // entry points, by the address of their parameters
};

// `impossible`: splits that go up and down. `strided`: gaps between the rows of every matrix. 0 when all is well; else
// says what is not.
int check_gemm(const char* problem, bool impossible, bool strided, const GemmKernel& kernel);

}  // namespace emulator
