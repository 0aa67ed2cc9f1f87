// What the machine can do in this very run. Machines and their temperature differ by a few percent: every figure is
// judged against these.
#pragma once

#include <optional>

#include "tests/gpu/bench/operands.h"
#include "tests/gpu/bench/timing.h"

namespace octet::bench {

struct Yardsticks {
  double copy_gbps = 0;                            // device to device, bytes read and written
  std::optional<double> cublaslt_fp8_8192_tflops;  // per-tensor e4m3, bf16 out; empty without libcublasLt
};

Yardsticks measure_yardsticks(const Timer& timer, const Operands& operands);

}  // namespace octet::bench
