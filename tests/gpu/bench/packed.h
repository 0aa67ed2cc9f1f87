// The packed grouped GEMMs of the peer table: groups of any size, with no padding.
#pragma once

#include <string>
#include <vector>

#include "octet/octet.h"
#include "tests/gpu/bench/operands.h"
#include "tests/gpu/bench/row.h"

namespace octet::bench {

struct PackedProblem {
  GemmProblem problem;
  std::vector<std::int64_t> sizes;
  std::int64_t expected_m = 0;
  double deepgemm_us = 0;  // DeepGEMM 2.6.1 on an H200, every group padded to 128 rows
  double limit = 0;

  std::int64_t rows() const;
  std::string name() const { return problem.to_problem().to_string(); }
};
std::vector<PackedProblem> packed_problems();

// The operands of one problem on the device, used by any number of kernels.
class PackedRun {
 public:
  PackedRun(const PackedProblem& problem, const Operands& operands);
  Row measure(const Gemm& gemm, const Timer& timer, test::Random& random);
  GemmArgs args(const Gemm& gemm) const;

 private:
  std::string spot_check(test::Random& random) const;
  std::string spot_check_group(std::size_t group, const std::vector<float>& sfa, test::Random& random) const;

  const PackedProblem& packed_;
  reference::GroupExtents groups_;
  std::int64_t k_blocks_, sfa_ld_;
  test::Buffer a_, sfa_, b_, sfb_, d_, splits_;
};

}  // namespace octet::bench
