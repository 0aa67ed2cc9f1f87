// Quantizes a tile that 256 threads hold and stores it: along rows, along columns (transposed), or both.
#pragma once

#include "rest.cuh"
#include "row_scales.cuh"
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
#if OCTET_SCALE_1X32
__device__ __forceinline__ void store_column_scale(const abi::QuantizeParams& params, const Tile& tile, i32 column,
                                                   i32 quarter, u32 byte) {
  constexpr i64 kPaddedColumns = static_cast<i64>(kColumnTiles) * kTile;
  u8* sf = static_cast<u8*>(params.sf_col);
#if OCTET_SF_COMPACT
  if (quarter < tile.sub_blocks) {
    sf[(tile.sub_block + quarter) * kPaddedColumns + tile.column_tile * kTile + column] = static_cast<u8>(byte);
  }
#endif
#if OCTET_SF_SWIZZLED
  const i64 first_block = tile.block - tile.block_in_group;
  sf[kPaddedColumns * 4 * first_block +
     (static_cast<i64>(tile.column_tile) * tile.group_blocks + tile.block_in_group) * 512 + column % 32 * 16 +
     column / 32 * 4 + quarter] = static_cast<u8>(byte);
#endif
}
#endif

// The scale of a column, from what share_column_maxima left; of one of four blocks of 32 rows, or of all rows.
__device__ __forceinline__ void scale_column(const abi::QuantizeParams& params, TileStorage& shared, const Tile& tile,
                                             i32 quarter, i32 column) {
  constexpr i32 kWarps = 8 / kColumnBlocks32;  // that share a scale
  const i32 at = column / kPerMagnitude;
  Magnitude largest = shared.column_max[quarter * kWarps][at];
#pragma unroll
  for (i32 w = 1; w < kWarps; ++w) largest = larger(largest, shared.column_max[quarter * kWarps + w][at]);
  const float amax = magnitude_value(largest, column % kPerMagnitude);
#if OCTET_SCALE_1X32
  const u32 byte = e8m0_of(amax);
  shared.column_q[quarter][column] = e8m0_multiplier(byte);
  store_column_scale(params, tile, column, quarter, byte);
#endif
#if OCTET_SCALE_1X128
  const Scale scale = scale_of(fmaxf(amax, floor_of(params, tile)));
  shared.column_q[0][column] = scale.q;
  const i32 out_column = tile.column_tile * kTile + column;
  if (column_exists(out_column)) {
    static_cast<float*>(params.sf_col)[static_cast<i64>(tile.block) * kOutColumns + out_column] = scale.sf;
  }
#endif
}

#if OCTET_SHARED_ROW_SCALES
// Leaves the largest magnitudes of a thread's rows in shared memory.
__device__ __forceinline__ void share_row_maxima(TileStorage& shared, const TileThread& thread, const Eight (&x)[8]) {
#if OCTET_SCALE_1X32
  const RowMaxima<8> maxima(x, thread.lane);
  float* own = &shared.row_max[thread.column_group / 4][thread.row() + maxima.row];
  own[0] = maxima.even;
  own[1] = maxima.odd;
#endif
#if OCTET_SCALE_1X128
  const RowMaximum<8> maximum(x, thread.lane);
  if (maximum.stores) shared.row_max[0][thread.row() + maximum.row] = maximum.amax;
#endif
}
// The scale of 32 or 128 columns of a row.
__device__ __forceinline__ void scale_row(const abi::QuantizeParams& params, TileStorage& shared, const Tile& tile,
                                          i32 quarter, i32 row) {
  const float amax = shared.row_max[quarter][row];
#if OCTET_SCALE_1X32
  const u32 byte = e8m0_of(amax);
  shared.row_q[quarter][row] = e8m0_multiplier(byte);
  shared.row_bytes[row][quarter] = static_cast<u8>(byte);
#endif
#if OCTET_SCALE_1X128
  const Scale scale = scale_of(fmaxf(amax, params.amax_floor));
  shared.row_q[quarter][row] = scale.q;
  if (row < tile.rows) *row_scale_at(params, tile.row + row, tile.column_tile, kColumnTiles) = scale.sf;
#endif
}
#endif

