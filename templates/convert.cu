// Rearranges a quantized operand: its scales from one layout to another, its columnwise data from one packing to
// another. Data and scales are independent; either may be missing. What the target's layout pads is written.
//
// Packings of columnwise data: ours, [C, ld_col] or [G, K, N]; DeepGEMM's, a block [C, R_g] per group, end to end;
// TE's, [rows, C] not transposed. 256 threads take a tile of 128 x 128, eight rows of eight columns each.
#include "abi.h"
#include "fp8_patch.cuh"
#include "scale_index.cuh"

namespace octet {

#if OCTET_E8M0
using ScaleElement = u8;
constexpr ScaleElement kPadding = 0;
#endif
#if !OCTET_E8M0
using ScaleElement = float;
constexpr ScaleElement kPadding = 1.f;
#endif

__device__ __forceinline__ void convert_data(const abi::ConvertParams& params, const Tile& tile,
                                             const TileThread& thread) {
  const Bounds bounds = bounds_of(tile, thread);
  if (bounds.columns <= 0) return;
  const Patch rows = load_patch(params, tile, thread);
  u8* data = static_cast<u8*>(params.out_data);
#if OCTET_TO_ROWS
#pragma unroll
  for (i32 r = 0; r < 8; ++r) {
    if (r < bounds.rows) *reinterpret_cast<u64*>(data + row_offset(tile, thread, r)) = rows.rows[r];
  }
#endif
#if !OCTET_TO_ROWS
  const Patch columns = transposed(rows);
#pragma unroll
  for (i32 c = 0; c < 8; ++c) {
#if OCTET_TO_COLUMNS
#if OCTET_UNIFORM
    if (bounds.rows <= 0) break;  // N is a multiple of 16, and nothing is padded
#endif
    *reinterpret_cast<u64*>(data + column_offset(params, tile, thread, c)) = columns.rows[c];
#endif
#if OCTET_TO_DEEPGEMM
    for (i32 r = 0; r < min(bounds.rows, 8); ++r) {
      data[deepgemm_offset(tile, thread, r, c)] = static_cast<u8>(columns.rows[c] >> 8 * r);
    }
#endif
  }
#endif
}

// The scales of a tile: kSlotRows along the rows by kSlotColumns along the columns.
__device__ __forceinline__ void convert_scales(const abi::ConvertParams& params, const Tile& tile) {
  const ScaleElement* from = static_cast<const ScaleElement*>(params.sf);
  ScaleElement* to = static_cast<ScaleElement*>(params.out_sf);
  constexpr i32 kRowsEach = kTile / config::kSlotRows, kColumnsEach = kTile / config::kSlotColumns;
  for (i32 i = threadIdx.x; i < config::kSlotRows * config::kSlotColumns; i += config::kThreads) {
    const i32 r = i / config::kSlotColumns * kRowsEach;
    const i32 c = tile.column_tile * kTile + i % config::kSlotColumns * kColumnsEach;
    // Blocks that hold a row of the group have a scale.
    const bool real = c < kOutColumns && r < tile.rows;
    bool exists = real;
#if OCTET_TO_SWIZZLED
    exists = true;
#endif
#if OCTET_TO_MX_COMPACT
#if OCTET_ROW
    exists = r < tile.rows;
#endif
#if OCTET_COL
    exists = r < tile.extent_rows;
#endif
#endif
    if (!exists) continue;
    to[to_scale_index(tile, r, c, params.capacity)] = real ? from[scale_index(tile, r, c, params.capacity)] : kPadding;
  }
}

#if OCTET_TO_MN_MAJOR
// Scale slots between the rows and their multiple of four. One block.
__device__ __forceinline__ void fill_padding(const abi::ConvertParams& params) {
#if OCTET_MASKED
  const i64 slabs = static_cast<i64>(config::kGroups) * kColumnTiles, rows = config::kMaxM;
#endif
#if !OCTET_MASKED
  const i64 slabs = kColumnTiles, rows = params.capacity;
#endif
  const i64 ld = (rows + 3) / 4 * 4, padding = ld - rows;
  for (i64 i = threadIdx.x; i < padding * slabs; i += config::kThreads) {
    static_cast<float*>(params.out_sf)[i / padding * ld + rows + i % padding] = kPadding;
  }
}
#endif

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
#if OCTET_TO_MN_MAJOR
  if (blockIdx.x == 0 && params.out_sf != nullptr) fill_padding(params);
#endif
  for (Tile tile; walk.next(tile);) {
    if (params.out_data != nullptr) convert_data(params, tile, thread);
    if (params.out_sf != nullptr) convert_scales(params, tile);
  }
}
