// Takes the place of templates/ptx.cuh when a kernel runs in the emulator: the same wrappers, in plain C++. What the
// casts must give comes from the reference, whose casts are tested against other implementations.
#pragma once

#include "types.cuh"

namespace octet {

#if OCTET_IN_BF16 || OCTET_D_BF16
inline u32 pack_bf16(float low, float high) {
  return reference::to_bf16(low) | static_cast<u32>(reference::to_bf16(high)) << 16;
}
#endif
#if OCTET_IN_BF16
inline u32 larger_bf16(u32 a, u32 b) {
  const float x = __uint_as_float(a << 16), y = __uint_as_float(b << 16);
  if (x != x) return y != y ? 0x7fffu : b;
  return y != y || x > y ? a : b;
}
inline u32 max_bf16x2(u32 a, u32 b) {
  return larger_bf16(a & 0xffffu, b & 0xffffu) | larger_bf16(a >> 16, b >> 16) << 16;
}
#endif
#if OCTET_OUT_E4M3 || OCTET_OUT_E5M2
inline u32 pack_fp8(float a, float b, float c, float d) {
#if OCTET_OUT_E4M3
  constexpr DType kType = DType::e4m3;
#endif
#if OCTET_OUT_E5M2
  constexpr DType kType = DType::e5m2;
#endif
  return reference::to_fp8(a, kType) | static_cast<u32>(reference::to_fp8(b, kType)) << 8 |
         static_cast<u32>(reference::to_fp8(c, kType)) << 16 | static_cast<u32>(reference::to_fp8(d, kType)) << 24;
}
#endif
#if OCTET_DEQUANTIZE
// The kernel unpacks one byte at a time to fp16; here its f32 value goes through a word of the same width.
inline u32 unpack_fp8(u32 byte) {
#if OCTET_A_E4M3
  constexpr DType kType = DType::e4m3;
#endif
#if OCTET_A_E5M2
  constexpr DType kType = DType::e5m2;
#endif
  return __float_as_uint(reference::from_fp8(static_cast<u8>(byte), kType));
}
inline float low_fp16(u32 word) { return __uint_as_float(word); }
#endif
#if OCTET_CURRENT
inline u64 policy_evict_first() { return 0; }
inline u64 policy_evict_last() { return 0; }
inline uint4 load_16(const void* from, u64) {
  uint4 v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
inline void add_release(u32* counter, u32 value) { *counter += value; }
inline u32 load_acquire(const u32* counter) { return *static_cast<const volatile u32*>(counter); }
#endif
#if OCTET_QUANTIZE
inline float reciprocal_approx(float x) { return 1.0f / x; }
inline float exp2_approx(float x) { return std::exp2(x); }
#endif

}  // namespace octet
