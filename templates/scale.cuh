// Scales from largest magnitudes, and the casts to FP8. Exact: docs/numerics.md.
#pragma once

#include "elements.cuh"

namespace octet {

#if OCTET_OUT_E4M3
constexpr float kFp8Max = 448.f;
constexpr u32 kFp8MaxInverse = 0x3b124925u;  // f32(1 / 448)
#endif
#if OCTET_OUT_E5M2
constexpr float kFp8Max = 57344.f;
constexpr u32 kFp8MaxInverse = 0x37924925u;  // f32(1 / 57344)
#endif
constexpr u32 kInfinity = 0x7f800000u;

#if OCTET_F32_SCALES
struct Scale {
  float q;   // data = cast(x * q)
  float sf;  // value = data * sf
};

// Where fp8_max / amax overflows.
#if OCTET_SCALE_TENSOR
constexpr u32 kLargestScale = 0x7f7fffffu;
#endif
#if !OCTET_SCALE_TENSOR
constexpr u32 kLargestScale = kLargestInput;  // so that q can be held in the input's type
#endif

// Correctly rounded q = fp8_max / amax and sf = 1 / q for any amax, by IEEE division.
__device__ __noinline__ Scale scale_of_any(float amax) {
  if (!(amax > 0.f) || amax == __uint_as_float(kInfinity)) return {1.f, 1.f};  // zero, infinite, or nothing but NaN
  float q = __fdiv_rn(kFp8Max, amax);
  if (q == __uint_as_float(kInfinity)) q = __uint_as_float(kLargestScale);
#if OCTET_POW2
  q = __uint_as_float(__float_as_uint(q) & 0xff800000u);
#endif
  return {q, __frcp_rn(q)};
}

// The same by approximate reciprocals, Newton steps and a residual, at a third of the instructions: equal to IEEE
// division for every amax in the range below whose q is not just under a power of two, if the approximation is within
// one ulp (tests/gpu checks every bf16 amax). For those q the reciprocal is a tie that the residual cannot see.
__device__ __forceinline__ Scale scale_of(float amax) {
  if (!(amax > 1e-30f && amax < 1e30f)) return scale_of_any(amax);
  float inverse = reciprocal_approx(amax);
  inverse = fmaf(fmaf(-amax, inverse, 1.f), inverse, inverse);
  const float estimate = kFp8Max * inverse;
#if !OCTET_POW2
  const float q = fmaf(fmaf(-estimate, amax, kFp8Max), inverse, estimate);
  if ((__float_as_uint(q) & 0x007fffffu) == 0x007fffffu) return scale_of_any(amax);
  float sf = reciprocal_approx(q);
  sf = fmaf(fmaf(-q, sf, 1.f), sf, sf);
  return {q, fmaf(fmaf(-q, sf, 1.f), sf, sf)};
#endif
#if OCTET_POW2
  // Of a power of two the reciprocal is exact, and in this range normal.
  const u32 q = __float_as_uint(fmaf(fmaf(-estimate, amax, kFp8Max), inverse, estimate)) & 0xff800000u;
  return {__uint_as_float(q), __uint_as_float((254u << 23) - q)};
#endif
}
#endif

#if OCTET_E8M0
// The biased exponent of amax / fp8_max, rounded up to a power of two. In software: ptxas refuses cvt.rp.ue8m0 on
// sm_90.
__device__ __forceinline__ u32 e8m0_of(float amax) {
  const u32 bits = __float_as_uint(amax * __uint_as_float(kFp8MaxInverse));
  if (bits <= 0x00400000u) return 0;  // 2^-127 and below
  return min((bits + 0x007fffffu) >> 23, 254u);
}
// 2^(127 - byte), which the cast multiplies by.
__device__ __forceinline__ float e8m0_multiplier(u32 byte) {
  return __uint_as_float(byte == 254 ? 0x00400000u : (254u - byte) << 23);
}
#endif

#if OCTET_QUANTIZED
// Eight neighbours of a row to eight bytes.
__device__ __forceinline__ uint2 quantize_row(const Eight& x, float q) {
  return make_uint2(pack_fp8(element(x, 0) * q, element(x, 1) * q, element(x, 2) * q, element(x, 3) * q),
                    pack_fp8(element(x, 4) * q, element(x, 5) * q, element(x, 6) * q, element(x, 7) * q));
}
#endif
#if OCTET_COL
// Column `c` of eight rows to eight bytes.
__device__ __forceinline__ uint2 quantize_column(const Eight (&x)[8], i32 c, float q) {
  return make_uint2(pack_fp8(element(x[0], c) * q, element(x[1], c) * q, element(x[2], c) * q, element(x[3], c) * q),
                    pack_fp8(element(x[4], c) * q, element(x[5], c) * q, element(x[6], c) * q, element(x[7], c) * q));
}
#endif

}  // namespace octet
