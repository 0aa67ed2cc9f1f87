// What a backward pass quantizes: the gradient of the pre-activation, laid out as the pre-activation is.
//
// da = p dy f'(a) b and db = p dy f(a), rounded to the input's type; beside them sums of the unrounded values: of each
// column (dbias) and of dy times the activation along each row (dprobs).
#pragma once

#include "activation.cuh"
#include "source.cuh"
#include "tiles.cuh"

namespace octet {

// Incoming gradient, times the probability for da and db, and without it for dprobs.
struct Incoming {
  float scaled, plain;
};

__device__ __forceinline__ Eight load_dy(const abi::QuantizeParams& params, i64 row, i32 c) {
  return load_eight(static_cast<const Element*>(params.in) + row * kColumns + c);
}
__device__ __forceinline__ Incoming incoming(float dy, float probability) {
#if OCTET_PROBS
  return {dy * probability, dy};
#endif
#if !OCTET_PROBS
  return {dy, dy};
#endif
}

// Gate and up of column i with their bias.
#if OCTET_GATED
__device__ __forceinline__ Gradient gradient_of(const Pair8& pre, const Pair8& bias, i32 i) {
#if OCTET_BIAS
  return gradient(pre.gate(i) + bias.gate(i), pre.up(i) + bias.up(i));
#endif
#if !OCTET_BIAS
  return gradient(pre.gate(i), pre.up(i));
#endif
}
#endif
#if !OCTET_GATED
__device__ __forceinline__ Gradient gradient_of(const Eight& pre, const Eight& bias, i32 i) {
#if OCTET_BIAS
  return gradient(element(pre, i) + element(bias, i));
#endif
#if !OCTET_BIAS
  return gradient(element(pre, i));
#endif
}
#endif

#if OCTET_BOTH_HALVES
// Both gradients of eight columns of a row, first half and second half of the layout.
__device__ __forceinline__ void both_gradients(const Inputs& pre, const Inputs& bias, const Eight& dy,
                                               float probability, Eight& first, Eight& second, Sums (&sums)[2], i32 r) {
  float x[2][8];
#pragma unroll
  for (i32 i = 0; i < 8; ++i) {
    const Gradient g = gradient_of(pre, bias, i);
    const Incoming in = incoming(element(dy, i), probability);
#if OCTET_GATE_SECOND
    x[1][i] = in.scaled * g.da;
    x[0][i] = in.scaled * g.db;
#endif
#if !OCTET_GATE_SECOND
    x[0][i] = in.scaled * g.da;
    x[1][i] = in.scaled * g.db;
#endif
#if OCTET_DPROBS
    sums[0].rows[r] += in.plain * g.y;
#endif
#if OCTET_DBIAS
    sums[0].columns[i] += x[0][i];
    sums[1].columns[i] += x[1][i];
#endif
  }
  first = pack_eight(x[0]);
  second = pack_eight(x[1]);
}
#endif

#if !OCTET_BOTH_HALVES
// Columns o ... o + 7 of the gradient, which are of one half or take turns.
struct Slice {
#if OCTET_GATED
#if !OCTET_PAIRWISE
  bool second;  // half, or partner, of the layout
#endif
#endif
  i32 c;  // first column of dy

