// main() of an emulated portable GEMM: PROBLEM, IMPOSSIBLE, STRIDED and ZERO_BETA are defined.
#pragma once

#include "tests/emulated/gemm_case.h"

int main() {
  using namespace octet;
  const emulator::GemmKernel kernel{kThreads, sizeof(Params),
                                    [](const void* at) { OCTET_ENTRY(*static_cast<const Params*>(at)); }};
  return emulator::check_gemm(PROBLEM, {IMPOSSIBLE, STRIDED, ZERO_BETA}, kernel);
}
