// What a GEMM of either kind sums, and where: forward, dgrad and wgrad are the same sum over differently placed
// operands.
#pragma once

#include <cstdint>

#include "octet/reference.h"
#include "runtime/reference/gemm_operand.h"

namespace octet::reference {

// D[g][i][j] = alpha * sum over s of A[g](i, s) * B[g](j, s), + bias. gemm: i counts the group's rows, j is n, s is k.
// wgrad: i is n, j is k, s counts the group's rows.
class Contraction {
 public:
  // Throws as octet/reference.h says. Reads nothing yet.
  Contraction(const Problem& problem, const GemmInputs& inputs, const GroupExtents& groups, std::int64_t capacity);

  std::int64_t groups() const { return problem_.g; }
  // Of a group of D, and terms of each of its sums.
  std::int64_t rows(std::int64_t group) const { return is_wgrad_ ? problem_.n : tokens(group).rows; }
  std::int64_t columns() const { return is_wgrad_ ? problem_.k : problem_.n; }
  std::int64_t terms(std::int64_t group) const { return is_wgrad_ ? tokens(group).rows : problem_.k; }
  // Rows of D that are written, over all groups.
  std::int64_t total_rows() const { return is_wgrad_ ? problem_.g * problem_.n : a_.rows_that_exist(); }
  // Of D, and of D before.
  std::int64_t d_index(std::int64_t group, std::int64_t i, std::int64_t j) const;

  // Where the group's tokens lie.
  const GroupPlace& tokens(std::int64_t group) const { return a_.place(group); }
  const GemmOperand& a() const { return a_; }
  const GemmOperand& b() const { return b_; }
  // The most terms that share a scale of A and one of B, and no more than `most`: a sum goes in steps of this length.
  std::int64_t step(std::int64_t most) const;

  // Throws Error{invalid_argument} for an operand, a scale or a bias that is null but would be read.
  void check_pointers() const;
  // alpha * sum + bias.
  double finish(std::int64_t group, std::int64_t j, double sum) const;
  // What +acc makes of a value whose place held `old`. An empty sum leaves beta * old, to the bit where beta is 1.
  double accumulate(std::int64_t group, double value, double old) const;
  // An element, spelled out.
  double element(std::int64_t group, std::int64_t i, std::int64_t j) const;

 private:
  const Problem& problem_;
  const GemmInputs& inputs_;
  bool is_wgrad_;
  GemmOperand a_, b_;
};

}  // namespace octet::reference
