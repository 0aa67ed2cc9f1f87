// Random operands of a GEMM, quantized by the reference, with NaN in every place that belongs to no row.
#pragma once

#include <cstdint>
#include <vector>

#include "octet/reference.h"
#include "tools/cli/run_case.h"

namespace octet::cli {

struct GroupOfB {
  std::vector<std::uint8_t> data, sf;
};

struct GemmOperands {
  // bf16, before quantization: what the producers of A and B read.
  std::vector<std::uint16_t> a_source, b_source;
  // As the problem packs them: from=deepgemm a block for each group.
  std::vector<std::uint8_t> a, a_sf, b, b_sf;
  std::vector<GroupOfB> b_groups;   // w=pointers of a gemm: the weights of each group, quantized on their own
  std::vector<std::uint8_t> bias;   // +bias: [G][N] of type problem.d
  std::vector<std::uint8_t> old_d;  // all of D before the launch: random with +acc, poison elsewhere
  float alpha = 1;

  reference::GemmInputs host() const;
};
GemmOperands make_operands(const Case& run);

inline DType type_of_d(const Case& run) { return run.problem.d.value_or(DType::bf16); }
// Rows of D, in its buffer.
std::int64_t d_rows(const Case& run);
std::int64_t d_columns(const Case& run);
// Rows and columns of one group's part of D, and where in D it begins.
struct GroupOfD {
  std::int64_t first_row, rows, columns;
};
GroupOfD group_of_d(const Case& run, std::size_t group);

// How many elements of a group a check may afford, and with how many threads.
std::int64_t samples_per_group(const Case& run);
inline constexpr double kCheckedMacs = 1e9;  // multiply-adds
int host_threads();

Verdict run_gemm_on_device(const Case& run, const GemmOperands& operands, int ordinal, const Effort& effort);
Verdict run_gemm_on_host(const Case& run, const GemmOperands& operands, int repeat);

}  // namespace octet::cli
