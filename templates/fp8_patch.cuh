// Eight rows by eight columns of FP8 of a thread's part of a tile, read from any packing.
#pragma once

#include "abi.h"
#include "tile_walk.cuh"

namespace octet {

// Byte 8 r + c of row r and column c.
struct Patch {
  u64 rows[8];
};

__device__ __forceinline__ u64 load_8(const u8* from) { return *reinterpret_cast<const u64*>(from); }

// Rows become columns and columns rows.
__device__ __forceinline__ Patch transposed(const Patch& patch) {
  Patch result;
#pragma unroll
  for (i32 c = 0; c < 8; ++c) {
    u64 column = 0;
#pragma unroll
    for (i32 r = 0; r < 8; ++r) column |= (patch.rows[r] >> 8 * c & 255) << 8 * r;
    result.rows[c] = column;
  }
  return result;
}

// The part of the tile that exists: rows and columns from the thread's first ones on.
struct Bounds {
  i32 rows, columns;
};
__device__ __forceinline__ Bounds bounds_of(const Tile& tile, const TileThread& thread) {
  const i32 columns = kOutColumns - tile.column_tile * kTile - thread.column();
  return {tile.rows - thread.row(), columns};
}

#if OCTET_FROM_ROWS || OCTET_TO_ROWS
__device__ __forceinline__ i64 row_offset(const Tile& tile, const TileThread& thread, i32 r) {
  return (tile.row + thread.row() + r) * kOutColumns + tile.column_tile * kTile + thread.column();
}
#endif
#if OCTET_FROM_COLUMNS || OCTET_TO_COLUMNS
__device__ __forceinline__ i64 column_offset(const abi::ConvertParams& params, const Tile& tile,
                                             const TileThread& thread, i32 c) {
  const i64 column = tile.column_tile * kTile + thread.column() + c;
#if OCTET_UNIFORM
  return (static_cast<i64>(tile.group) * kOutColumns + column) * config::kN + tile.block_in_group * kTile +
         thread.row();
#endif
#if !OCTET_UNIFORM
  return column * params.ld_col + static_cast<i64>(tile.block) * kTile + thread.row();
#endif
}
#endif
#if OCTET_DEEPGEMM
__device__ __forceinline__ i64 deepgemm_offset(const Tile& tile, const TileThread& thread, i32 r, i32 c) {
  const i64 column = tile.column_tile * kTile + thread.column() + c;
  return kOutColumns * tile.rows_before + column * tile.group_rows + tile.block_in_group * kTile + thread.row() + r;
}
#endif

// Rows and columns that do not exist are zero.
__device__ __forceinline__ Patch load_patch(const abi::ConvertParams& params, const Tile& tile,
                                            const TileThread& thread) {
  const u8* data = static_cast<const u8*>(params.data);
  const Bounds bounds = bounds_of(tile, thread);
  Patch patch;
#if OCTET_FROM_ROWS
#pragma unroll
  for (i32 r = 0; r < 8; ++r) {
    patch.rows[r] = r < bounds.rows && bounds.columns > 0 ? load_8(data + row_offset(tile, thread, r)) : 0;
  }
  return patch;
#endif
#if !OCTET_FROM_ROWS
#pragma unroll
  for (i32 c = 0; c < 8; ++c) {
    patch.rows[c] = 0;
#if OCTET_FROM_COLUMNS
    if (bounds.rows > 0 && c < bounds.columns) {
      // What lies between groups is somebody else's to fill; it counts as zero here.
      const u64 real = bounds.rows >= 8 ? ~u64{0} : (u64{1} << 8 * bounds.rows) - 1;
      patch.rows[c] = load_8(data + column_offset(params, tile, thread, c)) & real;
    }
#endif
#if OCTET_FROM_DEEPGEMM
    for (i32 r = 0; r < min(bounds.rows, 8); ++r) {
      if (c < bounds.columns) patch.rows[c] |= static_cast<u64>(data[deepgemm_offset(tile, thread, r, c)]) << 8 * r;
    }
#endif
  }
  return transposed(patch);
#endif
}

}  // namespace octet
