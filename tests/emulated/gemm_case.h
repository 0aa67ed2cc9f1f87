// An emulated portable GEMM: its D is compared with a plain loop in f64 over operands that the reference has quantized
// and dequantized. Compiled once for all kernels.
#pragma once

#include <functional>

namespace emulator {

struct GemmKernel {
  unsigned threads;
  std::function<void(const void*)> main, pointers;  // entry points, by the address of their parameters
};

struct GemmVariant {
  bool impossible;  // splits that go up and down
  bool strided;     // gaps between the rows of every matrix
  bool zero_beta;   // +acc with beta 0, and NaN in all of D
};

// 0 when all is well; else says what is not.
int check_gemm(const char* problem, const GemmVariant& variant, const GemmKernel& kernel);

}  // namespace emulator