// Scales of columns, and of rows where both share a barrier: a thread for each, so that each divides once.
__device__ __forceinline__ void scale_tile(const abi::QuantizeParams& params, TileStorage& shared, const Tile& tile) {
#if OCTET_SCALE_1X32
#pragma unroll
  for (i32 i = 0; i < 2; ++i) {
    scale_column(params, shared, tile, threadIdx.x / kTile + 2 * i, threadIdx.x % kTile);
#if OCTET_SHARED_ROW_SCALES
    scale_row(params, shared, tile, threadIdx.x / kTile + 2 * i, threadIdx.x % kTile);
#endif
  }
#endif
#if OCTET_SCALE_1X128
  if (threadIdx.x < kTile) {
    scale_column(params, shared, tile, 0, threadIdx.x);
  } else {
#if OCTET_SHARED_ROW_SCALES
    scale_row(params, shared, tile, 0, threadIdx.x - kTile);
#endif
  }
#endif
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
#if OCTET_OWN_ROW_SCALES
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
__device__ __forceinline__ void store_row(const abi::QuantizeParams& params, const Tile& tile, const TileThread& thread,
                                          i32 r, uint2 bytes) {
  const i32 column = tile.column_tile * kTile + thread.column(), row = thread.row() + r;
  if (!column_exists(column) || row >= tile.rows) return;
  *reinterpret_cast<uint2*>(static_cast<u8*>(params.data) + (tile.row + row) * kOutColumns + column) = bytes;
}
#endif

#if OCTET_COL
// Pieces of 8 bytes change places, so that neither writing columns of eight rows nor reading rows of columns meets bank
// conflicts.
__device__ __forceinline__ void share_transposed(TileStorage& shared, const TileThread& thread, i32 c, uint2 bytes) {
  const i32 at = (thread.column() + c) * kTile + (thread.row_group ^ thread.column_group) * 8;
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
    const i32 column = i * 32 + threadIdx.x / 8, group = column / 8;
    const i32 out_column = tile.column_tile * kTile + column;
    if (!column_exists(out_column)) break;
    uint4 v = *reinterpret_cast<const uint4*>(&shared.transposed[column * kTile + (piece ^ group / 2) * 16]);
    if (group % 2 != 0) v = make_uint4(v.z, v.w, v.x, v.y);
    *reinterpret_cast<uint4*>(column_at(params, tile, out_column) + piece * 16) = v;
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
  store_row_scales(params, tile, thread, scales);
#endif
#if OCTET_SHARED_ROW_SCALES
#if OCTET_SCALE_1X32
  if (threadIdx.x < kTile) {
    store_row_word(params, tile, threadIdx.x, *reinterpret_cast<const u32*>(shared.row_bytes[threadIdx.x]));
  }
  const float* row_q_of_columns = &shared.row_q[thread.column_group / 4][thread.row()];
#endif
#if OCTET_SCALE_1X128
  const float* row_q_of_columns = &shared.row_q[0][thread.row()];
#endif
  const float4* shared_q = reinterpret_cast<const float4*>(row_q_of_columns);
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
#if !OCTET_SHARED_ROW_SCALES
  __syncthreads();
#endif
#if OCTET_COLUMN_SCALES
  const float4* own_q =
      reinterpret_cast<const float4*>(&shared.column_q[kColumnBlocks32 == 4 ? thread.warp / 2 : 0][thread.column()]);
  const float4 q0 = own_q[0], q1 = own_q[1];
  const float q_of_columns[8] = {q0.x, q0.y, q0.z, q0.w, q1.x, q1.y, q1.z, q1.w};
#endif
#pragma unroll
  for (i32 c = 0; c < 8; ++c) {
#if OCTET_COLUMN_SCALES
    const float column_q = q_of_columns[c];
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
  __syncthreads();
  store_columns(params, shared, tile);
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
