// Elements of D and of the bias: bf16, fp16 or f32.
#pragma once

#include "ptx.cuh"

namespace octet {

#if OCTET_D_F32
constexpr i32 kElementBytes = 4;
#endif
#if !OCTET_D_F32
constexpr i32 kElementBytes = 2;
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
