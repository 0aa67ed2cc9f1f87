// A grouped GEMM with random operands: on the host for the oracle, on the device for the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/gpu/harness.h"

namespace octet::test {

struct GemmData {
  GemmProblem problem;
  reference::GroupExtents groups;
  std::int64_t capacity = 0;
  std::vector<std::uint8_t> a, b;
  std::vector<float> sfa, sfb;

  std::int64_t rows(std::size_t group) const { return groups.end[group] - groups.begin[group]; }
  std::int64_t sfa_ld() const { return (capacity + 3) / 4 * 4; }
  std::int64_t k_blocks() const { return (problem.k + 127) / 128; }
};

inline GemmProblem packed_gemm(std::int64_t groups, std::int64_t n, std::int64_t k) {
  GemmProblem problem;
  problem.groups = groups;
  problem.n = n;
  problem.k = k;
  return problem;
}
inline GemmProblem padded_gemm(std::int64_t groups, std::int64_t n, std::int64_t k, std::int64_t alignment) {
  GemmProblem problem = packed_gemm(groups, n, k);
  problem.layout = Layout::padded;
  problem.alignment = alignment;
  return problem;
}

// Rows of no group, and scale slots of no row, hold NaN. `spare_rows` are left after the last group.
GemmData random_gemm(const GemmProblem& problem, const std::vector<std::int64_t>& sizes, std::int64_t spare_rows,
                     Random& random);
// Rows that belong to no group get this data byte and this scale.
void set_tail(GemmData& data, std::uint8_t byte, float scale);
// Whether each row of the buffer belongs to a group.
std::vector<bool> valid_rows(const reference::GroupExtents& groups, std::int64_t capacity);

using Bf16 = std::vector<std::uint16_t>;

class GemmBuffers {
 public:
  explicit GemmBuffers(const GemmData& data);
  GemmArgs args(const Gemm& gemm) const;
  void set_splits(const reference::GroupExtents& groups);
  void set_splits(const std::vector<std::int64_t>& values);  // as the kernel will read them
  // Poisons D, launches, waits, and returns all of D. Throws when a guard was overwritten.
  Bf16 run(const Gemm& gemm);
  Bf16 read_d() const;  // of what was launched before; same check of the guards

  Buffer a, sfa, b, sfb, d, splits;

 private:
  Splits form_;
  std::int64_t capacity_;
  OwnedStream stream_;
};

// "" when every group of D is within the bounds of docs/numerics.md and every other row is still poison; else what is
// wrong first. Every element is looked at for NaN, and this many of each group are compared with the oracle.
constexpr std::int64_t kAllElements = std::int64_t{1} << 60;
std::string fault(const GemmData& data, const Bf16& d, Random& random, std::int64_t samples_per_group = 4096);
// Prepares, runs and judges.
std::string fault(const GemmData& data, Random& random);
std::string fault(const Gemm& gemm, const GemmData& data, Random& random);

// The rows of one group of D.
Bf16 group_of(const GemmData& data, const Bf16& d, std::size_t group);

}  // namespace octet::test
