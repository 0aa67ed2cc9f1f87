// What a forward pass quantizes: eight neighbours of an output row, as elements of the input's type. Without activation
// and bias the input itself; else the activation's result, rounded to that type.
#pragma once

#include "abi.h"
#include "columns.cuh"
#include "elements.cuh"
#if OCTET_ACT
#include "activation.cuh"
#endif

namespace octet {

#if OCTET_GATED
// Where the eight inputs for output column c begin; those of the gate's partner are kPartner columns further. Columns
// of the two halves take turns in blocks of kInterleave (0: one half after the other).
#if OCTET_INTERLEAVED
constexpr i32 kPartner = config::kInterleave == 1 ? 8 : config::kInterleave;
__device__ __forceinline__ i32 input_column(i32 c) {
  return config::kInterleave == 1 ? 2 * c : c / config::kInterleave * 2 * config::kInterleave + c % config::kInterleave;
}
#endif
#if !OCTET_INTERLEAVED
constexpr i32 kPartner = kColumns;
__device__ __forceinline__ i32 input_column(i32 c) { return c; }
#endif

// Eight gates and eight ups.
struct Pair8 {
  Eight first, second;  // as they lie in memory

#if OCTET_PAIRWISE
  // Gate and up alternate: the sixteen neighbours i of first, then of second.
  __device__ __forceinline__ float at(i32 i) const { return i < 8 ? element(first, i) : element(second, i - 8); }
  __device__ __forceinline__ float half(i32 i, bool is_second) const { return at(2 * i + (is_second ? 1 : 0)); }
#endif
#if !OCTET_PAIRWISE
  __device__ __forceinline__ float half(i32 i, bool is_second) const {
    return is_second ? element(second, i) : element(first, i);
  }
#endif
#if OCTET_GATE_SECOND
  __device__ __forceinline__ float gate(i32 i) const { return half(i, true); }
  __device__ __forceinline__ float up(i32 i) const { return half(i, false); }
#endif
#if !OCTET_GATE_SECOND
  __device__ __forceinline__ float gate(i32 i) const { return half(i, false); }
  __device__ __forceinline__ float up(i32 i) const { return half(i, true); }
#endif
};
using Inputs = Pair8;
__device__ __forceinline__ Inputs load_pair(const void* from, i64 row, i32 c) {
  const Element* at = static_cast<const Element*>(from) + row * kFeatures + input_column(c);
  return {load_eight(at), load_eight(at + kPartner)};
}
__device__ __forceinline__ Inputs zero_inputs() { return {zero_eight(), zero_eight()}; }
#endif
#if !OCTET_GATED
using Inputs = Eight;
__device__ __forceinline__ Inputs load_pair(const void* from, i64 row, i32 c) {
  return load_eight(static_cast<const Element*>(from) + row * kFeatures + c);
}
__device__ __forceinline__ Inputs zero_inputs() { return zero_eight(); }
#endif

#if OCTET_FORWARD
__device__ __forceinline__ Inputs load_inputs(const abi::QuantizeParams& params, i64 row, i32 c) {
  return load_pair(params.in, row, c);
}

#if OCTET_COMPUTED
// The output of one row. `bias`: of its group and these columns; `probability`: of its row.
__device__ __forceinline__ Eight output_of(const Inputs& in, const Inputs& bias, float probability) {
  float y[8];
#pragma unroll
  for (i32 i = 0; i < 8; ++i) {
#if OCTET_GATED
    float a = in.gate(i), b = in.up(i);
#if OCTET_BIAS
    a += bias.gate(i);
    b += bias.up(i);
#endif
    y[i] = activation(a, b);
#endif
#if !OCTET_GATED
    float a = element(in, i);
#if OCTET_BIAS
    a += element(bias, i);
#endif
#if OCTET_ACT
    a = activation(a);
#endif
    y[i] = a;
#endif
#if OCTET_PROBS
    y[i] *= probability;
#endif
  }
  return pack_eight(y);
}
#endif
#endif

}  // namespace octet
