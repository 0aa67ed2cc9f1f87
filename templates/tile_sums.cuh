// Sums beside a gradient: partial ones of a tile, in a fixed order, for the last pass to add up.
#pragma once

#include "tile_store.cuh"

namespace octet {

#if OCTET_DBIAS
// Column sums of the tile's rows to dbias_partial. One or two barriers.
__device__ __forceinline__ void store_column_sums(const abi::QuantizeParams& params, TileStorage& shared,
                                                  const Tile& tile, const TileThread& thread, const float (&sums)[8]) {
#if OCTET_SUMS_APART
  float(&column_sums)[16][kTile] = shared.column_sums;
#endif
#if OCTET_COL
  // The transposed tile is written later, after another barrier.
  float(&column_sums)[16][kTile] = *reinterpret_cast<float(*)[16][kTile]>(shared.transposed);
#endif
  __syncthreads();  // what lies there from the previous tile has been read
#pragma unroll
  for (i32 c = 0; c < 8; ++c) column_sums[thread.row_group][thread.column() + c] = sums[c];
  __syncthreads();
  const i32 column = tile.column_tile * kTile + threadIdx.x;
  if (threadIdx.x >= kTile || column >= kOutColumns) return;
  float sum = 0.f;
#pragma unroll
  for (i32 group = 0; group < 16; ++group) sum += column_sums[group][threadIdx.x];
  params.dbias_partial[static_cast<i64>(tile.unit) * kOutColumns + column] = sum;
}
#endif

#if OCTET_DPROBS
// Row sums over the tile's columns to dprobs_partial.
__device__ __forceinline__ void store_row_sums(const abi::QuantizeParams& params, const Tile& tile,
                                               const TileThread& thread, float (&sums)[8]) {
  // Lanes halve the rows until each has one.
  constexpr i32 kLanes = 16 / kRowSums;
  i32 row = 0, count = 8;
#pragma unroll
  for (i32 width = kLanes / 2; width >= kLanes / 8; width /= 2) {
    const bool upper = thread.lane & width;
    count /= 2;
#pragma unroll
    for (i32 i = 0; i < 4; ++i) {
      if (i < count) {
        const float kept = upper ? sums[i + count] : sums[i], sent = upper ? sums[i] : sums[i + count];
        sums[i] = kept + __shfl_xor_sync(~0u, sent, width);
      }
    }
    if (upper) row += count;
  }
  float sum = sums[0];
  i32 part = tile.column_tile;
#if OCTET_SQUARE_WARPS
  part = part * kRowSums + thread.column_group / kLanes;
#endif
#if !OCTET_SQUARE_WARPS
  sum += __shfl_xor_sync(~0u, sum, 1);  // of the two lanes that are left
#endif
  row += thread.row();
  if (thread.lane % (kLanes / 8) == 0 && row < tile.rows) {
    params.dprobs_partial[part * params.capacity + tile.row + row] = sum;
  }
}
#endif

}  // namespace octet
