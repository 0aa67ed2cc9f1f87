// E8M0 scales of columns, of 32 rows each, where a warp holds 32 rows of 64 columns.
#pragma once

#include "scale.cuh"
#include "tile_maxima.cuh"

namespace octet {

// The scales of a thread's eight columns, two in each of the four lanes that hold them, 8 lanes apart.
struct ColumnScales32 {
  u32 bytes;            // of columns `column` (low) and column + 1 of the eight
  i32 column;           // of the eight
  float even_q, odd_q;  // what these columns are multiplied by

  __device__ __forceinline__ ColumnScales32(const Eight (&x)[8], i32 lane) {
    constexpr i32 kKeep = 2 / kPerMagnitude;
    Magnitude m[kColumnMagnitudes];
#pragma unroll
    for (i32 i = 0; i < kColumnMagnitudes; ++i) m[i] = column_magnitude(x, i);
    i32 first;
    halving_max<kColumnMagnitudes, 4, kKeep, 8>(m, lane, first);
    column = first * kPerMagnitude;
    const u32 even = e8m0_of(magnitude_value(m[0], 0)), odd = e8m0_of(magnitude_value(m[kKeep - 1], 1));
    bytes = even | odd << 8;
    even_q = e8m0_multiplier(even);
    odd_q = e8m0_multiplier(odd);
  }
  // What column c of the eight is multiplied by. All lanes call it.
  __device__ __forceinline__ float q(i32 c, i32 lane) const {
    return __shfl_sync(~0u, c % 2 == 0 ? even_q : odd_q, lane % 8 + c / 2 * 8);
  }
};

// Padding that a layout adds has no elements: zero, as it should be.
__device__ __forceinline__ void store_column_scales(const abi::QuantizeParams& params, const Tile& tile,
                                                    const TileThread& thread, const ColumnScales32& scales) {
  constexpr i64 kPaddedColumns = static_cast<i64>(kColumnTiles) * kTile;
  const i32 column = thread.column() + scales.column, quarter = thread.warp / 2;
  u8* sf = static_cast<u8*>(params.sf_col);
#if OCTET_SF_COMPACT
  if (quarter >= tile.sub_blocks) return;
  sf += (tile.sub_block + quarter) * kPaddedColumns + tile.column_tile * kTile + column;
  *reinterpret_cast<u16*>(sf) = static_cast<u16>(scales.bytes);
#endif
#if OCTET_SF_SWIZZLED
  const i64 first_block = tile.block - tile.block_in_group;
  sf += kPaddedColumns * 4 * first_block +
        (static_cast<i64>(tile.column_tile) * tile.group_blocks + tile.block_in_group) * 512 + column % 32 * 16 +
        column / 32 * 4 + quarter;
  sf[0] = static_cast<u8>(scales.bytes);
  sf[16] = static_cast<u8>(scales.bytes >> 8);  // the next column, in the same 32
#endif
}

}  // namespace octet
