#include "octet/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "octet/error.h"
#include "runtime/integers.h"
#include "runtime/quantize_traits.h"

namespace octet {
namespace {

constexpr std::int64_t kBlock = 128, kMxBlock = 32;

// Most blocks of `unit` rows, counted per group.
std::int64_t blocks_of_rows(const Problem& problem, std::int64_t rows, std::int64_t unit) {
  if (problem.layout == Layout::uniform) return problem.g * ceil_div(problem.n, unit);
  if (problem.layout == Layout::masked) return problem.g * ceil_div(problem.m, unit);
  return ceil_div(rows, unit) + problem.g;
}

std::int64_t mn_major_rows(const Problem& problem, std::int64_t rows) {
  return round_up(problem.layout == Layout::masked ? problem.m : rows, 4);
}

std::int64_t columnwise_ld(const Problem& problem, std::int64_t rows) {
  return problem.layout == Layout::uniform ? problem.n : round_up(rows, kBlock) + kBlock * problem.g;
}

// Scales of `unit` rows x 1 columns or of rows x `unit` columns as 128 x 4 tiles, with the per-group bases.
std::int64_t swizzled_bytes(const Problem& problem, bool columnwise, std::int64_t columns, std::int64_t rows) {
  if (columnwise) return round_up(columns, kBlock) * 4 * blocks_of_rows(problem, rows, kBlock);
  return blocks_of_rows(problem, rows, kBlock) * kBlock * round_up(ceil_div(columns, kMxBlock), 4);
}

std::int64_t rowwise_sf_bytes(const Problem& problem, const Recipe& recipe, std::int64_t columns, std::int64_t rows) {
  switch (recipe.scale_layout) {
    case ScaleLayout::mn_major: {
      const std::int64_t slabs = problem.layout == Layout::masked ? problem.g : 1;
      return 4 * slabs * ceil_div(columns, kBlock) * mn_major_rows(problem, rows);
    }
    case ScaleLayout::k_major:
      return 4 * rows * ceil_div(columns, kBlock);
    case ScaleLayout::per_row:
      return 4 * round_up(rows, 4);
    case ScaleLayout::mx_compact:
      return rows * round_up(ceil_div(columns, kMxBlock), 4);
    case ScaleLayout::swizzled:
      return swizzled_bytes(problem, false, columns, rows);
    case ScaleLayout::mx_32x32:
      return problem.g * ceil_div(problem.n, kMxBlock) * ceil_div(columns, kMxBlock);
    case ScaleLayout::per_group:
      return 4 * problem.g;
    case ScaleLayout::block2d:
    case ScaleLayout::block2d_t:
    case ScaleLayout::col_mn_major:
      return 4 * blocks_of_rows(problem, rows, kBlock) * ceil_div(columns, kBlock);
  }
  return 0;
}

std::int64_t columnwise_sf_bytes(const Problem& problem, const Recipe& recipe, std::int64_t columns,
                                 std::int64_t rows) {
  switch (columnwise_scale_layout(recipe.scale_layout)) {
    case ScaleLayout::col_mn_major:
      return 4 * blocks_of_rows(problem, rows, kBlock) * round_up(columns, 4);
    case ScaleLayout::per_row:
      return 4 * problem.g * columns;
    case ScaleLayout::mx_compact:
      return blocks_of_rows(problem, rows, kMxBlock) * round_up(columns, kBlock);
    case ScaleLayout::swizzled:
      return swizzled_bytes(problem, true, columns, rows);
    default:
      return rowwise_sf_bytes(problem, recipe, columns, rows);
  }
}

void require(bool given, const Problem& problem, const char* item) {
  if (given) return;
  throw Error(ErrorCode::invalid_problem, fmt::format("{}: no size without {}", problem.to_string(), item));
}

bool has_direction(const Problem& problem, bool columnwise) {
  return problem.dir == Direction::row_col || (problem.dir == Direction::col) == columnwise;
}

}  // namespace

bool is_gated(Activation activation) noexcept { return activation >= Activation::swiglu; }

ScaleLayout columnwise_scale_layout(ScaleLayout rowwise) noexcept {
  const bool per_row_of_blocks = rowwise == ScaleLayout::mn_major || rowwise == ScaleLayout::k_major;
  return per_row_of_blocks ? ScaleLayout::col_mn_major : rowwise;
}

namespace {

Problem tokens_producer(const Problem& gemm, std::int64_t columns, const std::optional<Recipe>& recipe) {
  Problem quantizer;
  quantizer.op = Operation::quantize;
  quantizer.layout = gemm.layout;
  quantizer.g = gemm.g;
  quantizer.m = gemm.m;
  quantizer.al = gemm.al;
  quantizer.c = columns;
  quantizer.in = DType::bf16;
  quantizer.out = recipe;
  quantizer.splits = gemm.splits;
  quantizer.dir = gemm.op == Operation::wgrad ? Direction::col : Direction::row;
  return quantizer;
}

}  // namespace

Problem a_producer(const Problem& gemm) {
  return tokens_producer(gemm, gemm.op == Operation::wgrad ? gemm.n : gemm.k, gemm.a);
}

Problem b_producer(const Problem& gemm) {
  if (gemm.op == Operation::wgrad) return tokens_producer(gemm, gemm.k, gemm.b);
  Problem quantizer;
  quantizer.op = Operation::quantize;
  quantizer.layout = Layout::uniform;
  quantizer.g = gemm.g;
  quantizer.dir = gemm.dir;
  quantizer.n = gemm.dir == Direction::col ? gemm.k : gemm.n;
  quantizer.k = gemm.dir == Direction::col ? gemm.n : gemm.k;
  quantizer.in = DType::bf16;
  quantizer.out = gemm.b;
  return quantizer;
}

std::int64_t buffer_rows(const Problem& problem, std::int64_t capacity) noexcept {
  if (problem.layout == Layout::uniform) return problem.g * problem.n;
  if (problem.layout == Layout::masked) return problem.g * problem.m;
  return capacity;
}

QuantizedBytes quantized_bytes(const Problem& problem, const Recipe& recipe, bool columnwise, std::int64_t columns,
                               std::int64_t capacity, Packing packing) {
  const std::int64_t rows = buffer_rows(problem, capacity);
  if (columnwise && packing != Packing::octet) {
    return {rows * columns, columnwise_sf_bytes(problem, recipe, columns, rows)};
  }
  if (!columnwise) return {rows * columns, rowwise_sf_bytes(problem, recipe, columns, rows)};
  const std::int64_t groups = problem.layout == Layout::uniform ? problem.g : 1;
  return {groups * columns * columnwise_ld(problem, rows), columnwise_sf_bytes(problem, recipe, columns, rows)};
}

QuantizeShape quantize_shape(const Problem& problem, std::int64_t capacity) {
  constexpr std::int64_t kMaxRows = (std::int64_t{1} << 31) - 1024;  // as a launch takes
  const bool fixed = problem.layout == Layout::uniform || problem.layout == Layout::masked;
  if (capacity < 0 || (!fixed && capacity > kMaxRows)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("capacity is {}; it counts rows, from 0 to {}", capacity, kMaxRows));
  }
  require(problem.g > 0, problem, "g");
  require(columns_of(problem) > 0, problem, problem.layout == Layout::uniform ? "k" : "c");
  require(problem.layout != Layout::uniform || problem.n > 0, problem, "n");
  require(problem.layout != Layout::masked || problem.m > 0, problem, "m");

