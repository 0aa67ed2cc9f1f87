// A device's result against gemm_element, group by group, on sampled elements.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include <fmt/format.h>

#include "octet/reference.h"
#include "runtime/reference/checks.h"
#include "runtime/reference/random.h"

namespace octet::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double load_element(const void* d, DType type, std::int64_t index) {
  if (type == DType::bf16) return from_bf16(static_cast<const std::uint16_t*>(d)[index]);
  return static_cast<const float*>(d)[index];
}

class ErrorSums {
 public:
  void add(double got, double want) {
    if (std::isfinite(got) && std::isfinite(want)) {
      difference_ += (got - want) * (got - want);
      product_ += got * want;
      got_ += got * got;
      want_ += want * want;
    } else {
      disagreement_ = disagreement_ || !same_special(got, want);
    }
  }

  double frobenius() const {
    if (disagreement_) return kInfinity;
    if (difference_ == 0) return 0;
    return std::sqrt(difference_ / want_);  // infinite where the reference is all zero
  }
  double metric() const {
    if (disagreement_) return kInfinity;
    if (difference_ == 0) return 0;
    return 1 - 2 * product_ / (got_ + want_);
  }

 private:
  static bool same_special(double x, double y) { return std::isnan(x) ? std::isnan(y) : x == y; }

  double difference_ = 0, product_ = 0, got_ = 0, want_ = 0;
  bool disagreement_ = false;
};

// The number of sample `i` of `samples` among `elements`: the first, the last, and one at random from each of the equal
// parts between.
std::int64_t sample_place(std::int64_t i, std::int64_t samples, std::int64_t elements, std::uint64_t seed) {
  if (samples == elements || i == 0) return i;
  if (i == samples - 1) return elements - 1;
  const std::int64_t part = elements / samples, rest = elements % samples;
  const std::int64_t begin = i * part + std::min(i, rest), size = part + (i < rest ? 1 : 0);
  const std::uint64_t word = random_word(seed, static_cast<std::uint64_t>(i));
  return begin + static_cast<std::int64_t>(word % static_cast<std::uint64_t>(size));
}

void check_comparison(const GemmProblem& problem, const void* d, std::int64_t rows, std::int64_t samples, int threads) {
  if (problem.d != DType::bf16 && problem.d != DType::f32)
    throw bad_argument(fmt::format("reference: d={}: a comparison reads bf16 or f32", to_string(problem.d)));
  if (samples < 2) throw bad_argument(fmt::format("reference: {} samples per group: take at least 2", samples));
  check_positive("threads", threads);
  if (rows > 0) check_pointer("d", d);
}

}  // namespace

std::vector<GroupError> compare_gemm(const GemmProblem& problem, const std::uint8_t* a, const float* sfa,
                                     const std::uint8_t* b, const float* sfb, const GroupExtents& groups,
                                     std::int64_t capacity, const void* d, std::int64_t samples_per_group,
                                     std::uint64_t seed, int threads) {
  check_gemm(problem, capacity);
  check_extents(groups, problem.groups, capacity);
  const std::int64_t rows = total_rows(groups);
  check_comparison(problem, d, rows, samples_per_group, threads);
  if (rows > 0) check_operands(a, sfa, b, sfb);

  std::vector<GroupError> errors(groups.begin.size());
  const auto compare = [&](std::int64_t g) {
    GroupError& error = errors[g];
    error.rows = groups.end[g] - groups.begin[g];
    const std::int64_t elements = error.rows * problem.n;
    error.samples = std::min(elements, samples_per_group);
    ErrorSums sums;
    for (std::int64_t i = 0; i < error.samples; ++i) {
      const std::int64_t place = sample_place(i, error.samples, elements, seed + static_cast<std::uint64_t>(g));
      const std::int64_t row = groups.begin[g] + place / problem.n, n = place % problem.n;
      sums.add(load_element(d, problem.d, row * problem.n + n),
               gemm_element(problem, a, sfa, b, sfb, capacity, g, row, n));
    }
    error.frobenius = sums.frobenius();
    error.metric = sums.metric();
  };

  std::vector<std::jthread> workers;
  for (int t = 1; t < threads; ++t)
    workers.emplace_back([&compare, &problem, t, threads] {
      for (std::int64_t g = t; g < problem.groups; g += threads) compare(g);
    });
  for (std::int64_t g = 0; g < problem.groups; g += threads) compare(g);
  workers.clear();  // joins
  return errors;
}

bool within_bounds(const GroupError& error, DType d) {
  constexpr double max_metric = 1e-5;
  const double max_frobenius = d == DType::bf16 ? 3e-3 : 5e-4;
  return error.frobenius <= max_frobenius && error.metric <= max_metric;
}

}  // namespace octet::reference
