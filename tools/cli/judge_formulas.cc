// The reference's quantizers and activations: what rounding to the nearest FP8 value and dividing by the block's
// maximum must give, from the input alone.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/cli/elements.h"
#include "tools/cli/quantize_check.h"

namespace octet::cli {
namespace {

template <typename Visit>
void for_each_element(const Case& run, std::size_t group, std::int64_t columns, const Visit& visit) {
  for (std::int64_t r = 0; r < run.sizes[group]; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) visit(static_cast<std::int64_t>(group), r, c);
  }
}

// NaN, once there, stays.
void raise(double& worst, double error) {
  if (!(error <= worst)) worst = error;
}

// How far the value of an element is from what went in, in half steps of the FP8 type.
double rounding_error(const QuantizedView& view, double y, std::int64_t g, std::int64_t r, std::int64_t c) {
  const double sf = view.scale(g, r, c), most = largest_fp8(view.type()) * sf;
  const double kept = std::clamp(y, -most, most);  // beyond it an element saturates
  return std::abs(view.value(g, r, c) - kept) / (0.5 * fp8_step(kept / sf, view.type()) * sf);
}

GroupResult judge_rounding(const Case& run, const std::vector<QuantizedView>& views, const Expected& expected,
                           std::size_t group) {
  GroupResult result;
  result.rows = run.sizes[group];
  result.limit = 1 + 1e-5;  // the scale and the product were rounded to f32
  for (const QuantizedView& view : views) {
    for_each_element(run, group, expected.columns, [&](std::int64_t g, std::int64_t r, std::int64_t c) {
      const double y = static_cast<double>(expected.at_row(run.groups.begin[group] + r, c));
      raise(result.error, rounding_error(view, y, g, r, c));
      ++result.checked;
    });
  }
  return result;
}

// Elements of an activation's output that are more than one unit in the last place from the formula's value: f64 may
// round another way where the order of two products differs.
GroupResult count_wrong(const Case& run, const QuantizeOutput& output, const Expected& expected, std::size_t group) {
  const DType type = run.problem.d.value_or(DType::bf16);
  GroupResult result;
  result.rows = run.sizes[group];
  for_each_element(run, group, expected.columns, [&](std::int64_t, std::int64_t r, std::int64_t c) {
    const std::int64_t row = run.groups.begin[group] + r;
    const auto want = static_cast<double>(expected.at_row(row, c));
    const auto got = static_cast<double>(element_at(output.d, type, row * expected.columns + c));
    result.error += got == want || std::abs(got - want) <= last_place(want, type) ? 0 : 1;
    ++result.checked;
  });
  return result;
}

// The largest magnitude that shares each scale; -1 where none does.
std::vector<double> block_maxima(const Case& run, const QuantizedView& view, const Expected& expected) {
  std::vector<double> amax(view.sf.size() / at(scale_bytes(view.places.recipe())), -1);
  for (std::size_t group = 0; group < run.sizes.size(); ++group) {
    for_each_element(run, group, expected.columns, [&](std::int64_t g, std::int64_t r, std::int64_t c) {
      double& largest = amax[at(view.places.scale(g, r, c))];
      largest = std::max(largest, std::abs(static_cast<double>(expected.at_row(run.groups.begin[group] + r, c))));
    });
  }
  return amax;
}

// The scale maps the block's largest magnitude to the largest FP8 value, or, as a power of two, to at least half of it.
std::string judge_scales(const Case& run, const QuantizedView& view, const Expected& expected) {
  const Recipe& recipe = view.places.recipe();
  const bool doubles = recipe.power_of_two || scale_bytes(recipe) == 1;
  const std::vector<double> amax = block_maxima(run, view, expected);
  for (std::size_t i = 0; i < amax.size(); ++i) {
    if (amax[i] <= 0 || std::isinf(amax[i])) continue;
    const double sf = scale_value(view.sf, recipe, static_cast<std::int64_t>(i));
    const double ratio = sf * largest_fp8(recipe.type) / amax[i];
    if (!(ratio >= 1 - 1e-6 && ratio <= (doubles ? 2 : 1) * (1 + 1e-6))) {
      return fmt::format("{} scale {} is {}, for a largest magnitude of {}",
                         view.places.columnwise() ? "columnwise" : "rowwise", i, sf, amax[i]);
    }
  }
  return "";
}

std::string judge_given(const Case& run, const QuantizedView& view, const QuantizeInput& input) {
  for (std::size_t g = 0; g < run.sizes.size(); ++g) {
    const auto given = static_cast<double>(input.given[g]);
    const double sf = scale_value(view.sf, view.places.recipe(), static_cast<std::int64_t>(g));
    if (sf != given) return fmt::format("group {}: the scale is {}, not the given {}", g, sf, given);
  }
  return "";
}

std::string judge_amax(const QuantizeOutput& output, const Expected& expected) {
  for (std::size_t g = 0; g < output.amax.size(); ++g) {
    const auto amax = static_cast<double>(output.amax[g]);
    if (amax == expected.amax[g] || std::abs(amax - expected.amax[g]) <= 1e-6 * expected.amax[g]) continue;
    return fmt::format("group {}: amax is {}, not {}", g, output.amax[g], expected.amax[g]);
  }
  return "";
}

}  // namespace

Verdict judge_formulas(const Case& run, const QuantizeShape& shape, const QuantizeInput& input,
                       const QuantizeOutput& output) {
  const Expected expected = expect(run, shape, input);
  const std::vector<QuantizedView> views = views_of(run, shape, output);
  Verdict verdict;
  verdict.measure = views.empty() ? "elements more than one unit in the last place from the formula's value"
                                  : "largest rounding error, in half steps of the FP8 type";
  for (std::size_t g = 0; g < run.sizes.size(); ++g) {
    verdict.groups.push_back(views.empty() ? count_wrong(run, output, expected, g)
                                           : judge_rounding(run, views, expected, g));
  }
  for (const QuantizedView& view : views) {
    if (!verdict.fault.empty()) break;
    verdict.fault = run.problem.has(Flag::given) ? judge_given(run, view, input) : judge_scales(run, view, expected);
  }
  if (verdict.fault.empty()) verdict.fault = find_written_tail(run, shape, output);
  if (verdict.fault.empty()) verdict.fault = judge_amax(output, expected);
  if (verdict.fault.empty()) verdict.fault = judge_sums(run, output, expected.dprobs, expected.dbias);
  if (verdict.fault.empty()) verdict.fault = find_unwritten_padding(run, shape, output);
  for (std::size_t i = 0; i < views.size() && verdict.fault.empty(); ++i) {
    verdict.fault = find_wrong_unowned(run, views[i]);
  }
  return verdict;
}

}  // namespace octet::cli
