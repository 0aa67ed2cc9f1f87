// What 256 threads hold of a tile: eight rows of eight columns each, as elements of the input's type. Rows that belong
// to no group hold zeros.
#pragma once

#include "abi.h"
#include "source.cuh"
#include "tile_walk.cuh"

namespace octet {

// What one thread adds up over its eight rows and columns, before rounding.
struct Sums {
#if OCTET_DBIAS
  float columns[8] = {};
#endif
#if OCTET_DPROBS
  float rows[8] = {};
#endif
};

#if OCTET_GUESSED
// Has the tile's lines on their way to L2 while its group is looked for, as if every group were a multiple of 128 rows.
// Where groups are ragged they are lines of a tile that comes soon.
__device__ __forceinline__ void prefetch_guess(const abi::QuantizeParams& params) {
  constexpr i32 kLine = 128 / sizeof(Element), kLinesPerThread = kTile / kLine / 2;
  const i64 row = static_cast<i64>(blockIdx.x / kWalkTiles) * kTile + threadIdx.x / 2;
  const i32 column = blockIdx.x % kWalkTiles * kTile + threadIdx.x % 2 * (kTile / 2);
  if (row >= params.capacity) return;
#pragma unroll
  for (i32 i = 0; i < kLinesPerThread; ++i) {
    if (column_exists(column + i * kLine)) {
      prefetch_l2(static_cast<const Element*>(params.in) + row * kColumns + column + i * kLine);
    }
  }
}
#endif

#if OCTET_FORWARD
// Makes this thread's part of a tile and gives it to take(tile, x, sums).
template <typename Take>
__device__ __forceinline__ void make_tile(const abi::QuantizeParams& params, const Tile& tile, const TileThread& thread,
                                          const Take& take) {
  const i32 column = tile.column_tile * kTile + thread.column();
  const bool inside = column_exists(column);  // a multiple of 16, so eight columns are all in or all out
  const i64 row = tile.row + thread.row();
  const i32 rows = inside ? tile.rows - thread.row() : 0;
  Inputs in[8];
#pragma unroll
  for (i32 r = 0; r < 8; ++r) {
    in[r] = zero_inputs();
    if (r < rows) in[r] = load_inputs(params, row + r, column);
  }
  Eight x[8];
  Sums sums;
#if !OCTET_COMPUTED
#pragma unroll
  for (i32 r = 0; r < 8; ++r) x[r] = in[r];
#if OCTET_DBIAS
#pragma unroll
  for (i32 r = 0; r < 8; ++r)
#pragma unroll
    for (i32 c = 0; c < 8; ++c) sums.columns[c] += element(x[r], c);
#endif
#endif
#if OCTET_COMPUTED
  Inputs bias = zero_inputs();
#if OCTET_BIAS
  if (inside) bias = load_pair(params.bias, tile.group, column);
#endif
#pragma unroll
  for (i32 r = 0; r < 8; ++r) {
    float probability = 1.f;
#if OCTET_PROBS
    if (r < rows) probability = params.probs[row + r];
#endif
    x[r] = r < rows ? output_of(in[r], bias, probability) : zero_eight();
  }
#endif
  take(tile, x, sums);
}
#endif

}  // namespace octet
