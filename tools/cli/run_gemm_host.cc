// A GEMM by the reference, judged against the product of the operands before they were quantized.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>

#include "tools/cli/execute.h"
#include "tools/cli/gemm_operands.h"

namespace octet::cli {
namespace {

// The product that quantization approximates, straight from the bf16 inputs: shares no code with the executor.
double unquantized_element(const GemmOperands& operands, std::int64_t group, std::int64_t row, std::int64_t n) {
  const std::int64_t k = operands.problem.k;
  const std::uint16_t* x = operands.x.data() + row * k;
  const std::uint16_t* w = operands.w.data() + (group * operands.problem.n + n) * k;
  const auto widen = [](std::uint16_t bits) {
    const std::uint32_t word = std::uint32_t{bits} << 16;
    float value = 0;
    std::memcpy(&value, &word, sizeof value);
    return static_cast<double>(value);
  };
  double sum = 0;
  for (std::int64_t i = 0; i < k; ++i) sum += widen(x[i]) * widen(w[i]);
  return sum;
}

// Small problems in full; of large ones only what the check looks at, since a host would take minutes for all of D.
class HostProduct {
 public:
  HostProduct(const Case& run, const GemmOperands& operands) : run_(run), operands_(operands) {
    const double macs = static_cast<double>(run.rows) * static_cast<double>(run.problem.n * run.problem.k);
    if (macs > kCheckedMacs) return;
    d_.assign(static_cast<std::size_t>(run.capacity * run.problem.n), std::numeric_limits<double>::quiet_NaN());
    reference::gemm(operands.problem, operands.a.data(), operands.sfa.data(), operands.b.data(), operands.sfb.data(),
                    run.groups, run.capacity, d_.data(), host_threads());
  }

  bool is_whole() const { return !d_.empty(); }
  double at(std::int64_t group, std::int64_t row, std::int64_t n) const {
    if (is_whole()) return d_[static_cast<std::size_t>(row * run_.problem.n + n)];
    return reference::gemm_element(operands_.problem, operands_.a.data(), operands_.sfa.data(), operands_.b.data(),
                                   operands_.sfb.data(), run_.capacity, group, row, n);
  }

 private:
  const Case& run_;
  const GemmOperands& operands_;
  std::vector<double> d_;
};

// The metric 1 - 2*sum(xy) / sum(x^2 + y^2) must stay under 1e-3 for e4m3 x e4m3. It is a mean over elements, so few of
// them scatter about it.
GroupResult judge_host_group(const Case& run, const GemmOperands& operands, const HostProduct& product,
                             std::size_t group) {
  GroupResult result;
  result.rows = run.sizes[group];
  const std::int64_t n = run.problem.n, elements = result.rows * n;
  result.checked = std::min(elements, samples_per_group(run));
  if (result.checked == 0) return result;
  std::mt19937_64 random(run.seed + group);
  double cross = 0, squares = 0;
  for (std::int64_t i = 0; i < result.checked; ++i) {
    const bool all = result.checked == elements;
    const std::int64_t at = all ? i : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(elements));
    const std::int64_t row = run.groups.begin[group] + at / n;
    const double got = product.at(static_cast<std::int64_t>(group), row, at % n);
    const double want = unquantized_element(operands, static_cast<std::int64_t>(group), row, at % n);
    cross += got * want;
    squares += got * got + want * want;
  }
  result.error = squares == 0 ? 0 : 1 - 2 * cross / squares;
  result.limit = 1e-3 * (1 + 8 / std::sqrt(static_cast<double>(result.checked)));
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
  for (std::size_t g = 0; g < run.sizes.size(); ++g) {
    verdict.groups.push_back(judge_host_group(run, operands, *product, g));
  }
  return verdict;
}

}  // namespace octet::cli
