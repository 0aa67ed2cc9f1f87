// Activations and their derivatives, in f32; docs/numerics.md, "Activations". A NaN stays one.
//
// f(a) * b of a gated activation, f(a) of the others, whose b is 1. Sigmoids come from exp2, so that a 16-bit result is
// rarely one unit off; f32 results use the full-precision functions.
#pragma once

#include "ptx.cuh"
#include "types.cuh"

namespace octet {

#if OCTET_USES_SIGMOID
__device__ __forceinline__ float sigmoid(float x) {
#if OCTET_IN_F32
  return __frcp_rn(1.f + expf(-x));
#endif
#if !OCTET_IN_F32
  return reciprocal_approx(1.f + exp2_approx(-1.442695041f * x));
#endif
}
#endif

// The part of an activation that depends on its gate: value and derivative.
struct Gate {
  float f, df;
};

#if OCTET_ACT_RELU || OCTET_ACT_REGLU
__device__ __forceinline__ Gate gate(float a) {
  const float nan_or_zero = a != a ? a : 0.f;
  return {a > 0.f ? a : nan_or_zero, a > 0.f ? 1.f : nan_or_zero};
}
#endif
#if OCTET_ACT_SRELU || OCTET_ACT_SREGLU
__device__ __forceinline__ Gate gate(float a) {
  const float nan_or_zero = a != a ? a : 0.f;
  return {a > 0.f ? a * a : nan_or_zero, a > 0.f ? 2.f * a : nan_or_zero};
}
#endif
#if OCTET_ACT_GELU || OCTET_ACT_GEGLU
// 0.5 + 0.5 tanh(u) is sigmoid(2u), without the cancellation.
__device__ __forceinline__ Gate gate(float a) {
  const float squared = a * a;
  const float s = sigmoid(2.f * a * (0.79788456f + 0.03567741f * squared));
  const float slope = s * (1.f - s);
  // Where the slope has vanished, a squared may have overflowed.
  const float bend =
      slope == 0.f && fabsf(a) <= 3e38f ? 0.f : 2.f * a * slope * (0.79788456f + 0.1070322243f * squared);
  return {a * s, bend + s};
}
#endif
#if OCTET_ACT_QGELU || OCTET_ACT_QGEGLU
__device__ __forceinline__ Gate gate(float a) {
  const float s = sigmoid(1.702f * a);
  return {a * s, s + 1.702f * (a * s * (1.f - s))};  // in this order nothing overflows
}
#endif
#if OCTET_ACT_SILU || OCTET_ACT_SWIGLU
__device__ __forceinline__ Gate gate(float a) {
  const float s = sigmoid(a);
  return {a * s, s + a * s * (1.f - s)};
}
#endif
#if OCTET_ACT_GLU
__device__ __forceinline__ Gate gate(float a) {
  const float s = sigmoid(a);
  return {s, s * (1.f - s)};
}
#endif
#if OCTET_ACT_CLAMPED_SWIGLU
constexpr float kLimit = 7.f, kAlpha = 1.702f, kOffset = 1.f;
__device__ __forceinline__ Gate gate(float a) {
  const float clamped = a > kLimit ? kLimit : a;
  const float s = sigmoid(kAlpha * clamped);
  return {clamped * s, a > kLimit ? 0.f : s + kAlpha * (a * s * (1.f - s))};
}
__device__ __forceinline__ float up(float b) { return (b > kLimit ? kLimit : b < -kLimit ? -kLimit : b) + kOffset; }
__device__ __forceinline__ float up_slope(float b) { return fabsf(b) > kLimit ? 0.f : b != b ? b : 1.f; }
#endif
#if OCTET_ACT_SITU_GLU
constexpr float kGateScale = 4.f, kUpScale = 25.f;
__device__ __forceinline__ Gate gate(float a) {
  const float t = tanhf(a / kGateScale), s = sigmoid(a);
  return {kGateScale * t * s, (1.f - t * t) * s + kGateScale * t * s * (1.f - s)};
}
__device__ __forceinline__ float up(float b) { return kUpScale * tanhf(b / kUpScale); }
__device__ __forceinline__ float up_slope(float b) {
  const float t = tanhf(b / kUpScale);
  return 1.f - t * t;
}
#endif
#if OCTET_PLAIN_UP
__device__ __forceinline__ float up(float b) { return b; }
#endif

#if OCTET_FORWARD
#if OCTET_GATED
__device__ __forceinline__ float activation(float a, float b) { return gate(a).f * up(b); }
#endif
#if !OCTET_GATED
__device__ __forceinline__ float activation(float a) { return gate(a).f; }
#endif
#endif

#if OCTET_GRAD
// The activation, and what a gradient of 1 becomes.
struct Gradient {
  float y, da;
#if OCTET_GATED
  float db;
#endif
};
#if OCTET_GATED
__device__ __forceinline__ Gradient gradient(float a, float b) {
  const Gate g = gate(a);
  const float u = up(b);
#if OCTET_PLAIN_UP
  return {g.f * u, g.df * u, g.f};
#endif
#if !OCTET_PLAIN_UP
  return {g.f * u, g.df * u, g.f * up_slope(b)};
#endif
}
#endif
#if !OCTET_GATED
__device__ __forceinline__ Gradient gradient(float a) {
  const Gate g = gate(a);
  return {g.f, g.df};
}
#endif
#endif

}  // namespace octet
