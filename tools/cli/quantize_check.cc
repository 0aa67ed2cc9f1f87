#include "tools/cli/quantize_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "tools/cli/elements.h"

namespace octet::cli {
namespace {

bool is_poison(const std::vector<std::uint8_t>& bytes, std::int64_t begin, std::int64_t count) {
  const auto from = bytes.begin() + begin;
  return std::all_of(from, from + count, [](std::uint8_t byte) { return byte == kPoison; });
}

// "" or which of the row's scales was written.
bool scales_kept(const QuantizedView& view, std::int64_t g, std::int64_t r) {
  const int size = scale_bytes(view.places.recipe());
  for (std::int64_t c = 0; c < view.places.columns(); c += 32) {
    if (!is_poison(view.sf, view.places.scale(g, r, c) * size, size)) return false;
  }
  return true;
}

std::string find_written_row(const Case& run, const QuantizedView& view, std::int64_t row) {
  const std::int64_t g = group_of_row(run, row), r = row - run.groups.begin[at(g)];
  if (!view.places.transposed() && !is_poison(view.data, view.places.data(g, r, 0), view.places.columns())) {
    return fmt::format("row {} is outside every group, but was written", row);
  }
  if (view.places.row_indexed() && !scales_kept(view, g, r)) {
    return fmt::format("row {} is outside every group, but a scale of it was written", row);
  }
  return "";
}

std::string find_written_wide_row(const QuantizeOutput& output, std::int64_t d_row_bytes, std::int64_t row) {
  if (d_row_bytes != 0 && !is_poison(output.d, row * d_row_bytes, d_row_bytes)) {
    return fmt::format("row {} is outside every group, but was written", row);
  }
  if (!output.dprobs.empty() && std::memcmp(&output.dprobs[at(row)], &kPoisonWord, sizeof kPoisonWord) != 0) {
    return fmt::format("row {} is outside every group, but the gradient of its probability was written", row);
  }
  return "";
}

// The first sum that is off by more than f32 sums of many terms are in another order, measured by the largest: one
// sum may have cancelled. -1 when there is none.
std::int64_t find_wrong_sum(const std::vector<float>& got, const std::vector<double>& want,
                            const std::vector<bool>& counts) {
  constexpr double kAllowed = 1e-4;
  double largest = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (counts[i]) largest = std::max(largest, std::abs(want[i]));
  }
  for (std::size_t i = 0; i < want.size(); ++i) {
    const bool right = std::abs(static_cast<double>(got[i]) - want[i]) <= kAllowed * largest;
    if (counts[i] && !right) return static_cast<std::int64_t>(i);
  }
  return -1;
}

}  // namespace

double QuantizedView::scale(std::int64_t g, std::int64_t r, std::int64_t c) const {
  return scale_value(sf, places.recipe(), places.scale(g, r, c));
}
double QuantizedView::value(std::int64_t g, std::int64_t r, std::int64_t c) const {
  return static_cast<double>(reference::from_fp8(data[at(places.data(g, r, c))], type())) * scale(g, r, c);
}

std::vector<QuantizedView> views_of(const Case& run, const QuantizeShape& shape, const QuantizeOutput& output) {
  std::vector<QuantizedView> views;
  if (!run.problem.out) return views;
  const auto places = [&](bool columnwise) {
    return Places(run, *run.problem.out, columnwise, shape.out_columns, Packing::octet);
  };
  if (run.problem.dir != Direction::col) views.push_back({places(false), output.data, output.sf});
  if (run.problem.dir != Direction::row) views.push_back({places(true), output.data_col, output.sf_col});
  return views;
}

double largest_fp8(DType type) { return type == DType::e5m2 ? 57344 : 448; }

double fp8_step(double value, DType type) {
  const int mantissa_bits = type == DType::e5m2 ? 2 : 3, least_exponent = type == DType::e5m2 ? -14 : -6;
  const int exponent = value == 0 ? least_exponent : std::max(std::ilogb(value), least_exponent);
  return std::ldexp(1.0, exponent - mantissa_bits);
}

std::string find_written_tail(const Case& run, const QuantizeShape& shape, const QuantizeOutput& output) {
  const std::vector<bool> inside = rows_in_groups(run);
  const std::vector<QuantizedView> views = views_of(run, shape, output);
  const std::int64_t d_row_bytes = run.capacity == 0 ? 0 : shape.d_bytes / run.capacity;
  for (std::int64_t row = 0; row < run.capacity; ++row) {
    if (inside[at(row)]) continue;
    std::string fault = find_written_wide_row(output, d_row_bytes, row);
    for (const QuantizedView& view : views) {
      if (fault.empty()) fault = find_written_row(run, view, row);
    }
    if (!fault.empty()) return fault;
  }
  return "";
}

std::string find_unwritten_padding(const Case& run, const QuantizeShape& shape, const QuantizeOutput& output) {
  if (run.problem.layout == Layout::uniform) return "";  // its columnwise data has no padding
  for (const QuantizedView& view : views_of(run, shape, output)) {
    if (!view.places.transposed()) continue;
    for (std::size_t g = 0; g < run.sizes.size(); ++g) {
      const auto group = static_cast<std::int64_t>(g);
      const std::int64_t end = (view.places.extent(group) + 127) / 128 * 128;
      for (std::int64_t c = 0; c < view.places.columns(); ++c) {
        for (std::int64_t r = run.sizes[g]; r < end; ++r) {
          if (view.data[at(view.places.data(group, r, c))] == 0) continue;
          return fmt::format("group {}: columnwise data is not zero behind its rows, at row {} of column {}", g, r, c);
        }
      }
    }
  }
  return "";
}

std::string judge_sums(const Case& run, const QuantizeOutput& got, const std::vector<double>& dprobs,
                       const std::vector<double>& dbias) {
  const std::int64_t of_row = find_wrong_sum(got.dprobs, dprobs, rows_in_groups(run));
  if (of_row >= 0) {
    return fmt::format("row {}: the gradient of its probability is {}, not {}", of_row, got.dprobs[at(of_row)],
                       dprobs[at(of_row)]);
  }
  const std::int64_t wrong = find_wrong_sum(got.dbias, dbias, std::vector<bool>(dbias.size(), true));
  if (wrong < 0) return "";
  const std::int64_t columns = static_cast<std::int64_t>(dbias.size()) / run.problem.g;
  return fmt::format("group {}: the gradient of bias {} is {}, not {}", wrong / columns, wrong % columns,
                     got.dbias[at(wrong)], dbias[at(wrong)]);
}

}  // namespace octet::cli
