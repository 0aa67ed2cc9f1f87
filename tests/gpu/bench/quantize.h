// The quantizers against the copy yardstick.
#pragma once

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "octet/octet.h"
#include "tests/gpu/bench/operands.h"
#include "tests/gpu/bench/row.h"

namespace octet::bench {

struct QuantizeBenchmark {
  Problem problem;
  std::vector<std::int64_t> sizes;  // rows of each group
  std::optional<double> bar;        // share of the copy yardstick
  bool is_small = false;            // judged by an empty launch and the bytes, not by a share

  std::int64_t rows() const { return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}); }
  std::string name() const { return problem.to_string(); }
};
std::vector<QuantizeBenchmark> quantize_benchmarks();

struct QuantizeBench {
  Runtime& runtime;
  const Operands& operands;
  const Timer& timer;
  test::Random& random;
  double empty_us = 0;  // of a kernel that does nothing, by the same timer

  Row measure(const QuantizeBenchmark& benchmark, const Quantize& kernel) const;
};

}  // namespace octet::bench
