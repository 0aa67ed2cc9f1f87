// One GEMM of the benchmark on the device: its operands, its time, and whether its result is right.
#pragma once

#include <string>

#include "octet/octet.h"
#include "tests/gpu/bench/gemm_tables.h"
#include "tests/gpu/bench/operands.h"
#include "tests/gpu/bench/row.h"

namespace octet::bench {

// The operands of one problem, used by any number of kernels. They fill many gigabytes, so one run lives at a time.
class GemmRun {
 public:
  GemmRun(const GemmBenchmark& benchmark, const Operands& operands);
  Row measure(const Gemm& gemm, const Timer& timer, test::Random& random);

 private:
  GemmArgs args(const Gemm& gemm) const;
  double bytes() const;
  std::string check_launch(const Gemm& gemm, const GemmArgs& arguments, const Timer& timer, test::Random& random);

  const GemmBenchmark& benchmark_;
  const Operands& operands_;
  std::int64_t capacity_;
  test::Buffer a_, sfa_, b_, sfb_, d_, splits_;
};

}  // namespace octet::bench
