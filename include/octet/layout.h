// How much memory the operands of a quantizer, an activation, a dequantizer or a converter take. All of it follows from
// the problem and the capacity: no size depends on the splits, which only the device knows. Index formulas:
// docs/numerics.md, "Scale layouts" and "Columnwise data".
#pragma once

#include <cstdint>

#include "octet/export.h"
#include "octet/problem.h"

namespace octet {

// Whether an activation has a gate and an up half: its pre-activation has twice the columns of its output.
OCTET_API bool is_gated(Activation activation) noexcept;

// Rows that the buffers of this problem hold: the caller's capacity, or what the layout fixes (masked: G*m, uniform:
// G*N).
OCTET_API std::int64_t buffer_rows(const Problem& problem, std::int64_t capacity) noexcept;

// Bytes of one quantized copy: data and scales. 0 where the problem does not ask for this direction.
struct OCTET_API QuantizedBytes {
  std::int64_t data = 0, sf = 0;
};

// Columns and bytes of everything that a launch on buffers of `rows` rows may be given. C is problem.c, or K of uniform
// groups. F ("features") is C, or 2C for the pre-activation of a gated activation.
struct OCTET_API QuantizeShape {
  std::int64_t rows = 0;         // of the buffers
  std::int64_t in_columns = 0;   // of `in`: F, but C with +grad (the gradient of the activation's output)
  std::int64_t pre_columns = 0;  // of `pre`, with +grad of an activation: F; else 0
  std::int64_t out_columns = 0;  // of what is written: C, but F with +grad
  std::int64_t in_bytes = 0, pre_bytes = 0;
  std::int64_t d_bytes = 0;      // unquantized output: activation and dequantize
  QuantizedBytes row, col;       // of `out`, for quantize and convert; of `a`, for dequantize
  std::int64_t bias_bytes = 0;   // [G][F] of the input's type
  std::int64_t dbias_bytes = 0;  // [G][F] f32
  std::int64_t probs_bytes = 0;  // [rows] f32; dprobs the same
  std::int64_t amax_bytes = 0;   // [G] f32
  std::int64_t ld_col = 0;       // row length of columnwise data: up(capacity, 128) + 128 G, or N of uniform
  std::int64_t ld_sf = 0;        // row length of mn_major scales: up(rows, 4), masked up(m, 4)
  std::int64_t row_blocks = 0;   // most blocks of 128 rows, counted per group: ceil(rows / 128) + G; exact for
                                 // masked and uniform
};
// Throws Error{invalid_problem} where an item that decides a size is missing, {invalid_argument} for a capacity out of
// [0, 2^31 - 1024].
OCTET_API QuantizeShape quantize_shape(const Problem& problem, std::int64_t capacity = 0);

// Bytes of one direction of a recipe over `columns` columns; of a converter's source: (problem, *problem.a,
// problem.dir == Direction::col, C, capacity, problem.from). Peers' columnwise data takes no padding: rows * columns
// bytes.
OCTET_API QuantizedBytes quantized_bytes(const Problem& problem, const Recipe& recipe, bool columnwise,
                                         std::int64_t columns, std::int64_t capacity = 0,
                                         Packing packing = Packing::octet);

// The quantizer whose output a GEMM's operand is: sizes, data and scales of A and B are those of its `out`, in its
// direction. gemm: A is what quantize.<layout> c=K dir=row writes, B what quantize.uniform [G, N, K] dir=row does, or
// with dir=col what quantize.uniform [G, K, N] dir=col does (weights quantized along the other axis, for dgrad). wgrad:
// A and B are what quantize.<layout> dir=col writes, c=N and c=K.
OCTET_API Problem a_producer(const Problem& gemm);
OCTET_API Problem b_producer(const Problem& gemm);

// The layout that a recipe's scales have in the columnwise direction: mn_major and k_major become col_mn_major, the
// others stay.
OCTET_API ScaleLayout columnwise_scale_layout(ScaleLayout rowwise) noexcept;

}  // namespace octet
