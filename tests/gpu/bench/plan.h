// Whole plans: the forward of an MLP with +inference, else a training step, forward and backward.
#pragma once

#include <string>
#include <vector>

#include "octet/octet.h"
#include "tests/gpu/bench/operands.h"
#include "tests/gpu/bench/row.h"
#include "tests/gpu/bench/timing.h"

namespace octet::bench {

struct PlanBenchmark {
  std::string line;
  std::int64_t rows = 0;  // of all groups, spread evenly
  PlanFacts facts() const { return PlanFacts::parse(line); }
};
std::vector<PlanBenchmark> plan_benchmarks();

// Compiles and loads its kernels; from any thread.
void prepare(const PlanBenchmark& benchmark, Runtime& runtime);
// Weights are quantized before, and their time does not count.
Row measure(const PlanBenchmark& benchmark, Runtime& runtime, const Operands& operands, const Timer& timer);

}  // namespace octet::bench
