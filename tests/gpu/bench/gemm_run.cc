#include "tests/gpu/bench/gemm_run.h"

#include <fmt/format.h>

#include "tests/gpu/bench/gemm_check.h"
#include "tests/gpu/splits.h"

namespace octet::bench {
namespace {

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

bool is_wgrad(const Problem& problem) { return problem.op == Operation::wgrad; }

QuantizedBytes bytes_of(const Problem& producer, std::int64_t capacity) {
  const QuantizeShape shape = quantize_shape(producer, capacity);
  return producer.dir == Direction::col ? shape.col : shape.row;
}

test::Buffer scales_of(const Problem& producer, std::int64_t capacity, const Operands& operands) {
  const std::int64_t bytes = bytes_of(producer, capacity).sf;
  if (producer.out->granularity == Granularity::mx_1x32) return operands.e8m0_scales(size(bytes));
  return operands.scales(size(bytes / 4));
}

std::int64_t elements_of_d(const Problem& problem, std::int64_t rows) {
  return problem.n * (is_wgrad(problem) ? problem.g * problem.k : rows);
}

std::int64_t capacity_of(const GemmBenchmark& benchmark) { return buffer_rows(benchmark.problem, benchmark.rows()); }

}  // namespace

GemmRun::GemmRun(const GemmBenchmark& benchmark, const Operands& operands)
    : benchmark_(benchmark),
      operands_(operands),
      capacity_(capacity_of(benchmark)),
      a_(operands.a_codes(size(bytes_of(a_producer(benchmark.problem), capacity_).data))),
      sfa_(scales_of(a_producer(benchmark.problem), capacity_, operands)),
      b_(operands.b_codes(size(bytes_of(b_producer(benchmark.problem), capacity_).data))),
      sfb_(scales_of(b_producer(benchmark.problem), capacity_, operands)),
      d_(size(elements_of_d(benchmark.problem, capacity_) * size_bytes(*benchmark.problem.d))),
      splits_(test::splits_bytes(benchmark.sizes, benchmark.problem.splits.is_i64)) {}

GemmArgs GemmRun::args(const Gemm& gemm) const {
  GemmArgs args;
  args.a = {a_.at(), sfa_.at(), gemm.a_layout()};
  args.b = {b_.at(), sfb_.at(), gemm.b_layout()};
  args.d = d_.at();
  args.splits = splits_.at();
  args.capacity = capacity_;
  return args;
}

// Each byte once, as the peer table counts: of tokens those of valid rows, all weights, D twice where it is read too.
double GemmRun::bytes() const {
  Problem problem = benchmark_.problem;
  if (problem.layout == Layout::masked) {
    problem.layout = Layout::packed;
    problem.m = 0;
  }
  const std::int64_t rows = benchmark_.rows();
  const std::int64_t d_bytes = elements_of_d(problem, rows) * size_bytes(*problem.d);
  const Problem a = a_producer(problem), b = b_producer(problem);
  const std::int64_t b_bytes = is_wgrad(problem) ? rows * problem.k : bytes_of(b, rows).data;
  const std::int64_t a_bytes = rows * (is_wgrad(problem) ? problem.n : problem.k);
  return static_cast<double>(a_bytes + bytes_of(a, rows).sf + b_bytes + bytes_of(b, rows).sf +
                             d_bytes * (problem.has(Flag::acc) ? 2 : 1));
}

Row GemmRun::measure(const Gemm& gemm, const Timer& timer, test::Random& random) {
  const Problem& problem = benchmark_.problem;
  const test::Buffer workspace(gemm.workspace_bytes(capacity_));
  GemmArgs arguments = args(gemm);
  arguments.workspace = workspace.at();

  Row row;
  row.table = benchmark_.table;
  row.name = benchmark_.name();
  row.config = to_string(gemm.spec().config);
  row.g = problem.g;
  if (!is_wgrad(problem)) row.m = benchmark_.expected_m;
  row.n = problem.n;
  row.k = problem.k;
  row.rows = benchmark_.rows();
  row.peer_us = benchmark_.peer_us;
  row.peer_is_copy_bound = benchmark_.bound == Bound::copy;
  row.limit = benchmark_.limit;
  row.tflops_bar = benchmark_.tflops_bar;
  row.fault = check_launch(gemm, arguments, timer, random);
  // With +acc D grows with every call, far from overflow.
  row.us = timer.median_us([&] { gemm.launch(arguments, timer.stream()); });
  row.tflops = 2.0 * static_cast<double>(row.rows * problem.n * problem.k) / row.us / 1e6;
  row.gbps = bytes() / row.us / 1e3;
  return row;
}

std::string GemmRun::check_launch(const Gemm& gemm, const GemmArgs& arguments, const Timer& timer,
                                  test::Random& random) {
  const GemmSample sample(benchmark_.problem, benchmark_.sizes, capacity_, random);
  std::vector<std::uint8_t> old_d;
  d_.poison();
  if (benchmark_.problem.has(Flag::acc)) {
    operands_.fill_f32(d_);
    old_d = sample.download_d(d_);
  }
  gemm.launch(arguments, timer.stream());
  if (!d_.guards_intact()) return "wrote outside D";
  return sample.fault({a_, sfa_, b_, sfb_, d_}, old_d);
}

}  // namespace octet::bench
