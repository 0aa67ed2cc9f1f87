// bf16 -> FP8 data and f32 scales, one block after another.
#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "octet/reference.h"
#include "runtime/reference/casts.h"
#include "runtime/reference/checks.h"

namespace octet::reference {
namespace {

// A rectangle of a row-major matrix.
struct Block {
  std::int64_t offset;  // of its first element
  std::int64_t rows, columns;
  std::int64_t ld;  // elements from one row to the next
};

// Largest |x|, NaN left out: bf16 magnitudes order as integers.
float block_amax(const std::uint16_t* in, const Block& block) {
  constexpr std::uint16_t infinity = 0x7F80;
  std::uint16_t largest = 0;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    for (std::int64_t c = 0; c < block.columns; ++c) {
      const auto magnitude = static_cast<std::uint16_t>(in[block.offset + r * block.ld + c] & 0x7FFF);
      if (magnitude <= infinity) largest = std::max(largest, magnitude);
    }
  }
  return from_bf16(largest);
}

void cast_block(const std::uint16_t* in, const Block& block, float q, DType type, std::uint8_t* data) {
  for (std::int64_t r = 0; r < block.rows; ++r) {
    for (std::int64_t c = 0; c < block.columns; ++c) {
      const std::int64_t i = block.offset + r * block.ld + c;
      data[i] = to_fp8(from_bf16(in[i]) * q, type);
    }
  }
}

// Writes the block's data and returns its SF.
float quantize_block(const QuantizeProblem& problem, const std::uint16_t* in, const Block& block, std::uint8_t* data) {
  const Scale scale = block_scale(block_amax(in, block), problem.out.type, problem.in, problem.out.power_of_two);
  cast_block(in, block, scale.q, problem.out.type, data);
  return scale.sf;
}

void check_input(const QuantizeProblem& problem) {
  check_positive("g", problem.groups);
  check_positive("columns", problem.columns);
  if (problem.in != DType::bf16)
    throw bad_argument(fmt::format("reference: in={}: quantize reads bf16; convert the input", to_string(problem.in)));
}

void check_rows(const QuantizeProblem& problem, const GroupExtents& groups, std::int64_t capacity) {
  check_input(problem);
  check_token_layout(problem.layout);
  check_recipe("out", problem.out, Granularity::block_1x128, ScaleLayout::mn_major);
  check_extents(groups, problem.groups, capacity);
}

// The slots that round mn_major's rows of scales up belong to no row: a finite value, so that a consumer may load them.
void fill_scale_padding(float* sf, std::int64_t blocks, std::int64_t capacity) {
  const std::int64_t ld = mn_major_ld(capacity);
  for (std::int64_t block = 0; block < blocks; ++block)
    std::fill(sf + block * ld + capacity, sf + (block + 1) * ld, 1.0f);
}

}  // namespace

void quantize_rows(const QuantizeProblem& problem, const std::uint16_t* in, const GroupExtents& groups,
                   std::int64_t capacity, std::uint8_t* data, float* sf) {
  check_rows(problem, groups, capacity);
  const std::int64_t blocks = ceil_div(problem.columns, kBlock), ld = mn_major_ld(capacity);
  const std::int64_t rows = total_rows(groups);
  if (rows > 0) check_pointer("in", in);
  if (rows > 0) check_pointer("data", data);
  if (rows > 0 || ld > capacity) check_pointer("sf", sf);

  for (std::size_t g = 0; g < groups.begin.size(); ++g) {
    for (std::int64_t row = groups.begin[g]; row < groups.end[g]; ++row) {
      for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t column = block * kBlock;
        const Block where{row * problem.columns + column, 1, std::min(kBlock, problem.columns - column),
                          problem.columns};
        sf[block * ld + row] = quantize_block(problem, in, where, data);
      }
    }
  }
  fill_scale_padding(sf, blocks, capacity);
}

void quantize_blocks(const QuantizeProblem& problem, const std::uint16_t* in, std::uint8_t* data, float* sf) {
  check_input(problem);
  check_positive("rows_per_group", problem.rows_per_group);
  if (problem.layout != Layout::uniform)
    throw bad_argument(
        fmt::format("reference: layout {}: 128x128 blocks are those of uniform groups", to_string(problem.layout)));
  check_recipe("out", problem.out, Granularity::block_128x128, ScaleLayout::block2d);
  check_pointer("in", in);
  check_pointer("data", data);
  check_pointer("sf", sf);

  const std::int64_t rows = problem.rows_per_group, columns = problem.columns;
  for (std::int64_t g = 0; g < problem.groups; ++g) {
    for (std::int64_t row = 0; row < rows; row += kBlock) {
      for (std::int64_t column = 0; column < columns; column += kBlock) {
        const Block where{(g * rows + row) * columns + column, std::min(kBlock, rows - row),
                          std::min(kBlock, columns - column), columns};
        *sf++ = quantize_block(problem, in, where, data);
      }
    }
  }
}

}  // namespace octet::reference
