#include "tools/cli/quantize_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "octet/reference.h"

namespace octet::cli {
namespace {

constexpr std::int64_t kBlock = 128;

// -----------------------------------------------------------------------------------------------------------

// Where the scale of an element lies, written down once more on purpose: the oracle has its own.
std::size_t scale_index(const Case& run, std::size_t group, std::int64_t row, std::int64_t column) {
  const std::int64_t c = columns(run);
  if (is_uniform(run)) {
    const std::int64_t block_rows = (run.problem.n + kBlock - 1) / kBlock, block_columns = (c + kBlock - 1) / kBlock;
    const std::int64_t row_in_group = row - run.groups.begin[group];
    return static_cast<std::size_t>(
        (static_cast<std::int64_t>(group) * block_rows + row_in_group / kBlock) * block_columns + column / kBlock);
  }
  const std::int64_t ld = (run.capacity + 3) / 4 * 4;
  return static_cast<std::size_t>(column / kBlock * ld + row);
}

template <typename Visit>
void for_each_element(const Case& run, std::size_t group, const Visit& visit) {
  const std::int64_t c = columns(run);
  for (std::int64_t row = run.groups.begin[group]; row < run.groups.end[group]; ++row) {
    for (std::int64_t column = 0; column < c; ++column) {
      visit(static_cast<std::size_t>(row * c + column), scale_index(run, group, row, column));
    }
  }
}

GroupResult count_differences(const Case& run, const QuantizeOutput& got, const QuantizeOutput& want,
                              std::size_t group) {
  GroupResult result;
  result.rows = run.sizes[group];
  for_each_element(run, group, [&](std::size_t at, std::size_t scale) {
    const bool same = got.data[at] == want.data[at] && std::memcmp(&got.sf[scale], &want.sf[scale], sizeof(float)) == 0;
    ++result.checked;
    result.error += same ? 0 : 1;
  });
  return result;
}

double widen(std::uint16_t bf16) {
  const std::uint32_t word = std::uint32_t{bf16} << 16;
  float value = 0;
  std::memcpy(&value, &word, sizeof value);
  return static_cast<double>(value);
}

// Half the distance of neighbouring FP8 values around `value`: what rounding to nearest is off by at most.
double half_step(double value, DType type) {
  const int mantissa_bits = type == DType::e5m2 ? 2 : 3, least_exponent = type == DType::e5m2 ? -14 : -6;
  const int exponent = value == 0 ? least_exponent : std::max(std::ilogb(value), least_exponent);
  return std::ldexp(1.0, exponent - mantissa_bits - 1);
}

GroupResult judge_group(const Case& run, const std::vector<std::uint16_t>& in, const QuantizeOutput& out,
                        std::size_t group) {
  const DType type = quantize_problem(run).out.type;
  GroupResult result;
  result.rows = run.sizes[group];
  result.limit = 1 + 1e-5;  // the scale and the product were rounded to f32
  for_each_element(run, group, [&](std::size_t at, std::size_t scale) {
    const double x = widen(in[at]), sf = static_cast<double>(out.sf[scale]);
    const double rounded = static_cast<double>(reference::from_fp8(out.data[at], type)) * sf;
    const double error = std::abs(rounded - x) / (half_step(x / sf, type) * sf);
    ++result.checked;
    if (!(error <= result.error)) result.error = error;  // NaN is kept
  });
  return result;
}

// The scale maps the block's largest magnitude to the largest FP8 value, or, as a power of two, to at least half of it.
std::string judge_scales(const Case& run, const std::vector<std::uint16_t>& in, const QuantizeOutput& out) {
  const Recipe recipe = quantize_problem(run).out;
  const double fp8_max = recipe.type == DType::e5m2 ? 57344 : 448;
  std::vector<double> amax(out.sf.size(), -1);
  for (std::size_t g = 0; g < run.sizes.size(); ++g) {
    for_each_element(run, g, [&](std::size_t at, std::size_t scale) {
      amax[scale] = std::max(amax[scale], std::abs(widen(in[at])));
    });
  }
  for (std::size_t i = 0; i < amax.size(); ++i) {
    if (amax[i] <= 0) continue;
    const double ratio = static_cast<double>(out.sf[i]) * fp8_max / amax[i];
    const double most = recipe.power_of_two ? 2 : 1;
    if (!(ratio >= 1 - 1e-6 && ratio <= most * (1 + 1e-6))) {
      return fmt::format("scale {} is {}, for a largest magnitude of {}", i, out.sf[i], amax[i]);
    }
  }
  return "";
}

}  // namespace

bool is_uniform(const Case& run) { return run.problem.layout == Layout::uniform; }
std::int64_t columns(const Case& run) { return is_uniform(run) ? run.problem.k : run.problem.c; }

QuantizeProblem quantize_problem(const Case& run) {
  QuantizeProblem quantize;
  quantize.layout = run.problem.layout;
  quantize.groups = run.problem.g;
  quantize.columns = columns(run);
  quantize.rows_per_group = is_uniform(run) ? run.problem.n : 0;
  quantize.in = run.problem.in.value_or(quantize.in);
  quantize.out = run.problem.out.value_or(quantize.out);
  quantize.alignment = run.problem.al;
  quantize.splits = run.problem.splits;
  return quantize;
}

Verdict judge_equality(const Case& run, const QuantizeOutput& got, const QuantizeOutput& want) {
  Verdict verdict;
  verdict.measure = "elements that differ from the reference, in their byte or their scale";
  for (std::size_t g = 0; g < run.sizes.size(); ++g) verdict.groups.push_back(count_differences(run, got, want, g));
  return verdict;
}

Verdict judge_rounding(const Case& run, const std::vector<std::uint16_t>& in, const QuantizeOutput& out) {
  Verdict verdict;
  verdict.measure = "largest rounding error, in half steps of the FP8 type";
  for (std::size_t g = 0; g < run.sizes.size(); ++g) verdict.groups.push_back(judge_group(run, in, out, g));
  verdict.fault = judge_scales(run, in, out);
  return verdict;
}

std::string find_written_tail(const Case& run, const QuantizeOutput& out) {
  const std::vector<bool> inside = rows_in_groups(run);
  const std::int64_t c = columns(run);
  for (std::int64_t row = 0; row < run.capacity; ++row) {
    if (inside[static_cast<std::size_t>(row)]) continue;
    const auto begin = out.data.begin() + row * c;
    const bool kept = std::all_of(begin, begin + c, [](std::uint8_t byte) { return byte == kOutputPoison; });
    if (!kept) return fmt::format("row {} is outside every group, but was written", row);
    for (std::int64_t column = 0; column < c; column += kBlock) {
      if (!std::isnan(out.sf[scale_index(run, 0, row, column)])) {
        return fmt::format("row {} is outside every group, but a scale of it was written", row);
      }
    }
  }
  return "";
}

}  // namespace octet::cli
