// A GEMM of the whole family on the host: operands that the reference's quantizers write, as a_producer and b_producer
// of octet/layout.h say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "octet/reference.h"
#include "tests/unit/reference_case.h"

namespace octet::test {

struct GemmCase {
  Problem problem;
  reference::GroupExtents groups;
  std::int64_t capacity = 0;
  QuantizeCase a_source, b_source;  // bf16 before they are quantized
  Bytes a, a_sf, b, b_sf;           // NaN wherever the quantizers write nothing
  Bytes bias, old_d;  // old_d is [d_rows()][d_columns()]; its rows of no group are as random as the others
  float alpha = 1, beta = 1;

  // Elements are those of tests/golden/gemms.py: seeds 1 and 3 for the operands, 5 for bias, 7 for what D held.
  GemmCase(const std::string& text, const std::vector<std::int64_t>& sizes, std::int64_t rows);
  // Again, after a change to the sources.
  void quantize();

  bool is_wgrad() const { return problem.op == Operation::wgrad; }
  std::int64_t d_rows() const { return is_wgrad() ? problem.g * problem.n : a_source.shape.rows; }
  std::int64_t d_columns() const { return is_wgrad() ? problem.k : problem.n; }
  // A group's part of D: its first row and how many.
  std::int64_t first_row(std::size_t group) const;
  std::int64_t rows(std::size_t group) const;

  reference::GemmInputs inputs() const;
  // D, which held old_d as f64.
  std::vector<double> run(int threads = 1) const;
  double element(std::size_t group, std::int64_t i, std::int64_t j) const;  // i in the group
  std::vector<double> old_values() const;
};

}  // namespace octet::test
