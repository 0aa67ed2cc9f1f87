// From sums to D where the matrix instruction's rows are weights: D's rows are its columns, so tiles are turned on the
// way.
#pragma once

#include "gemm_output.cuh"

namespace octet {

// Turns the sums of 64 weights x kTokens tokens into what D is to hold. `row`: the first weight, among the tile's.
__device__ __forceinline__ void finish(const abi::GemmParams& params, const MathThread& thread, const Tile& tile,
                                       i32 row, float (&sum)[kTokenRegisters]) {
#if OCTET_ROW_SCALES || OCTET_BIAS || OCTET_ACC
  const i32 n = tile.column + row + thread.row;  // of this thread's two weights; the other one is 8 below
#endif
  float factor0 = params.alpha, factor1 = params.alpha;
#if OCTET_GROUP_SCALES
  const float group_scale = __ldg(params.sfa + tile.group) * *scales_of_weights(params, tile);
  factor0 *= group_scale;
  factor1 *= group_scale;
#endif
#if OCTET_ROW_SCALES
  const float* weight_scales = scales_of_weights(params, tile) + n;
  factor0 *= n < config::kN ? __ldg(weight_scales) : 0.f;
  factor1 *= n + 8 < config::kN ? __ldg(weight_scales + 8) : 0.f;
#endif
#if OCTET_BIAS
  const i64 bias_at = static_cast<i64>(tile.group) * config::kN + n;
  const float bias0 = n < config::kN ? load_one(params.bias, bias_at) : 0.f;
  const float bias1 = n + 8 < config::kN ? load_one(params.bias, bias_at + 8) : 0.f;
#endif
#pragma unroll
  for (i32 i = 0; i < kTokenRegisters; ++i) {
    const bool below = i % 4 / 2 == 1;
    float value = sum[i] * (below ? factor1 : factor0);
#if OCTET_ROW_SCALES || OCTET_ACC
    const i32 token = i / 4 * 8 + thread.lane % 4 * 2 + i % 2;
    const bool has = token < tile.rows && n + (below ? 8 : 0) < config::kN;
#endif
#if OCTET_ROW_SCALES
    value *= has ? __ldg(params.sfa + tile.row + token) : 0.f;
#endif
#if OCTET_BIAS
    value += below ? bias1 : bias0;
#endif
#if OCTET_ACC
    if (has && params.beta != 0.f) {
      value += params.beta * load_one(params.d_data, row_of_d(params, tile, tile.row + token) + n + (below ? 8 : 0));
    }
#endif
    sum[i] = value;
  }
}

#if OCTET_D_F32
// Eight neighbouring weights of a token are 32 bytes, a whole sector, as they lie in a warp.
__device__ __forceinline__ void store_slab(const abi::GemmParams& params, const MathThread& thread, const Tile& tile,
                                           i32 row, const float (&sum)[kTokenRegisters]) {
  const i32 n = tile.column + row + thread.row;
  float* d = static_cast<float*>(params.d_data);
#pragma unroll
  for (i32 i = 0; i < kTokenRegisters; ++i) {
    const i32 token = i / 4 * 8 + thread.lane % 4 * 2 + i % 2, weight = n + i % 4 / 2 * 8;
    if (token < tile.rows && weight < config::kN) d[row_of_d(params, tile, tile.row + token) + weight] = sum[i];
  }
}
#endif
#if !OCTET_D_F32
// Turned by stmatrix: a token's 64 weights are 128 bytes of shared memory. The whole warpgroup.
__device__ __forceinline__ void store_slab(const abi::GemmParams& params, u32 buffer, const MathThread& thread,
                                           const Tile& tile, i32 row, const float (&sum)[kTokenRegisters]) {
  const i32 barrier = 1 + thread.warpgroup;
  named_barrier(barrier, 128);  // the buffer may still be read
  const i32 piece = thread.warp % 4 * 2 + thread.lane / 8 % 2;
#pragma unroll
  for (i32 pair = 0; pair < kTokens / 16; ++pair) {
    const float* v = &sum[pair * 8];
    const i32 token = pair * 16 + thread.lane / 16 * 8 + thread.lane % 8;
    stmatrix_x4_turned(buffer + token * 128 + (piece ^ (token % 8)) * 16, pack_two(v[0], v[1]), pack_two(v[2], v[3]),
                       pack_two(v[4], v[5]), pack_two(v[6], v[7]));
  }
  named_barrier(barrier, 128);
#pragma unroll
  for (i32 i = 0; i < kTokens * 8 / 128; ++i) {
    const i32 index = i * 128 + threadIdx.x % 128;
    const i32 token = index / 8, c = index % 8, n = tile.column + row + c * 8;
    // N is a multiple of 8, so a piece is all in or all out.
    if (token < min(tile.rows, kTokens) && n < config::kN) {
      store_16(params.d_data, row_of_d(params, tile, tile.row + token) + n,
               shared_load_16(buffer + token * 128 + (c ^ (token % 8)) * 16));
    }
  }
}
#endif

// Stores what this warpgroup holds: all tokens of the tile by its weights.
__device__ __forceinline__ void store_tile(const abi::GemmParams& params, SharedStorage& shared,
                                           const MathThread& thread, const Tile& tile, const Share& share,
                                           float (&sum)[kSlabs * kSteps][kTokenRegisters]) {
  static_assert(kSteps == 1, "a tile's tokens are the columns of one matrix instruction");
#pragma unroll
  for (i32 slab = 0; slab < kSlabs; ++slab) {
    if (slab >= share.slabs) break;
    const i32 row = share.row + slab * kSlabStride;
    finish(params, thread, tile, row, sum[slab]);
#if OCTET_D_F32
    store_slab(params, thread, tile, row, sum[slab]);
#endif
#if !OCTET_D_F32
    store_slab(params, shared_address(shared.staging[thread.warpgroup]), thread, tile, row, sum[slab]);
#endif
  }
}

}  // namespace octet
