// FP8 and scales, along rows or columns -> [rows, C] of value * SF, rounded from f32. Rows of no group are not written.
//
// 256 threads take a tile of 128 x 128, eight rows of eight columns each.
#include "abi.h"
#include "fp8_patch.cuh"
#include "ptx.cuh"
#include "scale_index.cuh"

namespace octet {

#if OCTET_E8M0
// 2^(byte - 127): 2^-127 for 0, NaN for 255.
__device__ __forceinline__ float scale_at(const abi::ConvertParams& params, i64 index) {
  const u32 byte = static_cast<const u8*>(params.sf)[index];
  return __uint_as_float(byte == 0 ? 0x00400000u : byte == 255 ? 0x7fffffffu : byte << 23);
}
#endif
#if !OCTET_E8M0
__device__ __forceinline__ float scale_at(const abi::ConvertParams& params, i64 index) {
  return static_cast<const float*>(params.sf)[index];
}
#endif

#if OCTET_D_F32
struct Result {
  float4 first, second;
};
__device__ __forceinline__ Result result_of(const float (&v)[8]) {
  return {make_float4(v[0], v[1], v[2], v[3]), make_float4(v[4], v[5], v[6], v[7])};
}
#endif
#if OCTET_D_BF16
using Result = uint4;
__device__ __forceinline__ Result result_of(const float (&v)[8]) {
  return make_uint4(pack_bf16(v[0], v[1]), pack_bf16(v[2], v[3]), pack_bf16(v[4], v[5]), pack_bf16(v[6], v[7]));
}
#endif
#if OCTET_D_FP16
using Result = uint4;
__device__ __forceinline__ Result result_of(const float (&v)[8]) {
  return make_uint4(pack_fp16(v[0], v[1]), pack_fp16(v[2], v[3]), pack_fp16(v[4], v[5]), pack_fp16(v[6], v[7]));
}
#endif

__device__ __forceinline__ void dequantize_tile(const abi::ConvertParams& params, const Tile& tile,
                                                const TileThread& thread) {
  const Bounds bounds = bounds_of(tile, thread);
  if (bounds.columns <= 0 || bounds.rows <= 0) return;
  const Patch patch = load_patch(params, tile, thread);
  const i32 first_column = tile.column_tile * kTile + thread.column();
  Result* d = reinterpret_cast<Result*>(params.d);
#pragma unroll
  for (i32 r = 0; r < 8; ++r) {
    if (r >= bounds.rows) break;
    float v[8];
#pragma unroll
    for (i32 c = 0; c < 8; ++c) {
      const u32 pair = unpack_fp8(static_cast<u32>(patch.rows[r] >> 8 * c & 255));
      v[c] = low_fp16(pair) * scale_at(params, scale_index(tile, thread.row() + r, first_column + c, params.capacity));
    }
    d[((tile.row + thread.row() + r) * kOutColumns + first_column) / 8] = result_of(v);
  }
}

}  // namespace octet

extern "C" __global__ void __launch_bounds__(octet::config::kThreads, octet::config::kBlocksPerSm)
    OCTET_ENTRY(const __grid_constant__ octet::abi::ConvertParams params) {
  using namespace octet;
#if OCTET_GROUP_TABLE
  __shared__ GroupTable groups;
  if (threadIdx.x < 32) build_group_table(groups, params.splits, params.capacity, threadIdx.x % 32, blocks_of_rows);
  __syncthreads();
  TileWalk walk(groups);
#endif
#if OCTET_UNIFORM
  TileWalk walk;
#endif
  const TileThread thread;
  for (Tile tile; walk.next(tile);) dequantize_tile(params, tile, thread);
}
