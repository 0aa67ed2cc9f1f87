// Random operands of a GEMM, quantized by the reference, with NaN in every row that belongs to no group.
#pragma once

#include <cstdint>
#include <vector>

#include "octet/problem.h"
#include "tools/cli/run_case.h"

namespace octet::cli {

struct GemmOperands {
  GemmProblem problem;
  std::vector<std::uint16_t> x, w;  // bf16, before quantization
  std::vector<std::uint8_t> a, b;
  std::vector<float> sfa, sfb;
};
GemmOperands make_operands(const Case& run);

// How many elements of a group a check may afford, and with how many threads.
std::int64_t samples_per_group(const Case& run);
inline constexpr double kCheckedMacs = 1e9;  // multiply-adds
int host_threads();

Verdict run_gemm_on_device(const Case& run, const GemmOperands& operands, int ordinal, const Effort& effort);
Verdict run_gemm_on_host(const Case& run, const GemmOperands& operands, int repeat);

}  // namespace octet::cli
