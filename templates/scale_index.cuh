// Where the scale of an element lies, for every layout of docs/numerics.md, "Scale layouts". `r`: row in the tile, `c`:
// column of the tensor. Scales count in elements: f32, or bytes of E8M0.
#pragma once

#include "abi.h"
#include "tile_walk.cuh"

namespace octet {

#if OCTET_FROM_PER_GROUP
__device__ __forceinline__ i64 index_per_group(const Tile& tile, i32, i32, i64) { return tile.group; }
#endif
#if OCTET_FROM_PER_ROW
__device__ __forceinline__ i64 index_per_row(const Tile& tile, i32 r, i32 c, i64) {
#if OCTET_ROW
  return tile.row + r;
#endif
#if OCTET_COL
  return static_cast<i64>(tile.group) * kOutColumns + c;
#endif
}
#endif
#if OCTET_FROM_MN_MAJOR || OCTET_TO_MN_MAJOR
__device__ __forceinline__ i64 index_mn_major(const Tile& tile, i32 r, i32 c, i64 capacity) {
#if OCTET_MASKED
  constexpr i64 kLd = (config::kMaxM + 3) / 4 * 4;
  return (static_cast<i64>(tile.group) * kColumnTiles + c / 128) * kLd + tile.block_in_group * kTile + r;
#endif
#if !OCTET_MASKED
  return c / 128 * ((capacity + 3) / 4 * 4) + tile.row + r;
#endif
}
#endif
#if OCTET_FROM_K_MAJOR || OCTET_TO_K_MAJOR
__device__ __forceinline__ i64 index_k_major(const Tile& tile, i32 r, i32 c, i64) {
  return (tile.row + r) * kColumnTiles + c / 128;
}
#endif
#if OCTET_FROM_COL_MN_MAJOR || OCTET_TO_COL_MN_MAJOR
__device__ __forceinline__ i64 index_col_mn_major(const Tile& tile, i32, i32 c, i64) {
  return static_cast<i64>(tile.block) * kOutColumns + c;
}
#endif
#if OCTET_FROM_BLOCK2D || OCTET_TO_BLOCK2D || OCTET_FROM_BLOCK2D_T || OCTET_TO_BLOCK2D_T
__device__ __forceinline__ i64 index_of_block(const Tile& tile, i32 c, bool rows_first) {
#if OCTET_UNIFORM
  const i64 first = static_cast<i64>(tile.group) * kGroupBlocks * kColumnTiles;
  if (!rows_first) return first + static_cast<i64>(c / 128) * kGroupBlocks + tile.block_in_group;
  return first + static_cast<i64>(tile.block_in_group) * kColumnTiles + c / 128;
#endif
#if !OCTET_UNIFORM
  return static_cast<i64>(tile.block) * kColumnTiles + c / 128;
#endif
}
#if OCTET_ROW
constexpr bool kRowsFirst = true;
#endif
#if OCTET_COL
constexpr bool kRowsFirst = false;  // scales of the transposed weights
#endif
__device__ __forceinline__ i64 index_block2d(const Tile& tile, i32, i32 c, i64) {
  return index_of_block(tile, c, kRowsFirst);
}
__device__ __forceinline__ i64 index_block2d_t(const Tile& tile, i32, i32 c, i64) {
  return index_of_block(tile, c, !kRowsFirst);
}
#endif
#if OCTET_FROM_MX_COMPACT || OCTET_TO_MX_COMPACT
__device__ __forceinline__ i64 index_mx_compact(const Tile& tile, i32 r, i32 c, i64) {
#if OCTET_ROW
  return (tile.row + r) * 4 * kColumnTiles + c / 32;
#endif
#if OCTET_COL
  return static_cast<i64>(tile.sub_block + r / 32) * kColumnTiles * kTile + c;
#endif
}
#endif
#if OCTET_FROM_SWIZZLED || OCTET_TO_SWIZZLED
__device__ __forceinline__ i64 index_swizzled(const Tile& tile, i32 r, i32 c, i64) {
#if OCTET_ROW
  return (static_cast<i64>(tile.block) * kColumnTiles + c / 128) * 512 + r % 32 * 16 + r / 32 * 4 + c / 32 % 4;
#endif
#if OCTET_COL
  const i64 first_block = tile.block - tile.block_in_group;
  return static_cast<i64>(kColumnTiles) * kTile * 4 * first_block +
         (static_cast<i64>(c / 128) * tile.group_blocks + tile.block_in_group) * 512 + c % 32 * 16 + c % 128 / 32 * 4 +
         r / 32;
#endif
}
#endif
#if OCTET_FROM_MX_32X32
__device__ __forceinline__ i64 index_mx_32x32(const Tile& tile, i32 r, i32 c, i64) {
  constexpr i64 kRowBlocks = (config::kN + 31) / 32, kColumnBlocks = (kOutColumns + 31) / 32;
  const i64 row_block = tile.block_in_group * 4 + r / 32;
#if OCTET_ROW
  return (tile.group * kRowBlocks + row_block) * kColumnBlocks + c / 32;
#endif
#if OCTET_COL
  return (tile.group * kColumnBlocks + c / 32) * kRowBlocks + row_block;
#endif
}
#endif

// Of the source, and of a converter's target.
__device__ __forceinline__ i64 scale_index(const Tile& tile, i32 r, i32 c, i64 capacity) {
#if OCTET_FROM_PER_GROUP
  return index_per_group(tile, r, c, capacity);
#endif
#if OCTET_FROM_PER_ROW
  return index_per_row(tile, r, c, capacity);
#endif
#if OCTET_FROM_MN_MAJOR
  return index_mn_major(tile, r, c, capacity);
#endif
#if OCTET_FROM_K_MAJOR
  return index_k_major(tile, r, c, capacity);
#endif
#if OCTET_FROM_COL_MN_MAJOR
  return index_col_mn_major(tile, r, c, capacity);
#endif
#if OCTET_FROM_BLOCK2D
  return index_block2d(tile, r, c, capacity);
#endif
#if OCTET_FROM_BLOCK2D_T
  return index_block2d_t(tile, r, c, capacity);
#endif
#if OCTET_FROM_MX_COMPACT
  return index_mx_compact(tile, r, c, capacity);
#endif
#if OCTET_FROM_SWIZZLED
  return index_swizzled(tile, r, c, capacity);
#endif
#if OCTET_FROM_MX_32X32
  return index_mx_32x32(tile, r, c, capacity);
#endif
}
#if OCTET_CONVERTER
__device__ __forceinline__ i64 to_scale_index(const Tile& tile, i32 r, i32 c, i64 capacity) {
#if OCTET_TO_MN_MAJOR
  return index_mn_major(tile, r, c, capacity);
#endif
#if OCTET_TO_K_MAJOR
  return index_k_major(tile, r, c, capacity);
#endif
#if OCTET_TO_COL_MN_MAJOR
  return index_col_mn_major(tile, r, c, capacity);
#endif
#if OCTET_TO_BLOCK2D
  return index_block2d(tile, r, c, capacity);
#endif
#if OCTET_TO_BLOCK2D_T
  return index_block2d_t(tile, r, c, capacity);
#endif
#if OCTET_TO_MX_COMPACT
  return index_mx_compact(tile, r, c, capacity);
#endif
#if OCTET_TO_SWIZZLED
  return index_swizzled(tile, r, c, capacity);
#endif
}
#endif

}  // namespace octet
