// One element of D by scalar arithmetic, exact for every scale and every code: what the epilogue falls back to where a
// sum came out as NaN, be it data or what bf16 cannot hold.
#pragma once

#include "gemm_mx_shared.cuh"

namespace octet {

#if OCTET_BIAS || OCTET_ACC
// An element of D or of the bias.
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

// Where an element of D lies. `row`: of A as it lies. `column`: of B as it lies within the group.
__device__ __forceinline__ i64 index_of_d(const abi::MxGemmParams& params, const Tile& tile, i32 row, i32 column) {
#if OCTET_D_TURNED
  return (static_cast<i64>(tile.group) * config::kK + column) * params.d_stride + row;
#endif
#if !OCTET_D_TURNED
#if OCTET_WGRAD
  return (static_cast<i64>(tile.group) * config::kN + row) * params.d_stride + column;
#endif
#if !OCTET_WGRAD
  return static_cast<i64>(row) * params.d_stride + column;
#endif
#endif
}

// Sum over `pieces` of 16 elements along K.
template <typename Left, typename Right>
__device__ __forceinline__ float dot(const u8* left, const Left& left_sf, const u8* right, const Right& right_sf,
                                     i32 pieces) {
  float total = 0.f;
#pragma unroll 1
  for (i32 piece = 0; piece < pieces; ++piece) {
    const uint4 x = reinterpret_cast<const uint4*>(left)[piece], y = reinterpret_cast<const uint4*>(right)[piece];
    const u32 words[8] = {x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w};
    float sum = 0.f;
#pragma unroll
    for (i32 i = 0; i < 16; ++i) {
      sum += fp8_value<kLeftE5m2>(words[i / 4] >> i % 4 * 8) * fp8_value<kRightE5m2>(words[4 + i / 4] >> i % 4 * 8);
    }
    total += scaled(sum, left_sf.at(piece / 2), right_sf.at(piece / 2));
    if (total != total) break;
  }
  return total;
}

#if OCTET_SFA_SWIZZLED
#if !OCTET_WGRAD
// Scales of a token in a swizzled buffer, which are counted by group.
__device__ __forceinline__ TiledScales scales_of_token(const abi::MxGemmParams& params, const WalkTable& groups,
                                                       const Tile& tile, i32 token) {
  i32 first_block = 0, entry = 0;
  for (; groups.group[entry] != tile.group; ++entry) {
    first_block += (groups.row_end[entry] - groups.row_begin[entry] + 127) / 128;
  }
#if OCTET_MASKED
  first_block = tile.group * ((config::kMaxM + 127) / 128);
#endif
  return right_scales(params, first_block, token - groups.row_begin[entry]);
}
#endif
#endif

// D's element of `row` (a row of A as it lies) and `column` (a row of B within the group), before it is rounded.
__device__ __noinline__ float exact_element(const abi::MxGemmParams& params, const WalkTable& groups, const Tile& tile,
                                            i32 row, i32 column) {
#if OCTET_WGRAD
  const i64 k = static_cast<i64>(tile.first_block) * 128;
  const u8* left = params.b + column * params.b_stride + k;
  const auto right_sf = right_scales(params, extent_of(tile), row);
  const i32 pieces = tile.blocks * 8;
#endif
#if !OCTET_WGRAD
  constexpr i64 k = 0;
  const u8* left = params.b + (static_cast<i64>(tile.group) * config::kN + column) * params.b_stride;
#if OCTET_SFA_SWIZZLED
  const TiledScales right_sf = scales_of_token(params, groups, tile, row);
#endif
#if !OCTET_SFA_SWIZZLED
  const LinearScales right_sf = right_scales(params, row);
#endif
  constexpr i32 pieces = config::kK / 16;
#endif
  const u8* right = params.a + row * params.a_stride + k;
  float value = params.alpha * dot(left, left_scales(params, tile, column), right, right_sf, pieces);
#if OCTET_BIAS
  value += load_one(params.bias, static_cast<i64>(tile.group) * config::kN + column);
#endif
#if OCTET_ACC
  if (params.beta != 0.f) value += params.beta * load_one(params.d, index_of_d(params, tile, row, column));
#endif
  return value;
}

}  // namespace octet