  const bool grad = problem.has(Flag::grad);
  const std::int64_t columns = columns_of(problem), features = is_gated(problem.act) ? 2 * columns : columns;
  QuantizeShape shape;
  shape.rows = buffer_rows(problem, capacity);
  shape.in_columns = grad ? columns : features;
  shape.pre_columns = grad && problem.act != Activation::none ? features : 0;
  shape.out_columns = grad ? features : columns;
  const int in_size = problem.in ? size_bytes(*problem.in) : 0;
  shape.in_bytes = shape.rows * shape.in_columns * in_size;
  shape.pre_bytes = shape.rows * shape.pre_columns * in_size;
  if (problem.d) shape.d_bytes = shape.rows * shape.out_columns * size_bytes(*problem.d);
  if (const std::optional<Recipe>& recipe = problem.op == Operation::dequantize ? problem.a : problem.out) {
    if (has_direction(problem, false)) {
      shape.row = quantized_bytes(problem, *recipe, false, shape.out_columns, capacity);
    }
    if (has_direction(problem, true)) {
      shape.col = quantized_bytes(problem, *recipe, true, shape.out_columns, capacity, problem.to);
    }
  }
  if (problem.has(Flag::bias)) shape.bias_bytes = problem.g * features * in_size;
  if (problem.has(Flag::dbias)) shape.dbias_bytes = problem.g * features * 4;
  if (problem.has(Flag::probs)) shape.probs_bytes = shape.rows * 4;
  if (problem.has(Flag::amax)) shape.amax_bytes = problem.g * 4;
  shape.ld_col = columnwise_ld(problem, shape.rows);
  shape.ld_sf = mn_major_rows(problem, shape.rows);
  shape.row_blocks = blocks_of_rows(problem, shape.rows, kBlock);
  return shape;
}

}  // namespace octet
