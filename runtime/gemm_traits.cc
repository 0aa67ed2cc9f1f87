#include "runtime/gemm_traits.h"

#include <algorithm>

#include "octet/layout.h"
#include "runtime/integers.h"

namespace octet {
namespace {

constexpr int kSlab = 64;       // rows of one matrix instruction
constexpr int kMostStep = 128;  // and its columns, at most
constexpr int kMostBoxRows = 256;

// A tile of tokens may start at any row, but a load only at a multiple of 16 bytes.
ScaleBoxes boxes_of(int rows, bool of_tokens) {
  if (of_tokens) rows += 4;
  if (rows <= kMostBoxRows) return {1, rows};
  // The second one's destination must be 128-byte aligned, so each has a multiple of 32 rows.
  return {2, static_cast<int>(round_up(ceil_div(rows, 2), 32))};
}

}  // namespace

GemmTraits::GemmTraits(const Problem& problem, const GemmConfig& config) {
  const Granularity a = problem.a->granularity, b = problem.b->granularity;
  wgrad = problem.op == Operation::wgrad;
  masked = problem.layout == Layout::masked;
  swapped = config.swapped;
  const bool a_vector = a == Granularity::block_1x128, b_vector = b == Granularity::block_1x128;
  token_vector = !wgrad && a_vector;
  weight_vector = !wgrad && b_vector;
  left_vector = swapped ? b_vector : a_vector;
  right_vector = swapped ? a_vector : b_vector;
  tile_scales = !wgrad && b == Granularity::block_128x128;
  streamed_scales = wgrad && b == Granularity::block_128x128;
  group_scales = a == Granularity::tensor;
  row_scales = a == Granularity::row;
  if (left_vector) left_boxes = boxes_of(config.block_m, token_vector && !swapped);
  if (right_vector) right_boxes = boxes_of(config.block_n, token_vector && swapped);
  step = std::min(kMostStep, config.block_n / std::max(config.warpgroups_n, 1));
  slabs = config.block_m / std::max(config.warpgroups_m, 1) / kSlab;
  steps = step == 0 ? 0 : config.block_n / std::max(config.warpgroups_n, 1) / step;
  if (tile_scales) tile_scale_rows = std::max(1, (swapped ? config.block_m : config.block_n) / 128);
  element_bytes = size_bytes(problem.d.value_or(DType::bf16));
  narrow_chunks = wgrad && problem.d == DType::f32 && !config.whole_tile_store;
  chunk_rows = swapped ? step : kSlab;
  chunk_width = narrow_chunks ? 64 : 128;
  d_columns = wgrad ? problem.k : problem.n;
  tile_rows = swapped ? config.block_n : config.block_m;
  tile_columns = swapped ? config.block_m : config.block_n;
}

InnerExtent inner_extent(const Problem& problem, std::int64_t capacity) {
  if (!is_wgrad(problem)) return {problem.k, ceil_div(problem.k, 128)};
  const QuantizeShape shape = quantize_shape(a_producer(problem), capacity);
  return {shape.ld_col, shape.row_blocks};
}

}  // namespace octet
