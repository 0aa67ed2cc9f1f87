// Checks of a few rows of a quantizer's result that is too large to check whole: a window of rows, which starts at a
// block of its group, is downloaded, quantized by the oracle as a group of its own, and compared with what the launch
// left at the window's place. The places are computed here, by the formulas of docs/numerics.md and by no code of the
// library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "octet/octet.h"
#include "tests/gpu/device.h"

namespace octet::test {

struct Window {
  std::int64_t group = 0;
  std::int64_t first = 0, rows = 0;  // within the group; first is a multiple of 128
};

// Where things of one group lie: packed groups, and uniform and masked ones rowwise. Of masked groups only the scales
// of mn_major.
class Places {
 public:
  Places(const Problem& problem, const std::vector<std::int64_t>& sizes, std::int64_t capacity)
      : shape_(quantize_shape(problem, capacity)),
        scales_(problem.out->scale_layout),
        masked_rows_(problem.layout == Layout::masked ? problem.m : 0) {
    std::int64_t row = 0, padded = 0, blocks = 0, blocks32 = 0;
    for (const std::int64_t size : sizes) {
      row_.push_back(masked_rows_ > 0 ? static_cast<std::int64_t>(row_.size()) * masked_rows_ : row);
      column_.push_back(padded);
      block_.push_back(blocks);
      block32_.push_back(blocks32);
      row += size;
      padded += up(size, 128);
      blocks += ceil(size, 128);
      blocks32 += ceil(size, 32);
    }
  }

  const QuantizeShape& shape() const { return shape_; }
  std::int64_t columns() const { return shape_.out_columns; }
  std::int64_t row(std::int64_t group) const { return row_[index(group)]; }

  std::int64_t data(std::int64_t group, std::int64_t r) const { return (row(group) + r) * columns(); }
  std::int64_t data_col(std::int64_t group, std::int64_t r, std::int64_t c) const {
    return c * shape_.ld_col + column_[index(group)] + r;
  }
  // Index of the scale of one element; of bytes or of floats.
  std::int64_t sf(std::int64_t group, std::int64_t r, std::int64_t c) const {
    switch (scales_) {
      case ScaleLayout::mn_major:
        if (masked_rows_ > 0) return (group * ceil(columns(), 128) + c / 128) * shape_.ld_sf + r;
        return c / 128 * shape_.ld_sf + row(group) + r;
      case ScaleLayout::k_major:
        return (row(group) + r) * ceil(columns(), 128) + c / 128;
      case ScaleLayout::mx_compact:
        return (row(group) + r) * up(ceil(columns(), 32), 4) + c / 32;
      case ScaleLayout::block2d:
        return (block_[index(group)] + r / 128) * ceil(columns(), 128) + c / 128;
      case ScaleLayout::per_row:
        return row(group) + r;
      default:
        return group;
    }
  }
  std::int64_t sf_col(std::int64_t group, std::int64_t r, std::int64_t c) const {
    switch (scales_) {
      case ScaleLayout::mn_major:
      case ScaleLayout::k_major:
        return (block_[index(group)] + r / 128) * up(columns(), 4) + c;
      case ScaleLayout::mx_compact:
        return (block32_[index(group)] + r / 32) * up(columns(), 128) + c;
      case ScaleLayout::per_row:
        return group * columns() + c;
      default:
        return sf(group, r, c);
    }
  }

