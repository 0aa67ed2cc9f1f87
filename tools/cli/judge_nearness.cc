// An activation on a GPU against the reference. The kernel computes in f32, the reference in f64, so a value may round
// to the neighbour in the type of the input, and with it the quantized value, or the scale of a whole block.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/cli/elements.h"
#include "tools/cli/quantize_check.h"

namespace octet::cli {
namespace {

// Of the relative Frobenius error of a group. The worst case is a group whose one scale follows another maximum: each
// element is then rounded anew. A gate, a column or a scale from the wrong place is an error of another order.
double limit_of(const Case& run) {
  if (run.problem.out) return run.problem.out->type == DType::e5m2 ? 6e-2 : 3e-2;
  const DType type = run.problem.d.value_or(DType::bf16);
  return type == DType::f32 ? 1e-5 : type == DType::fp16 ? 1.0 / 1024 : 1.0 / 128;  // one unit in the last place
}

// Error and limit of each group over all outputs, and the first element that is further off than it may be.
class Comparison {
 public:
  Comparison(const Case& run, std::int64_t columns) : run_(run), columns_(columns) {
    results_.resize(run.sizes.size());
    for (std::size_t g = 0; g < results_.size(); ++g) {
      results_[g].rows = run.sizes[g];
      results_[g].limit = limit_of(run);
    }
  }

  // got(g, r, c), want(g, r, c), and allowed(g, r, c, largest): the most that one element may be off, `largest` the
  // largest magnitude of its group.
  template <typename Got, typename Want, typename Allowed>
  void add(const char* name, const Got& got, const Want& want, const Allowed& allowed) {
    for (std::size_t group = 0; group < results_.size(); ++group) {
      const auto g = static_cast<std::int64_t>(group);
      double largest = 0, difference = 0, square = 0;
      for_each(group, [&](std::int64_t r, std::int64_t c) { largest = std::max(largest, std::abs(want(g, r, c))); });
      for_each(group, [&](std::int64_t r, std::int64_t c) {
        const double x = got(g, r, c), y = want(g, r, c), off = std::abs(x - y);
        difference += off * off;
        square += y * y;
        if (off <= allowed(g, r, c, largest) || !fault_.empty()) return;
        fault_ = fmt::format("{}: group {}, row {}, column {} is {}, in the reference {}", name, g, r, c, x, y);
      });
      GroupResult& result = results_[group];
      result.checked += run_.sizes[group] * columns_;
      const double error = difference == 0 ? 0 : std::sqrt(difference / square);  // infinite where the reference is 0
      if (!(error <= result.error)) result.error = error;
    }
  }

  const std::vector<GroupResult>& results() const { return results_; }
  const std::string& fault() const { return fault_; }

 private:
  template <typename Visit>
  void for_each(std::size_t group, const Visit& visit) const {
    for (std::int64_t r = 0; r < run_.sizes[group]; ++r) {
      for (std::int64_t c = 0; c < columns_; ++c) visit(r, c);
    }
  }

  const Case& run_;
  std::int64_t columns_;
  std::vector<GroupResult> results_;
  std::string fault_;
};

constexpr double kF32Error = 1e-6;  // of the largest of the group: what cancels in f32

void compare_quantized(const QuantizedView& got, const QuantizedView& want, Comparison& comparison) {
  const auto value_of = [](const QuantizedView& view) {
    return [&view](std::int64_t g, std::int64_t r, std::int64_t c) { return view.value(g, r, c); };
  };
  // One FP8 step, of the coarser scale and the larger value, and one unit in the last place of bf16.
  const auto allowed = [&](std::int64_t g, std::int64_t r, std::int64_t c, double largest) {
    const double y = std::max(std::abs(got.value(g, r, c)), std::abs(want.value(g, r, c)));
    const double sf = std::max(got.scale(g, r, c), want.scale(g, r, c));
    return fp8_step(y / sf, want.type()) * sf + y / 128 + kF32Error * largest;
  };
  comparison.add(want.places.columnwise() ? "columnwise" : "rowwise", value_of(got), value_of(want), allowed);
}

void compare_wide(const Case& run, const QuantizeShape& shape, const QuantizeOutput& got, const QuantizeOutput& want,
                  Comparison& comparison) {
  const DType type = run.problem.d.value_or(DType::bf16);
  const auto value_of = [&](const std::vector<std::uint8_t>& d) {
    return [&](std::int64_t g, std::int64_t r, std::int64_t c) {
      return static_cast<double>(element_at(d, type, (run.groups.begin[at(g)] + r) * shape.out_columns + c));
    };
  };
  const auto want_value = value_of(want.d);
  const auto allowed = [&](std::int64_t g, std::int64_t r, std::int64_t c, double largest) {
    return last_place(want_value(g, r, c), type) + kF32Error * largest;
  };
  comparison.add("output", value_of(got.d), want_value, allowed);
}

std::string compare_amax(const QuantizeOutput& got, const QuantizeOutput& want) {
  for (std::size_t g = 0; g < want.amax.size(); ++g) {
    if (std::abs(got.amax[g] - want.amax[g]) <= want.amax[g] / 128) continue;
    return fmt::format("group {}: amax is {}, in the reference {}", g, got.amax[g], want.amax[g]);
  }
  return "";
}

}  // namespace

Verdict judge_nearness(const Case& run, const QuantizeShape& shape, const QuantizeOutput& got,
                       const QuantizeOutput& want) {
  Verdict verdict;
  const std::vector<QuantizedView> got_views = views_of(run, shape, got), want_views = views_of(run, shape, want);
  verdict.measure = want_views.empty() ? "relative Frobenius error against the reference"
                                       : "relative Frobenius error of the dequantized output against the reference's";
  Comparison comparison(run, shape.out_columns);
  for (std::size_t i = 0; i < want_views.size(); ++i) compare_quantized(got_views[i], want_views[i], comparison);
  if (want_views.empty()) compare_wide(run, shape, got, want, comparison);
  verdict.groups = comparison.results();
  verdict.fault = find_written_tail(run, shape, got);
  if (verdict.fault.empty()) verdict.fault = comparison.fault();
  if (verdict.fault.empty()) verdict.fault = compare_amax(got, want);
  if (verdict.fault.empty()) {
    verdict.fault =
        judge_sums(run, got, {want.dprobs.begin(), want.dprobs.end()}, {want.dbias.begin(), want.dbias.end()});
  }
  for (std::size_t i = 0; i < want_views.size() && verdict.fault.empty(); ++i) {
    verdict.fault = find_different_unowned(run, got_views[i], want_views[i]);
  }
  return verdict;
}

}  // namespace octet::cli
