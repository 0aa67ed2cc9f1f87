#include "tests/gpu/bench/quantize.h"

#include <fmt/format.h>

#include "tests/gpu/bench/quantize_check.h"

namespace octet::bench {
namespace {

using Sizes = std::vector<std::int64_t>;

// What one pass over the data reaches of the speed of a plain copy, at 7168 and at 2048 columns: the rows of the latter
// are so small that a plain copy of their bytes reaches 0.92 itself.
struct Kind {
  const char* rest;
  std::optional<double> wide, narrow;
};
// MX recipes have four times the scales to compute.
constexpr double kMxShare = 0.95;
const std::vector<Kind> kKinds = {
    {"out=e4m3:1x128", 0.97, 0.88},
    {"out=e4m3:1x128 dir=row,col", 0.91, 0.86},
    {"act=swiglu out=e4m3:1x128", 0.97, 0.90},
    {"act=swiglu out=e4m3:1x128 dir=row,col +grad", 0.88, 0.85},
    {"out=e4m3:tensor +given", 0.95, 0.84},
    {"out=e4m3:1x32", 0.97 * kMxShare, 0.88 * kMxShare},
    {"out=e4m3:1x32 dir=row,col", 0.91 * kMxShare, 0.86 * kMxShare},
    {"out=e4m3:row dir=col", std::nullopt, std::nullopt},  // sees a whole group before its first result
};
constexpr std::size_t kRaggedKinds = 7;
constexpr double kRaggedShare = 0.95;
// Reads its input twice, counted once; the second time from L2 as far as a group fits: 1024 rows of 7168 columns, or
// 4096 of 2048, are 15 and 17 MB.
constexpr const char* kCurrent = "out=e4m3:tensor";
constexpr double kCurrentWide = 0.62, kCurrentNarrow = 0.58;

// int(4096 * random.uniform(0.7, 1.3)) after random.seed(0), in Python.
const Sizes kRagged = {4942, 4729, 3900, 3503, 4123, 3862, 4793, 3612};

QuantizeBenchmark tokens(const Sizes& sizes, std::int64_t columns, const char* rest, std::optional<double> bar) {
  return {Problem::parse(fmt::format("quantize.packed g{} c{} in=bf16 {}", sizes.size(), columns, rest)), sizes, bar};
}

QuantizeBenchmark weights(std::int64_t groups, std::int64_t n, std::int64_t k, double bar) {
  return {Problem::parse(fmt::format("quantize.uniform g{} n{} k{} in=bf16 out=e4m3:128x128", groups, n, k)),
          Sizes(static_cast<std::size_t>(groups), n), bar};
}

// A few tokens of a decode step: one row in every fourth expert.
QuantizeBenchmark decode(const char* rest) {
  Sizes sizes(256, 0);
  for (std::size_t g = 3; g < sizes.size(); g += 4) sizes[g] = 1;
  QuantizeBenchmark benchmark = tokens(sizes, 7168, rest, std::nullopt);
  benchmark.is_small = true;
  return benchmark;
}

std::int64_t blocks(const Sizes& sizes) {
  std::int64_t count = 0;
  for (const std::int64_t rows : sizes) count += (rows + 127) / 128;
  return count;
}

// Each input once and each output once. Columnwise buffers are sized for the worst splits; what of them is used counts.
double bytes_moved(const QuantizeBenchmark& benchmark) {
  const QuantizeShape shape = quantize_shape(benchmark.problem, benchmark.rows());
  const auto used = static_cast<double>(blocks(benchmark.sizes));
  double bytes = static_cast<double>(shape.in_bytes + shape.pre_bytes + shape.row.data + shape.row.sf);
  if (shape.col.data == 0) return bytes;
  const bool by_block = benchmark.problem.out->granularity != Granularity::row;
  const double share_of_scales = by_block ? used / static_cast<double>(shape.row_blocks) : 1;
  bytes += static_cast<double>(shape.out_columns) * 128 * used;
  return bytes + static_cast<double>(shape.col.sf) * share_of_scales;
}

}  // namespace

std::vector<QuantizeBenchmark> quantize_benchmarks() {
  const Sizes even(8, 4096);
  std::vector<QuantizeBenchmark> all;
  for (const Kind& kind : kKinds) {
    all.push_back(tokens(even, 7168, kind.rest, kind.wide));
    all.push_back(tokens(even, 2048, kind.rest, kind.narrow));
  }
  all.push_back(tokens(Sizes(32, 1024), 7168, kCurrent, kCurrentWide));
  all.push_back(tokens(even, 2048, kCurrent, kCurrentNarrow));
  all.push_back(tokens(even, 7168, kCurrent, kCurrentWide));  // 58 MB a group, more than L2 holds
  all.push_back(tokens(kRagged, 7168, kCurrent, kCurrentWide * kRaggedShare));
  for (std::size_t i = 0; i < kRaggedKinds; ++i) {
    all.push_back(tokens(kRagged, 7168, kKinds[i].rest, *kKinds[i].wide * kRaggedShare));
    all.push_back(tokens(kRagged, 2048, kKinds[i].rest, *kKinds[i].narrow * kRaggedShare));
  }
  all.push_back(weights(8, 7168, 7168, 0.90));
  for (const char* rest : {"out=e4m3:1x128", "out=e4m3:1x32", "act=swiglu out=e4m3:1x128"}) all.push_back(decode(rest));
  return all;
}

Row QuantizeBench::measure(const QuantizeBenchmark& benchmark, const Quantize& kernel) const {
  const Problem& problem = benchmark.problem;
  const bool uniform = problem.layout == Layout::uniform, even = benchmark.sizes.front() == benchmark.sizes.back();
  const QuantizeOperands buffers(benchmark, kernel, operands);
  const QuantizeArgs args = buffers.args(benchmark, kernel);

  Row row;
  row.table = "quantize";
  row.name = benchmark.name();
  row.config = to_string(kernel.spec().config);
  row.g = problem.g;
  if (uniform)
    row.n = problem.n;
  else if (even)
    row.m = benchmark.sizes.front();
  row.k = uniform ? problem.k : problem.c;
  row.rows = benchmark.rows();
  row.bar = benchmark.bar;
  kernel.launch(args, timer.stream());
  row.fault = spot_check(benchmark, buffers, runtime, random);
  row.us = timer.median_us([&] { kernel.launch(args, timer.stream()); });
  row.gbps = bytes_moved(benchmark) / row.us / 1e3;
  constexpr double kSlackUs = 2;
  if (benchmark.is_small) row.fixed_us = empty_us + kSlackUs;
  return row;
}

}  // namespace octet::bench