 private:
  static std::int64_t ceil(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
  static std::int64_t up(std::int64_t a, std::int64_t b) { return ceil(a, b) * b; }
  static std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

  QuantizeShape shape_;
  ScaleLayout scales_;
  std::int64_t masked_rows_;  // max_m; 0 unless masked
  std::vector<std::int64_t> row_, column_, block_, block32_;
};

// What a launch left behind, on the device; unused ones are empty.
struct QuantizedBuffers {
  const Buffer &data, &sf, &data_col, &sf_col;
};

// The oracle's output for the window, as one packed group.
struct WindowResult {
  Problem problem;
  std::vector<std::uint8_t> data, sf, data_col, sf_col;
};
// `in` are the window's rows, already activated. Where scales cover more than a window, they are `given`, or the
// group's largest magnitude is, as the floor.
inline WindowResult quantize_window(Problem problem, const Window& window, const void* in,
                                    const std::vector<float>& given = {}, float amax_floor = 0) {
  problem.c = quantize_shape(problem).out_columns;
  problem.layout = Layout::packed;
  problem.g = 1;
  problem.n = problem.k = problem.m = problem.al = 0;
  problem.splits = {};
  problem.act = Activation::none;
  problem.flags = given.empty() ? 0 : static_cast<std::uint32_t>(Flag::given);
  const QuantizeShape shape = quantize_shape(problem, window.rows);
  WindowResult result{problem, {}, {}, {}, {}};
  const auto sized = [](std::vector<std::uint8_t>& bytes, std::int64_t count) {
    bytes.assign(static_cast<std::size_t>(count), 0xFF);
    return bytes.data();
  };
  reference::QuantizeInputs inputs;
  inputs.in = in;
  inputs.given = given.data();
  inputs.amax_floor = amax_floor;
  reference::QuantizeOutputs outputs;
  outputs.data = sized(result.data, shape.row.data);
  outputs.sf = sized(result.sf, shape.row.sf);
  outputs.data_col = sized(result.data_col, shape.col.data);
  outputs.sf_col = sized(result.sf_col, shape.col.sf);
  reference::quantize(problem, inputs, reference::extents({window.rows}), window.rows, outputs);
  return result;
}

// Compares the window's rowwise data and scales.
inline std::string row_fault(const Places& places, const Window& window, const QuantizedBuffers& got,
                             const WindowResult& wanted) {
  if (wanted.data.empty()) return "";
  const Places here(wanted.problem, {window.rows}, window.rows);
  std::vector<std::uint8_t> data(wanted.data.size());
  got.data.download(data.data(), data.size(), static_cast<std::size_t>(places.data(window.group, window.first)));
  if (data != wanted.data) return fmt::format("data of rows from {} of group {}", window.first, window.group);
  const std::ptrdiff_t width = wanted.problem.out->granularity == Granularity::mx_1x32 ? 1 : 4;
  const std::vector<std::uint8_t> sf = got.sf.values<std::uint8_t>();
  for (std::int64_t r = 0; r < window.rows; ++r) {
    for (std::int64_t c = 0; c < places.columns(); c += 16) {
      const std::ptrdiff_t at = places.sf(window.group, window.first + r, c) * width, want = here.sf(0, r, c) * width;
      if (!std::equal(sf.begin() + at, sf.begin() + at + width, wanted.sf.begin() + want)) {
        return fmt::format("scale of row {} column {} of group {}", window.first + r, c, window.group);
      }
    }
  }
  return "";
}

// The same columnwise, for every `stride`-th column.
inline std::string column_fault(const Places& places, const Window& window, const QuantizedBuffers& got,
                                const WindowResult& wanted, std::int64_t stride) {
  if (wanted.data_col.empty()) return "";
  const Places here(wanted.problem, {window.rows}, window.rows);
  const std::ptrdiff_t width = wanted.problem.out->granularity == Granularity::mx_1x32 ? 1 : 4;
  const std::vector<std::uint8_t> sf = got.sf_col.values<std::uint8_t>();
  for (std::int64_t c = 0; c < places.columns(); c += stride) {
    std::vector<std::uint8_t> line(static_cast<std::size_t>(window.rows));
    got.data_col.download(line.data(), line.size(),
                          static_cast<std::size_t>(places.data_col(window.group, window.first, c)));
    if (!std::equal(line.begin(), line.end(), wanted.data_col.begin() + here.data_col(0, 0, c))) {
      return fmt::format("columnwise data of column {}, rows from {} of group {}", c, window.first, window.group);
    }
    for (std::int64_t r = 0; r < window.rows; r += 32) {
      const std::ptrdiff_t at = places.sf_col(window.group, window.first + r, c) * width,
                           want = here.sf_col(0, r, c) * width;
      if (!std::equal(sf.begin() + at, sf.begin() + at + width, wanted.sf_col.begin() + want)) {
        return fmt::format("columnwise scale of column {} row {} of group {}", c, window.first + r, window.group);
      }
    }
  }
  return "";
}

}  // namespace octet::test
