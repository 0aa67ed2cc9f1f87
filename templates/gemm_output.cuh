// Elements of D and of the bias: bf16, fp16 or f32.
#pragma once

#include "gemm_shared.cuh"

namespace octet {

// Where row `row` of D begins, in elements: a row of the buffer, or of the group for wgrad.
__device__ __forceinline__ i64 row_of_d(const abi::GemmParams& params, const Tile& tile, i32 row) {
#if OCTET_WGRAD
#if OCTET_D_POINTERS
  return static_cast<i64>(row) * params.d_stride;
#endif
#if !OCTET_D_POINTERS
  return (static_cast<i64>(tile.group) * config::kN + row) * params.d_stride;
#endif
#endif
#if !OCTET_WGRAD
  return static_cast<i64>(row) * params.d_stride;
#endif
}

#if OCTET_SCALED_OUTPUT
// Scales of B of a group: one, or one for each row of B.
__device__ __forceinline__ const float* scales_of_weights(const abi::GemmParams& params, const Tile& tile) {
#if OCTET_SFB_POINTERS
  return params.sfb_pointers[tile.group];
#endif
#if !OCTET_SFB_POINTERS
#if OCTET_GROUP_SCALES
  return params.sfb + tile.group;
#endif
#if OCTET_ROW_SCALES
  return params.sfb + static_cast<i64>(tile.group) * kOutputColumns;
#endif
#endif
}
#endif

#if OCTET_ACC
// What row_of_d counts from.
__device__ __forceinline__ const void* data_of_d(const abi::GemmParams& params, const Tile& tile) {
#if OCTET_D_POINTERS
  return params.d_pointers[tile.group];
#endif
#if !OCTET_D_POINTERS
  return params.d_data;
#endif
}
#endif

#if !OCTET_D_F32
// Two f32 to two elements, nearest even; `low` in the low half.
__device__ __forceinline__ u32 pack_two(float low, float high) {
#if OCTET_D_BF16
  return pack_bf16(low, high);
#endif
#if OCTET_D_FP16
  return pack_fp16(low, high);
#endif
}
#endif

__device__ __forceinline__ void store_16(void* to, i64 index, const uint4& value) {
  *reinterpret_cast<uint4*>(static_cast<u8*>(to) + index * kElementBytes) = value;
}

#if OCTET_BIAS || OCTET_ACC
#if OCTET_SWAPPED
__device__ __forceinline__ float load_one(const void* from, i64 index) {
#if OCTET_D_F32
  return static_cast<const float*>(from)[index];
#endif
#if OCTET_D_BF16
  return __uint_as_float(static_cast<u32>(static_cast<const u16*>(from)[index]) << 16);
#endif
#if OCTET_D_FP16
  return low_fp16(static_cast<const u16*>(from)[index]);
#endif
}
#endif
#if !OCTET_SWAPPED
// Two neighbours, from an even index on.
__device__ __forceinline__ float2 load_two(const void* from, i64 index) {
#if OCTET_D_F32
  return *reinterpret_cast<const float2*>(static_cast<const float*>(from) + index);
#endif
#if !OCTET_D_F32
  const u32 pair = *reinterpret_cast<const u32*>(static_cast<const u16*>(from) + index);
#if OCTET_D_BF16
  return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u));
#endif
#if OCTET_D_FP16
  return make_float2(low_fp16(pair), low_fp16(pair >> 16));
#endif
#endif
}
#endif
#endif

}  // namespace octet
