// A GEMM by the reference, judged against the product of the operands before they were quantized.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "tools/cli/elements.h"
#include "tools/cli/execute.h"
#include "tools/cli/gemm_operands.h"

namespace octet::cli {
namespace {

// What quantization approximates, straight from the bf16 inputs, with loops and indices of its own.
class Unquantized {
 public:
  Unquantized(const Case& run, const GemmOperands& operands) : run_(run), operands_(operands) {}

  // Row i of the group's part of D.
  double product(std::size_t group, std::int64_t i, std::int64_t j) const {
    return operands_.alpha * (is_wgrad() ? over_rows(group, i, j) : over_k(group, i, j));
  }
  // What is added to the product.
  double addend(std::size_t group, std::int64_t i, std::int64_t j) const {
    const auto g = static_cast<std::int64_t>(group);
    return (run_.problem.has(Flag::bias) ? bias(g, j) : 0) + (run_.problem.has(Flag::acc) ? old(group, i, j) : 0);
  }

 private:
  bool is_wgrad() const { return run_.problem.op == Operation::wgrad; }
  static double widen(std::uint16_t bits) { return reference::from_bf16(bits); }

  double over_k(std::size_t group, std::int64_t i, std::int64_t j) const {
    const std::int64_t n = run_.problem.n, k = run_.problem.k;
    const std::uint16_t* a = operands_.a_source.data() + (run_.groups.begin[group] + i) * k;
    const std::uint16_t* b = operands_.b_source.data() + static_cast<std::int64_t>(group) * n * k;
    const bool of_columns = run_.problem.dir == Direction::col;  // weights [K][N] before they were transposed
    double sum = 0;
    for (std::int64_t s = 0; s < k; ++s) sum += widen(a[s]) * widen(of_columns ? b[s * n + j] : b[j * k + s]);
    return sum;
  }

  double over_rows(std::size_t group, std::int64_t i, std::int64_t j) const {
    double sum = 0;
    for (std::int64_t row = run_.groups.begin[group]; row < run_.groups.end[group]; ++row) {
      sum += widen(operands_.a_source[at(row * run_.problem.n + i)]) *
             widen(operands_.b_source[at(row * run_.problem.k + j)]);
    }
    return sum;
  }

  double bias(std::int64_t group, std::int64_t j) const {
    return element_at(operands_.bias, type_of_d(run_), group * run_.problem.n + j);
  }
  double old(std::size_t group, std::int64_t i, std::int64_t j) const {
    const GroupOfD place = group_of_d(run_, group);
    return element_at(operands_.old_d, type_of_d(run_), (place.first_row + i) * place.columns + j);
  }

  const Case& run_;
  const GemmOperands& operands_;
};

// Small problems in full; of large ones only what the check looks at, since a host would take minutes for all of D.
class HostProduct {
 public:
  HostProduct(const Case& run, const GemmOperands& operands) : run_(run), operands_(operands) {
    constexpr double kMostElements = 1e8;
    const double elements = static_cast<double>(d_rows(run)) * static_cast<double>(d_columns(run));
    const double macs = static_cast<double>(run.rows) * static_cast<double>(run.problem.n * run.problem.k);
    if (macs > kCheckedMacs || elements > kMostElements) return;
    d_.assign(at(d_rows(run) * d_columns(run)), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; run.problem.has(Flag::acc) && i < d_.size(); ++i) d_[i] = old(i);
    reference::gemm(run.problem, operands.host(), run.groups, run.capacity, d_.data(), host_threads());
    is_whole_ = true;
  }

  bool is_whole() const { return is_whole_; }
  // Row i of the group's part of D.
  double element(std::size_t group, std::int64_t i, std::int64_t j) const {
    const GroupOfD place = group_of_d(run_, group);
    const std::size_t index = at((place.first_row + i) * place.columns + j);
    if (is_whole_) return d_[index];
    const std::int64_t row = run_.problem.op == Operation::wgrad ? i : place.first_row + i;
    const double value = reference::gemm_element(run_.problem, operands_.host(), run_.groups, run_.capacity,
                                                 static_cast<std::int64_t>(group), row, j);
    return value + (run_.problem.has(Flag::acc) ? old(index) : 0);
  }

 private:
  double old(std::size_t index) const {
    return element_at(operands_.old_d, type_of_d(run_), static_cast<std::int64_t>(index));
  }

  const Case& run_;
  const GemmOperands& operands_;
  std::vector<double> d_;
  bool is_whole_ = false;
};

// What 1 - 2*sum(xy) / sum(x^2 + y^2) stays under: it grows with each operand that has 2 bits of mantissa.
double metric_limit(const Problem& problem) {
  const auto is_e5m2 = [](const std::optional<Recipe>& recipe) { return recipe && recipe->type == DType::e5m2; };
  const bool a = is_e5m2(problem.a), b = is_e5m2(problem.b);
  return a && b ? 4e-3 : a || b ? 2.5e-3 : 1e-3;
}

// The metric is a mean over elements, so few of them scatter about it.
GroupResult judge_host_group(const Case& run, const Unquantized& unquantized, const HostProduct& product,
                             std::size_t group) {
  GroupResult result;
  result.rows = run.sizes[group];
  const GroupOfD place = group_of_d(run, group);
  const std::int64_t elements = place.rows * place.columns;
  result.checked = std::min(elements, samples_per_group(run));
  if (result.checked == 0) return result;
  std::mt19937_64 random(run.seed + group);
  double cross = 0, squares = 0;
  for (std::int64_t sample = 0; sample < result.checked; ++sample) {
    const bool all = result.checked == elements;
    const std::int64_t index =
        all ? sample : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(elements));
    const std::int64_t i = index / place.columns, j = index % place.columns;
    // Judged by the product alone: bias and old D are exact, and large ones would hide its error.
    const double got = product.element(group, i, j) - unquantized.addend(group, i, j);
    const double want = unquantized.product(group, i, j);
    cross += got * want;
    squares += got * got + want * want;
  }
  result.error = squares == 0 ? 0 : 1 - 2 * cross / squares;
  result.limit = metric_limit(run.problem) * (1 + 8 / std::sqrt(static_cast<double>(result.checked)));
  return result;
}

}  // namespace

Verdict run_gemm_on_host(const Case& run, const GemmOperands& operands, int repeat) {
  Verdict verdict;
  verdict.measure = "1 - 2*sum(xy)/sum(x*x + y*y) against the product before quantization";
  std::optional<HostProduct> product;
  verdict.execution.times_us = time_on_host(repeat, [&] { product.emplace(run, operands); });
  if (!product->is_whole()) verdict.execution.times_us.clear();  // nothing but samples was computed
  verdict.execution.device = "reference";
  const Unquantized unquantized(run, operands);
  for (std::size_t g = 0; g < run.sizes.size(); ++g) {
    verdict.groups.push_back(judge_host_group(run, unquantized, *product, g));
  }
  return verdict;
}

}  // namespace octet::cli
