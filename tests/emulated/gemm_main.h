// main() of an emulated portable GEMM: PROBLEM, IMPOSSIBLE, STRIDED and ZERO_BETA are defined.
#pragma once

#include "tests/emulated/gemm_case.h"

int main() {
  using namespace octet;
  emulator::GemmKernel kernel{
      kThreads, [](const void* at) { OCTET_ENTRY(*static_cast<const abi::PortableGemmParams*>(at)); }, {}};
#ifdef OCTET_POINTERS_ENTRY
  kernel.pointers = [](const void* at) { OCTET_POINTERS_ENTRY(*static_cast<const abi::PointerParams*>(at)); };
#endif
  return emulator::check_gemm(PROBLEM, {IMPOSSIBLE, STRIDED, ZERO_BETA}, kernel);
}