  __device__ __forceinline__ explicit Slice(i32 o) {
#if !OCTET_GATED
    c = o;
#endif
#if OCTET_PAIRWISE
    c = o / 2;
#endif
#if OCTET_GATED
#if !OCTET_PAIRWISE
#if OCTET_INTERLEAVED
    second = o / config::kInterleave % 2 != 0;
    c = o / (2 * config::kInterleave) * config::kInterleave + o % config::kInterleave;
#endif
#if !OCTET_INTERLEAVED
    second = o >= kColumns;
    c = second ? o - kColumns : o;
#endif
#endif
#endif
  }
};

#if OCTET_PAIRWISE
// Four gates and four ups alternate.
struct SliceInputs {
  Eight pre;
  Element dy[4];
};
__device__ __forceinline__ SliceInputs load_slice(const abi::QuantizeParams& params, i64 row, i32 o,
                                                  const Slice& slice) {
  SliceInputs in;
  in.pre = load_eight(static_cast<const Element*>(params.pre) + row * kFeatures + o);
#pragma unroll
  for (i32 i = 0; i < 4; ++i) in.dy[i] = static_cast<const Element*>(params.in)[row * kColumns + slice.c + i];
  return in;
}
__device__ __forceinline__ SliceInputs zero_slice() { return {zero_eight(), {}}; }
__device__ __forceinline__ Eight load_bias_slice(const abi::QuantizeParams& params, i32 group, i32 o, const Slice&) {
  return load_eight(static_cast<const Element*>(params.bias) + static_cast<i64>(group) * kFeatures + o);
}
__device__ __forceinline__ Eight zero_bias() { return zero_eight(); }
__device__ __forceinline__ Eight slice_gradient(const SliceInputs& in, const Eight& bias, const Slice&,
                                                float probability, Sums& sums, i32 r) {
#if OCTET_GATE_SECOND
  constexpr i32 kGate = 1;
#endif
#if !OCTET_GATE_SECOND
  constexpr i32 kGate = 0;
#endif
  float x[8];
#pragma unroll
  for (i32 i = 0; i < 4; ++i) {
    float a = element(in.pre, 2 * i + kGate), b = element(in.pre, 2 * i + 1 - kGate);
#if OCTET_BIAS
    a += element(bias, 2 * i + kGate);
    b += element(bias, 2 * i + 1 - kGate);
#endif
    const Gradient g = gradient(a, b);
    const Incoming dy = incoming(to_float(in.dy[i]), probability);
    x[2 * i + kGate] = dy.scaled * g.da;
    x[2 * i + 1 - kGate] = dy.scaled * g.db;
#if OCTET_DPROBS
    sums.rows[r] += dy.plain * g.y;
#endif
#if OCTET_DBIAS
    sums.columns[2 * i] += x[2 * i];
    sums.columns[2 * i + 1] += x[2 * i + 1];
#endif
  }
  return pack_eight(x);
}
#endif

#if !OCTET_PAIRWISE
struct SliceInputs {
  Inputs pre;
  Eight dy;
};
__device__ __forceinline__ SliceInputs load_slice(const abi::QuantizeParams& params, i64 row, i32, const Slice& slice) {
  return {load_pair(params.pre, row, slice.c), load_dy(params, row, slice.c)};
}
__device__ __forceinline__ SliceInputs zero_slice() { return {zero_inputs(), zero_eight()}; }
__device__ __forceinline__ Inputs load_bias_slice(const abi::QuantizeParams& params, i32 group, i32,
                                                  const Slice& slice) {
  return load_pair(params.bias, group, slice.c);
}
__device__ __forceinline__ Inputs zero_bias() { return zero_inputs(); }
__device__ __forceinline__ Eight slice_gradient(const SliceInputs& in, const Inputs& bias, const Slice& slice,
                                                float probability, Sums& sums, i32 r) {
  float x[8];
#pragma unroll
  for (i32 i = 0; i < 8; ++i) {
    const Gradient g = gradient_of(in.pre, bias, i);
    const Incoming dy = incoming(element(in.dy, i), probability);
#if !OCTET_GATED
    constexpr bool is_gate = true;
    x[i] = dy.scaled * g.da;
#endif
#if OCTET_GATED
#if OCTET_GATE_SECOND
    const bool is_gate = slice.second;
#endif
#if !OCTET_GATE_SECOND
    const bool is_gate = !slice.second;
#endif
    x[i] = dy.scaled * (is_gate ? g.da : g.db);
#endif
#if OCTET_DPROBS
    if (is_gate) sums.rows[r] += dy.plain * g.y;  // once for each column of dy
#endif
#if OCTET_DBIAS
    sums.columns[i] += x[i];
#endif
  }
  return pack_eight(x);
}
#endif
#endif

__device__ __forceinline__ float probability_of(const abi::QuantizeParams& params, i64 row) {
#if OCTET_PROBS
  return params.probs[row];
#endif
#if !OCTET_PROBS
  return 1.f;
#endif
}

#if OCTET_BOTH_HALVES
// Makes this thread's part of a tile of the first half, then that of the second, so that inputs are read once, and
// gives each to take(tile, x, sums).
template <typename Take>
__device__ __forceinline__ void make_tile(const abi::QuantizeParams& params, Tile tile, const TileThread& thread,
                                          const Take& take) {
  const i32 column = tile.column_tile * kTile + thread.column();
  const i64 row = tile.row + thread.row();
  const i32 rows = tile.rows - thread.row();
  Inputs pre[8];
  Eight dy[8];
#pragma unroll
  for (i32 r = 0; r < 8; ++r) {
    pre[r] = zero_inputs();
    dy[r] = zero_eight();
    if (r < rows) {
      pre[r] = load_pair(params.pre, row + r, column);
      dy[r] = load_dy(params, row + r, column);
    }
  }
  Inputs bias = zero_inputs();
#if OCTET_BIAS
  bias = load_pair(params.bias, tile.group, column);
#endif
  Eight x[2][8];
  Sums sums[2];
#pragma unroll
  for (i32 r = 0; r < 8; ++r) {
    x[0][r] = x[1][r] = zero_eight();
    if (r < rows) {
      both_gradients(pre[r], bias, dy[r], probability_of(params, row + r), x[0][r], x[1][r], sums, r);
    }
  }
  // One body for both, since it is long.
#pragma unroll 1
  for (i32 half = 0;; ++half) {
    take(tile, x[0], sums[0]);
    if (half == 1) break;
#pragma unroll
    for (i32 r = 0; r < 8; ++r) x[0][r] = x[1][r];
    sums[0] = sums[1];
    tile.column_tile += kWalkTiles;
  }
}
#endif

#if !OCTET_BOTH_HALVES
template <typename Take>
__device__ __forceinline__ void make_tile(const abi::QuantizeParams& params, const Tile& tile, const TileThread& thread,
                                          const Take& take) {
  const i32 column = tile.column_tile * kTile + thread.column();
  const bool inside = column_exists(column);
  const i64 row = tile.row + thread.row();
  const i32 rows = inside ? tile.rows - thread.row() : 0;
  const Slice slice(column);
  SliceInputs in[8];
#pragma unroll
  for (i32 r = 0; r < 8; ++r) {
    in[r] = zero_slice();
    if (r < rows) in[r] = load_slice(params, row + r, column, slice);
  }
  auto bias = zero_bias();
#if OCTET_BIAS
  if (inside) bias = load_bias_slice(params, tile.group, column, slice);
#endif
  Eight x[8];
  Sums sums;
#pragma unroll
  for (i32 r = 0; r < 8; ++r) {
    x[r] = zero_eight();
    if (r < rows) x[r] = slice_gradient(in[r], bias, slice, probability_of(params, row + r), sums, r);
  }
  take(tile, x, sums);
}
#endif

}  // namespace octet
