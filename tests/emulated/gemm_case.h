// An emulated portable GEMM: its D is compared with a plain loop in f64 over operands that the reference has quantized
// and dequantized. Compiled once for all kernels.
#pragma once

#include <cstddef>
#include <functional>

namespace emulator {

struct GemmKernel {
  unsigned threads;
  std::size_t param_bytes;
  std::function<void(const void*)> main;  // the entry point, by the address of its parameters
};

struct GemmVariant {
  bool impossible;  // splits that go up and down
  bool strided;     // gaps between the rows of every matrix; w=pointers: in arrays on the device, else on the host
  bool zero_beta;   // +acc with beta 0, and NaN in all of D
};

// 0 when all is well; else says what is not.
int check_gemm(const char* problem, const GemmVariant& variant, const GemmKernel& kernel);

}  // namespace emulator
