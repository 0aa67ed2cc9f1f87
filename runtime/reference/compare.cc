// A device's result against the reference, group by group, on sampled elements.
#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include <fmt/format.h>

#include "octet/reference.h"
#include "runtime/reference/checks.h"
#include "runtime/reference/contraction.h"
#include "runtime/reference/elements.h"
#include "runtime/reference/random.h"

namespace octet::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

void check_comparison(const Problem& problem, std::int64_t samples, int threads) {
  if (!problem.d) throw bad_argument("reference: d= is missing: the type of the result");
  largest_finite("d", *problem.d);
  if (samples < 2) throw bad_argument(fmt::format("reference: {} samples per group: take at least 2", samples));
  check_positive("threads", threads);
}

// A result, and what it is made from.
struct Comparison {
  const Contraction& x;
  DType type;
  const void* d;
  const void* old_d;  // null without +acc
  std::int64_t samples;
  std::uint64_t seed;

  double want(std::int64_t g, std::int64_t i, std::int64_t j) const {
    const double value = x.element(g, i, j);
    return old_d == nullptr ? value : x.accumulate(g, value, load_element(old_d, type, x.d_index(g, i, j)));
  }

  GroupError group(std::int64_t g) const {
    const std::int64_t elements = x.rows(g) * x.columns();
    GroupError error;
    error.rows = x.tokens(g).rows;
    error.samples = std::min(elements, samples);
    ErrorSums sums;
    for (std::int64_t sample = 0; sample < error.samples; ++sample) {
      const std::int64_t place = sample_place(sample, error.samples, elements, seed + static_cast<std::uint64_t>(g));
      const std::int64_t i = place / x.columns(), j = place % x.columns();
      sums.add(load_element(d, type, x.d_index(g, i, j)), want(g, i, j));
    }
    error.frobenius = sums.frobenius();
    error.metric = sums.metric();
    return error;
  }
};

}  // namespace

std::vector<GroupError> compare_gemm(const Problem& problem, const GemmInputs& inputs, const GroupExtents& groups,
                                     std::int64_t capacity, const void* d, const void* old_d,
                                     std::int64_t samples_per_group, std::uint64_t seed, int threads) {
  check_comparison(problem, samples_per_group, threads);
  const Contraction x(problem, inputs, groups, capacity);
  const bool accumulates = problem.has(Flag::acc);
  x.check_pointers();
  if (x.total_rows() > 0) check_pointer("d", d);
  if (x.total_rows() > 0 && accumulates) check_pointer("old_d", old_d);
  const Comparison comparison{x, *problem.d, d, accumulates ? old_d : nullptr, samples_per_group, seed};

  std::vector<GroupError> errors(groups.begin.size());
  const auto compare = [&](std::int64_t first) {
    for (std::int64_t g = first; g < problem.g; g += threads) errors[static_cast<std::size_t>(g)] = comparison.group(g);
  };
  std::vector<std::jthread> workers;
  for (int t = 1; t < threads; ++t) workers.emplace_back([&compare, t] { compare(t); });
  compare(0);
  workers.clear();  // joins
  return errors;
}

bool within_bounds(const GroupError& error, DType d) {
  constexpr double max_metric = 1e-5;
  const double max_frobenius = d == DType::bf16 ? 3e-3 : 5e-4;
  return error.frobenius <= max_frobenius && error.metric <= max_metric;
}

}  // namespace octet::reference
