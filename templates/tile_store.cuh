// Quantizes a tile that 256 threads hold and stores it: along rows, along columns (transposed), or both.
#pragma once

#include "rest.cuh"
#include "row_scales.cuh"
#if OCTET_SQUARE_WARPS
#include "tile_columns32.cuh"
#endif
#include "tile_maxima.cuh"

namespace octet {

#if OCTET_F32_SCALES
// Blocks without rows have the scale of nothing, whatever the floor.
__device__ __forceinline__ float floor_of(const abi::QuantizeParams& params, const Tile& tile) {
  return tile.rows > 0 ? params.amax_floor : 0.f;
}
#endif

#if OCTET_ROW
#if OCTET_SCALE_1X32
// The four scales of a row of the tile.
__device__ __forceinline__ void store_row_word(const abi::QuantizeParams& params, const Tile& tile, i32 row, u32 word) {
  u32* sf = static_cast<u32*>(params.sf);
#if OCTET_SF_COMPACT
  if (row < tile.rows) sf[(tile.row + row) * kColumnTiles + tile.column_tile] = word;
#endif
#if OCTET_SF_SWIZZLED
  // The 128 x 4 scales of a tile lie together; rows that do not exist have zeros.
  sf[(static_cast<i64>(tile.block) * kColumnTiles + tile.column_tile) * 128 + row % 32 * 4 + row / 32] = word;
#endif
}
#endif
#endif

#if OCTET_COLUMN_SCALES
// The scale of a column, from what share_column_maxima left.
__device__ __forceinline__ void scale_column(const abi::QuantizeParams& params, TileStorage& shared, const Tile& tile,
                                             i32 column) {
  const i32 at = column / kPerMagnitude;
  Magnitude largest = shared.column_max[0][at];
#pragma unroll
  for (i32 w = 1; w < 8; ++w) largest = larger(largest, shared.column_max[w][at]);
  const Scale scale = scale_of(fmaxf(magnitude_value(largest, column % kPerMagnitude), floor_of(params, tile)));
  shared.column_q[column] = scale.q;
  const i32 out_column = tile.column_tile * kTile + column;
  if (column_exists(out_column)) {
    static_cast<float*>(params.sf_col)[static_cast<i64>(tile.block) * kOutColumns + out_column] = scale.sf;
  }
}

#if OCTET_SHARED_ROW_SCALES
// Leaves the largest magnitudes of a thread's rows in shared memory.
__device__ __forceinline__ void share_row_maxima(TileStorage& shared, const TileThread& thread, const Eight (&x)[8]) {
  const RowMaximum<8> maximum(x, thread.lane);
  if (maximum.stores) shared.row_max[thread.row() + maximum.row] = maximum.amax;
}
__device__ __forceinline__ void scale_row(const abi::QuantizeParams& params, TileStorage& shared, const Tile& tile,
                                          i32 row) {
  const Scale scale = scale_of(fmaxf(shared.row_max[row], params.amax_floor));
  shared.row_q[row] = scale.q;
  if (row < tile.rows) *row_scale_at(params, tile.row + row, tile.column_tile, kColumnTiles) = scale.sf;
}
#endif

// Scales of columns, and of rows where both share a barrier: a thread for each, so that each divides once.
__device__ __forceinline__ void scale_tile(const abi::QuantizeParams& params, TileStorage& shared, const Tile& tile) {
  if (threadIdx.x < kTile) {
    scale_column(params, shared, tile, threadIdx.x);
  } else {
#if OCTET_SHARED_ROW_SCALES
    scale_row(params, shared, tile, threadIdx.x - kTile);
#endif
  }
}
#endif

#if OCTET_SCALE_32X32
// The scale of this thread's 32 rows and 32 columns. One barrier.
__device__ __forceinline__ u32 sub_block_scale(TileStorage& shared, const TileThread& thread, i32 parity,
                                               const Eight (&x)[8]) {
  Magnitude largest = max_magnitude(x[0]);
#pragma unroll
  for (i32 r = 1; r < 8; ++r) largest = larger(largest, max_magnitude(x[r]));
  largest = lanes_max<4>(largest);
  largest = larger(largest, __shfl_xor_sync(~0u, largest, 16));
  if (thread.lane < 16 && thread.lane % 4 == 0) {
    shared.sub_max[parity][thread.warp][thread.lane / 4] = amax_of(largest);
  }
  __syncthreads();
  const i32 first = thread.warp / 2 * 2, quarter = thread.column_group / 4;
  return e8m0_of(fmaxf(shared.sub_max[parity][first][quarter], shared.sub_max[parity][first + 1][quarter]));
}
__device__ __forceinline__ void store_sub_block_scale(const abi::QuantizeParams& params, const Tile& tile,
                                                      const TileThread& thread, u32 byte) {
  constexpr i64 kRowBlocks = (config::kN + 31) / 32, kColumnBlocks = (kOutColumns + 31) / 32;
  const i64 row_block = tile.block_in_group * 4 + thread.warp / 2;
  const i64 column_block = tile.column_tile * 4 + thread.column_group / 4;
  if (thread.warp % 2 != 0 || thread.lane >= 16 || thread.lane % 4 != 0) return;
  if (row_block >= kRowBlocks || column_block >= kColumnBlocks) return;
#if OCTET_ROW
  static_cast<u8*>(params.sf)[(tile.group * kRowBlocks + row_block) * kColumnBlocks + column_block] =
      static_cast<u8>(byte);
#endif
#if OCTET_COL
  static_cast<u8*>(params.sf_col)[(tile.group * kColumnBlocks + column_block) * kRowBlocks + row_block] =
      static_cast<u8>(byte);
#endif
}
#endif

#if OCTET_SCALE_128X128
__device__ __forceinline__ void store_block_scale(const abi::QuantizeParams& params, const Tile& tile, float sf) {
  if (threadIdx.x != 0) return;
#if !OCTET_UNIFORM
  const i64 at = static_cast<i64>(tile.block) * kColumnTiles + tile.column_tile, at_col = at;
#endif
#if OCTET_UNIFORM
  const i64 first = static_cast<i64>(tile.group) * kGroupBlocks * kColumnTiles;
  const i64 by_row = first + static_cast<i64>(tile.block_in_group) * kColumnTiles + tile.column_tile;
  const i64 by_column = first + static_cast<i64>(tile.column_tile) * kGroupBlocks + tile.block_in_group;
#if OCTET_SF_BLOCK2D_T
  const i64 at = by_column, at_col = by_row;
#endif
#if !OCTET_SF_BLOCK2D_T
  const i64 at = by_row, at_col = by_column;
#endif
#endif
#if OCTET_ROW
  if (tile.rows > 0) static_cast<float*>(params.sf)[at] = sf;
#endif
#if OCTET_COL
  static_cast<float*>(params.sf_col)[at_col] = sf;
#endif
}
#endif

#if OCTET_ROW
#if OCTET_SHARED_ROW_WORDS
// A row's scales meet in shared memory, since two warps find them.
__device__ __forceinline__ void share_row_halves(TileStorage& shared, const TileThread& thread,
                                                 const RowScales<8>& scales) {
  i32 row;
  const u32 half = scales.half_word_of_row(thread.lane, row);
  shared.row_halves[thread.row() + row][thread.column_group / 8] = static_cast<u16>(half);
}
#endif
#if OCTET_OWN_ROW_SCALES
#if !OCTET_SHARED_ROW_WORDS
__device__ __forceinline__ void store_row_scales(const abi::QuantizeParams& params, const Tile& tile,
                                                 const TileThread& thread, const RowScales<8>& scales) {
#if OCTET_SCALE_1X128
  const i32 row = thread.row() + scales.row;
  if (scales.stores && row < tile.rows) {
    *row_scale_at(params, tile.row + row, tile.column_tile, kColumnTiles) = scales.scale.sf;
  }
#endif
#if OCTET_SCALE_1X32
  i32 row;
  bool stores;
  const u32 word = scales.word_of_row(thread.lane, row, stores);
  row += thread.row();
  if (stores) store_row_word(params, tile, row, word);
#endif
}
#endif
#endif
__device__ __forceinline__ void store_row(const abi::QuantizeParams& params, const Tile& tile, const TileThread& thread,
                                          i32 r, uint2 bytes) {
  const i32 column = tile.column_tile * kTile + thread.column(), row = thread.row() + r;
  if (!column_exists(column) || row >= tile.rows) return;
  *reinterpret_cast<uint2*>(static_cast<u8*>(params.data) + (tile.row + row) * kOutColumns + column) = bytes;
}
#endif

#if OCTET_COL
// Pieces of 8 bytes change places, in pairs, so that neither writing columns of eight rows nor reading rows of columns
// meets bank conflicts.
__device__ __forceinline__ i32 moved_piece(i32 row_group, i32 column_group) {
  return row_group ^ column_group * 2 % 16;
}
__device__ __forceinline__ void share_transposed(TileStorage& shared, const TileThread& thread, i32 c, uint2 bytes) {
  const i32 at = (thread.column() + c) * kTile + moved_piece(thread.row_group, thread.column_group) * 8;
  *reinterpret_cast<uint2*>(&shared.transposed[at]) = bytes;
}
// Where a column of the tile begins in the transposed data.
__device__ __forceinline__ u8* column_at(const abi::QuantizeParams& params, const Tile& tile, i32 out_column) {
  u8* data = static_cast<u8*>(params.data_col);
#if OCTET_UNIFORM
  return data + (static_cast<i64>(tile.group) * kOutColumns + out_column) * config::kN + tile.block_in_group * kTile;
#endif
#if !OCTET_UNIFORM
  return data + out_column * params.ld_col + static_cast<i64>(tile.block) * kTile;
#endif
}
__device__ __forceinline__ void store_columns(const abi::QuantizeParams& params, TileStorage& shared,
                                              const Tile& tile) {
  const i32 piece = threadIdx.x % 8;  // of 16 bytes
#if OCTET_UNIFORM
  if (piece * 16 >= tile.rows) return;  // N is a multiple of 16, and nothing is padded
#endif
#pragma unroll
  for (i32 i = 0; i < 4; ++i) {
    const i32 column = i * 32 + threadIdx.x / 8;
    const i32 out_column = tile.column_tile * kTile + column;
    if (!column_exists(out_column)) break;
    *reinterpret_cast<uint4*>(column_at(params, tile, out_column) + piece * 16) =
        *reinterpret_cast<const uint4*>(&shared.transposed[column * kTile + moved_piece(piece * 2, column / 8) * 8]);
  }
}
#endif

#if OCTET_QUANTIZED
// Quantizes and stores a tile. All 256 threads; `parity` alternates.
__device__ __forceinline__ void store_tile(const abi::QuantizeParams& params, TileStorage& shared, const Tile& tile,
                                           const TileThread& thread, i32 parity, const Eight (&x)[8]) {
#if OCTET_COLUMN_SCALES
  share_column_maxima(shared, thread, x);
#endif
#if OCTET_SHARED_ROW_SCALES
  share_row_maxima(shared, thread, x);
#endif
#if OCTET_COLUMN_SCALES
  __syncthreads();
  scale_tile(params, shared, tile);
#endif
#if OCTET_SHARED_ROW_SCALES
  __syncthreads();
#endif
#if OCTET_SCALE_TENSOR
#if OCTET_GIVEN
  const float q = __frcp_rn(params.given[tile.group]);
#endif
#if !OCTET_GIVEN
  const float q = params.group_q[tile.group];
#endif
#endif
#if OCTET_AMAX_OF_TILES
  const float amax_of_tile = block_amax(shared, thread, parity, x);
  if (threadIdx.x == 0) params.tile_amax[static_cast<i64>(tile.unit) * kColumnTiles + tile.column_tile] = amax_of_tile;
#endif
#if OCTET_SCALE_128X128
  const Scale scale = scale_of(fmaxf(block_amax(shared, thread, parity, x), floor_of(params, tile)));
  store_block_scale(params, tile, scale.sf);
  const float q = scale.q;
#endif
#if OCTET_SCALE_32X32
  const u32 byte = sub_block_scale(shared, thread, parity, x);
  store_sub_block_scale(params, tile, thread, byte);
  const float q = e8m0_multiplier(byte);
#endif

#if OCTET_ROW
#if OCTET_OWN_ROW_SCALES
  const RowScales<8> scales(x, thread.lane, params.amax_floor);
#if !OCTET_SHARED_ROW_WORDS
  store_row_scales(params, tile, thread, scales);
#endif
#endif
#endif
#if OCTET_COL
#if OCTET_COLUMNS_WAIT
  __syncthreads();  // their scales are known, and what the last tile left in shared memory has been read
#endif
#if OCTET_SHARED_ROW_WORDS
  share_row_halves(shared, thread, scales);
#endif
#if OCTET_SQUARE_WARPS
  const ColumnScales32 column_scales(x, thread.lane);
  store_column_scales(params, tile, thread, column_scales);
#endif
#if OCTET_COLUMN_SCALES
  const float4* own_q = reinterpret_cast<const float4*>(&shared.column_q[thread.column()]);
  const float4 q0 = own_q[0], q1 = own_q[1];
  const float q_of_columns[8] = {q0.x, q0.y, q0.z, q0.w, q1.x, q1.y, q1.z, q1.w};
#endif
#pragma unroll
  for (i32 c = 0; c < 8; ++c) {
#if OCTET_COLUMN_SCALES
    const float column_q = q_of_columns[c];
#endif
#if OCTET_SQUARE_WARPS
    const float column_q = column_scales.q(c, thread.lane);
#endif
#if OCTET_SCALE_ROW
    const i32 out_column = tile.column_tile * kTile + thread.column() + c;
    const float column_q =
        column_exists(out_column) ? params.group_q[static_cast<i64>(tile.group) * kOutColumns + out_column] : 1.f;
#endif
#if OCTET_ONE_SCALE
    const float column_q = q;
#endif
    share_transposed(shared, thread, c, quantize_column(x, c, column_q));
  }
#endif
#if OCTET_ROW
#if OCTET_SHARED_ROW_SCALES
  const float4* shared_q = reinterpret_cast<const float4*>(&shared.row_q[thread.row()]);
  const float4 first_q = shared_q[0], second_q = shared_q[1];
  const float q_of_rows[8] = {first_q.x,  first_q.y,  first_q.z,  first_q.w,
                              second_q.x, second_q.y, second_q.z, second_q.w};
#endif
#if OCTET_SCALE_ROW
  const i32 own_row = thread.row() + thread.lane % 8;
  const float own_q = own_row < tile.rows ? params.row_q[tile.row + own_row] : 1.f;
#endif
#pragma unroll
  for (i32 r = 0; r < 8; ++r) {
#if OCTET_OWN_ROW_SCALES
    const float row_q = scales.q(r, thread.lane);
#endif
#if OCTET_SHARED_ROW_SCALES
    const float row_q = q_of_rows[r];
#endif
#if OCTET_SCALE_ROW
    const float row_q = __shfl_sync(~0u, own_q, thread.lane / 16 * 16 + r);
#endif
#if OCTET_ONE_SCALE
    const float row_q = q;
#endif
    store_row(params, tile, thread, r, quantize_row(x[r], row_q));
  }
#endif

#if OCTET_COL
  __syncthreads();
  store_columns(params, shared, tile);
#if OCTET_SHARED_ROW_WORDS
  if (threadIdx.x < kTile) {
    store_row_word(params, tile, threadIdx.x, *reinterpret_cast<const u32*>(shared.row_halves[threadIdx.x]));
  }
#endif
#endif
}
#endif
#if OCTET_PLAIN
__device__ __forceinline__ void store_tile(const abi::QuantizeParams& params, TileStorage&, const Tile& tile,
                                           const TileThread& thread, i32, const Eight (&x)[8]) {
  const i32 column = tile.column_tile * kTile + thread.column();
  if (!column_exists(column)) return;
#pragma unroll
  for (i32 r = 0; r < 8; ++r) {
    const i32 row = thread.row() + r;
    if (row < tile.rows) {
      *reinterpret_cast<Eight*>(static_cast<Element*>(params.d) + (tile.row + row) * kOutColumns + column) = x[r];
    }
  }
}
#endif

}  // namespace octet
