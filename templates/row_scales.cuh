// Scales along rows: a half-warp holds kRows rows of 128 columns, eight columns of each row in every lane, and finds
// one scale per row (1x128) or four (1x32).
#pragma once

#include "scale.cuh"

namespace octet {

#if OCTET_SCALE_1X128
// The largest magnitude of one row in each lane.
template <i32 kRows>
struct RowMaximum {
  float amax;
  i32 row;
  bool stores;  // one lane of each row

  __device__ __forceinline__ RowMaximum(const Eight (&x)[kRows], i32 lane) {
    constexpr i32 kCount = kRows / kPerMagnitude;
    Magnitude m[kCount];
#pragma unroll
    for (i32 i = 0; i < kCount; ++i) m[i] = row_magnitudes(x + i * kPerMagnitude);
    i32 first;
    halving_max<kCount, 16, 1>(m, lane, first);
    // What is left of the lanes that share a magnitude of two rows: half of them take each.
    const i32 second = kPerMagnitude == 1 ? 0 : (lane & 16 / kRows) != 0;
    row = first * kPerMagnitude + second;
    stores = lane % (16 / kRows) == 0;
    amax = magnitude_value(m[0], second);
  }
};

#if OCTET_OWN_ROW_SCALES
template <i32 kRows>
struct RowScales {
  Scale scale;  // of this lane's own row
  i32 row;
  bool stores;  // one lane of each row

  __device__ __forceinline__ RowScales(const Eight (&x)[kRows], i32 lane, float amax_floor) {
    const RowMaximum<kRows> maximum(x, lane);
    row = maximum.row;
    stores = maximum.stores;
    scale = scale_of(fmaxf(maximum.amax, amax_floor));
  }
  // A lane of the half-warp that holds row r.
  __device__ __forceinline__ static constexpr i32 lane_of(i32 r) { return r * (16 / kRows); }
  // What row r of `lane`'s elements are multiplied by. All lanes call it.
  __device__ __forceinline__ float q(i32 r, i32 lane) const {
    return __shfl_sync(~0u, scale.q, lane / 16 * 16 + lane_of(r));
  }
};
#endif
#endif

#if OCTET_SCALE_1X32
// The largest magnitudes of two rows of this lane's 32 columns.
template <i32 kRows>
struct RowMaxima {
  float even, odd;  // of rows `row` and row + 1
  i32 row;

  __device__ __forceinline__ RowMaxima(const Eight (&x)[kRows], i32 lane) {
    constexpr i32 kCount = kRows / kPerMagnitude, kKeep = 2 / kPerMagnitude;
    Magnitude m[kCount];
#pragma unroll
    for (i32 i = 0; i < kCount; ++i) m[i] = row_magnitudes(x + i * kPerMagnitude);
    i32 first;
    halving_max<kCount, 4, kKeep>(m, lane, first);
    row = first * kPerMagnitude;
    even = magnitude_value(m[0], 0);
    odd = magnitude_value(m[kKeep - 1], 1);
  }
};

#if OCTET_OWN_ROW_SCALES
template <i32 kRows>
struct RowScales {
  u32 bytes;  // of rows `row` (low) and row + 1 of this lane's 32 columns
  i32 row;
  float even_q, odd_q;  // what these rows are multiplied by

  __device__ __forceinline__ RowScales(const Eight (&x)[kRows], i32 lane, float) {
    const RowMaxima<kRows> maxima(x, lane);
    row = maxima.row;
    const u32 even = e8m0_of(maxima.even), odd = e8m0_of(maxima.odd);
    bytes = even | odd << 8;
    even_q = e8m0_multiplier(even);
    odd_q = e8m0_multiplier(odd);
  }
  __device__ __forceinline__ static constexpr i32 lane_of(i32 r) { return r / 2 * (8 / kRows); }
  __device__ __forceinline__ float q(i32 r, i32 lane) const {
    return __shfl_sync(~0u, r % 2 == 0 ? even_q : odd_q, lane / 4 * 4 + lane_of(r));
  }
#if OCTET_SQUARE_WARPS
  // The two scales of one row of 64 columns that eight lanes hold. Each lane has another row. All lanes call it.
  __device__ __forceinline__ u32 half_word_of_row(i32 lane, i32& own_row) const {
    const u32 other = __shfl_xor_sync(~0u, bytes, 4);
    own_row = row + (lane & 4 ? 1 : 0);
    return lane & 4 ? __byte_perm(other, bytes, 0x51) & 0xffff : __byte_perm(bytes, other, 0x40) & 0xffff;
  }
#endif
#if !OCTET_SQUARE_WARPS
  // The four scales of one row of 128 columns: of row `row` in the first and of row + 1 in the second quarter of the
  // half-warp; others do not store. All lanes call it.
  __device__ __forceinline__ u32 word_of_row(i32 lane, i32& own_row, bool& stores) const {
    const u32 near = __shfl_xor_sync(~0u, bytes, 4);
    const u32 two = lane & 4 ? near | bytes << 16 : bytes | near << 16;
    const u32 far = __shfl_xor_sync(~0u, two, 8);
    const u32 left = lane & 8 ? far : two, right = lane & 8 ? two : far;
    const i32 second = lane / 4 % 2;
    own_row = row + second;
    stores = lane % 16 < 8 && lane % (8 / kRows) == 0;
    return __byte_perm(left, right, second ? 0x7531 : 0x6420);
  }
#endif
};
#endif
#endif

}  // namespace octet
