// The quantizers against the copy yardstick.
#pragma once

#include <string>
#include <vector>

#include "octet/octet.h"
#include "tests/gpu/bench/operands.h"
#include "tests/gpu/bench/row.h"

namespace octet::bench {

struct QuantizeBenchmark {
  QuantizeProblem problem;
  std::int64_t rows = 0;  // in groups of equal size
  double bar = 0;

  std::string name() const { return problem.to_problem().to_string(); }
};
std::vector<QuantizeBenchmark> quantize_benchmarks();

Row measure(const QuantizeBenchmark& benchmark, const Quantize& kernel, const Operands& operands, const Timer& timer,
            test::Random& random);

}  // namespace octet::bench
