// Largest magnitudes of a tile that 256 threads hold: of all of it, or of each column.
#pragma once

#include "scale.cuh"
#include "tiles.cuh"

namespace octet {

#if OCTET_COLUMN_MAXIMA
constexpr i32 kMagnitudes128 = kTile / kPerMagnitude;
#endif

struct TileStorage {
#if OCTET_COL
  alignas(16) u8 transposed[kTile * kTile];
#endif
#if OCTET_COLUMN_SCALES
  alignas(16) float column_q[kTile];
#endif
#if OCTET_SHARED_ROW_SCALES
  float row_max[kTile];
  alignas(16) float row_q[kTile];
#endif
#if OCTET_SHARED_ROW_WORDS
  alignas(4) u16 row_halves[kTile][2];  // scales of each row's columns, 64 in one
#endif
#if OCTET_COLUMN_MAXIMA
  alignas(16) Magnitude column_max[8][kMagnitudes128];
#endif
#if OCTET_BLOCK_MAXIMA
  float warp_max[2][8];  // two, so that one barrier per tile is enough
#endif
#if OCTET_SCALE_32X32
  float sub_max[2][8][4];
#endif
#if OCTET_SUMS_APART
  alignas(16) float column_sums[16][kTile];
#endif
};

#if OCTET_COLUMN_MAXIMA || OCTET_SQUARE_WARPS
constexpr i32 kColumnMagnitudes = 8 / kPerMagnitude;  // of a thread's eight columns
__device__ __forceinline__ Magnitude column_magnitude(const Eight (&x)[8], i32 i) {
#if OCTET_IN_F32
  float largest = 0.f;
#pragma unroll
  for (i32 r = 0; r < 8; ++r) largest = fmaxf(largest, fabsf(element(x[r], i)));
  return largest;
#endif
#if !OCTET_IN_F32
  u32 largest = word(x[0], i) & kMagnitudes;
#pragma unroll
  for (i32 r = 1; r < 8; ++r) largest = larger(largest, word(x[r], i) & kMagnitudes);
  return largest;
#endif
}
#endif

#if OCTET_COLUMN_MAXIMA
// Leaves the largest magnitudes of every column over each warp's 16 rows in shared memory.
__device__ __forceinline__ void share_column_maxima(TileStorage& shared, const TileThread& thread,
                                                    const Eight (&x)[8]) {
  const bool upper = thread.lane & 16;
#pragma unroll
  for (i32 i = 0; i < kColumnMagnitudes / 2; ++i) {
    const Magnitude left = column_magnitude(x, i), right = column_magnitude(x, i + kColumnMagnitudes / 2);
    const Magnitude kept = upper ? right : left, sent = upper ? left : right;
    shared.column_max[thread.warp][thread.column_group * kColumnMagnitudes + (upper ? kColumnMagnitudes / 2 : 0) + i] =
        larger(kept, __shfl_xor_sync(~0u, sent, 16));
  }
}

#endif

#if OCTET_BLOCK_MAXIMA
__device__ __forceinline__ float tile_magnitude(const Eight (&x)[8]) {
  Magnitude largest = max_magnitude(x[0]);
#pragma unroll
  for (i32 r = 1; r < 8; ++r) largest = larger(largest, max_magnitude(x[r]));
  return amax_of(lanes_max<32>(largest));
}
// The largest magnitude of the tile, in every thread. One barrier.
__device__ __forceinline__ float block_amax(TileStorage& shared, const TileThread& thread, i32 parity,
                                            const Eight (&x)[8]) {
  const float own = tile_magnitude(x);
  if (thread.lane == 0) shared.warp_max[parity][thread.warp] = own;
  __syncthreads();
  float amax = 0.f;
#pragma unroll
  for (i32 w = 0; w < 8; ++w) amax = fmaxf(amax, shared.warp_max[parity][w]);
  return amax;
}
#endif

}  // namespace octet
