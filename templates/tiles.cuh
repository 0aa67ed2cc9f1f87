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

// Asks L2 for 128 columns of the tile's rows. All 256 threads; half a row each.
__device__ __forceinline__ void prefetch_columns(const void* from, i32 columns, const Tile& tile, i32 column) {
  constexpr i32 kLine = 128 / sizeof(Element);
  const i32 row = threadIdx.x / 2, first = column + threadIdx.x % 2 * (kTile / 2);
  if (row >= tile.rows) return;
  const Element* at = static_cast<const Element*>(from) + (tile.row + row) * columns + first;
#pragma unroll
  for (i32 i = 0; i < kTile / 2; i += kLine) {
    if (first + i < columns) prefetch_l2(at + i);
  }
}
// What the tile reads of a pre-activation, or of an input that is quantized as it is.
__device__ __forceinline__ void prefetch_features(const void* from, const Tile& tile) {
  const i32 column = tile.column_tile * kTile;
#if OCTET_INTERLEAVED
  prefetch_columns(from, kFeatures, tile, 2 * column);
  prefetch_columns(from, kFeatures, tile, 2 * column + kTile);
#endif
#if !OCTET_INTERLEAVED
  prefetch_columns(from, kFeatures, tile, column);
#if OCTET_GATED
  prefetch_columns(from, kFeatures, tile, kColumns + column);
#endif
#endif
}

#if OCTET_FORWARD
// Makes this thread's part of a tile and gives it to take(tile, x, sums). `next`: the tile after it, or null.
template <typename Take>
__device__ __forceinline__ void make_tile(const abi::QuantizeParams& params, const Tile& tile, const Tile* next,
                                          const TileThread& thread, const Take& take) {
  const i32 column = tile.column_tile * kTile + thread.column();
  const bool inside = column < kOutColumns;  // a multiple of 16, so eight columns are all in or all out
  const i64 row = tile.row + thread.row();
  const i32 rows = inside ? tile.rows - thread.row() : 0;
  Inputs in[8];
#pragma unroll
  for (i32 r = 0; r < 8; ++r) {
    in[r] = zero_inputs();
    if (r < rows) in[r] = load_inputs(params, row + r, column);
  }
  if (next != nullptr) prefetch_features(params.in, *next);
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
