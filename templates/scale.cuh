// Scales of a block from its largest magnitude, and the quantization of eight elements. Exact: docs/numerics.md.
#pragma once

#include "ptx.cuh"

namespace octet {

constexpr u32 kMagnitudes = 0x7fff7fffu;  // both halves of a bf16 pair without their signs
constexpr float kFp8Max = 448.f;          // e4m3
constexpr u32 kBf16Max = 0x7f7f0000u;     // largest finite bf16, as f32 bits

__device__ __forceinline__ float low_bf16(u32 pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float high_bf16(u32 pair) { return __uint_as_float(pair & 0xffff0000u); }

struct Scale {
  float q;   // data = cast(x * q)
  float sf;  // value = data * sf
};

// Correctly rounded q = 448 / amax and sf = 1 / q for any amax, by IEEE division.
__device__ __noinline__ Scale scale_of_any(float amax) {
  if (!(amax > 0.f) || amax == __uint_as_float(0x7f800000u)) return {1.f, 1.f};  // zero, infinite, or nothing but NaN
  float q = __fdiv_rn(kFp8Max, amax);
  if (q == __uint_as_float(0x7f800000u)) q = __uint_as_float(kBf16Max);
  return {q, __frcp_rn(q)};
}

// The same by approximate reciprocals, Newton steps and a residual: equal to IEEE division for every bf16 amax in the
// range below (tests/gpu checks all of them), at a third of the instructions.
__device__ __forceinline__ Scale scale_of(float amax) {
  if (!(amax > 1e-30f && amax < 1e30f)) return scale_of_any(amax);
  float inverse = reciprocal_approx(amax);
  inverse = fmaf(fmaf(-amax, inverse, 1.f), inverse, inverse);
  const float estimate = kFp8Max * inverse;
  const float q = fmaf(fmaf(-estimate, amax, kFp8Max), inverse, estimate);
  float sf = reciprocal_approx(q);
  sf = fmaf(fmaf(-q, sf, 1.f), sf, sf);
  return {q, fmaf(fmaf(-q, sf, 1.f), sf, sf)};
}

// Largest magnitude of eight bf16, one for each parity of the index; NaN elements lose against numbers.
__device__ __forceinline__ u32 max_magnitude(const uint4& x) {
  return max_bf16x2(max_bf16x2(x.x & kMagnitudes, x.y & kMagnitudes), max_bf16x2(x.z & kMagnitudes, x.w & kMagnitudes));
}

// Eight bf16 to eight FP8 bytes.
__device__ __forceinline__ uint2 quantize(const uint4& x, float q) {
  return make_uint2(pack_e4m3(low_bf16(x.x) * q, high_bf16(x.x) * q, low_bf16(x.y) * q, high_bf16(x.y) * q),
                    pack_e4m3(low_bf16(x.z) * q, high_bf16(x.z) * q, low_bf16(x.w) * q, high_bf16(x.w) * q));
}

}  // namespace octet
