// Where the scales of a tile lie, for every layout of docs/numerics.md, "Scale layouts", that an operand of a GEMM can
// have. They count in elements: f32, or bytes of E8M0. A scale is named by its row of the operand, counted from the
// tile's first one (a column of D for B), and by its block along the inner axis, counted from the group's first one.
#pragma once

#include "gemm_place.cuh"

namespace octet {

__device__ constexpr i64 divide_up(i64 value, i64 by) { return (value + by - 1) / by; }
__device__ constexpr i64 round_up(i64 value, i64 to) { return divide_up(value, to) * to; }

// kUnit rows share a scale.
template <i32 kUnit>
struct LinearScales {
  i64 base, row_stride, block_stride;
  i64 first_row;
  __device__ __forceinline__ i64 at(i32 row, i32 block) const {
    return base + (first_row + row) / kUnit * row_stride + block * block_stride;
  }
};
// Tiles of 128 rows and 4 blocks, `tiles` of them from left to right.
struct TiledScales {
  i64 base, tiles;
  i32 first_row;
  __device__ __forceinline__ i64 at(i32 row, i32 block) const {
    const i32 r = first_row + row;
    return base + (r / 128 * tiles + block / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + block % 4;
  }
};

#if OCTET_SFA_PER_GROUP || OCTET_SFB_PER_GROUP
__device__ __forceinline__ LinearScales<1> scales_per_group(i64 group) { return {group, 0, 0, 0}; }
#endif
#if !OCTET_WGRAD
constexpr i64 kBlocksOfK = divide_up(config::kK, 128);
// Of tokens, along their rows.
__device__ __forceinline__ auto scales_of_a(const Place& place, i64 capacity) {
#if OCTET_SFA_PER_GROUP
  return scales_per_group(place.group);
#endif
#if OCTET_SFA_PER_ROW
  return LinearScales<1>{0, 1, 0, place.row};
#endif
#if OCTET_SFA_MN_MAJOR
#if OCTET_MASKED
  constexpr i64 kLd = round_up(config::kMaxM, 4);
  return LinearScales<1>{place.group * kBlocksOfK * kLd, 1, kLd, place.row_in_group};
#endif
#if !OCTET_MASKED
  return LinearScales<1>{0, 1, round_up(capacity, 4), place.row};
#endif
#endif
#if OCTET_SFA_K_MAJOR
  return LinearScales<1>{0, kBlocksOfK, 1, place.row};
#endif
#if OCTET_SFA_MX_COMPACT
  return LinearScales<1>{0, 4 * kBlocksOfK, 1, place.row};
#endif
#if OCTET_SFA_SWIZZLED
  return TiledScales{place.first_block * kBlocksOfK * 512, kBlocksOfK, place.row_in_group};
#endif
}
// Of weights [G, N, K] along K. With w=pointers each group has scales of its own.
__device__ __forceinline__ auto scales_of_b(const Place& place) {
#if OCTET_POINTERS
  constexpr i64 kTensors = 1, group = 0;
#endif
#if !OCTET_POINTERS
  constexpr i64 kTensors = config::kGroups;
  const i64 group = place.group;
#endif
#if OCTET_SFB_PER_GROUP
  return scales_per_group(group);
#endif
#if OCTET_SFB_PER_ROW
  return LinearScales<1>{group * config::kN, 1, 0, place.column};
#endif
#if OCTET_SFB_MN_MAJOR
  return LinearScales<1>{group * config::kN, 1, round_up(kTensors * config::kN, 4), place.column};
#endif
#if OCTET_SFB_K_MAJOR
  return LinearScales<1>{group * config::kN * kBlocksOfK, kBlocksOfK, 1, place.column};
#endif
#if OCTET_SFB_COL_MN_MAJOR
  constexpr i64 kLd = round_up(config::kN, 4);
  return LinearScales<1>{group * kBlocksOfK * kLd, 1, kLd, place.column};
#endif
#if OCTET_SFB_BLOCK2D
  return LinearScales<128>{group * divide_up(config::kN, 128) * kBlocksOfK, kBlocksOfK, 1, place.column};
#endif
#if OCTET_SFB_BLOCK2D_T
  constexpr i64 kRowBlocks = divide_up(config::kN, 128);
  return LinearScales<128>{group * kRowBlocks * kBlocksOfK, 1, kRowBlocks, place.column};
#endif
#if OCTET_SFB_MX_COMPACT
  return LinearScales<1>{group * config::kN * 4 * kBlocksOfK, 4 * kBlocksOfK, 1, place.column};
#endif
#if OCTET_SFB_COL_MX_COMPACT
  constexpr i64 kLd = round_up(config::kN, 128);
  return LinearScales<1>{group * divide_up(config::kK, 32) * kLd, 1, kLd, place.column};
#endif
#if OCTET_SFB_SWIZZLED
  return TiledScales{group * divide_up(config::kN, 128) * kBlocksOfK * 512, kBlocksOfK, place.column};
#endif
#if OCTET_SFB_MX_32X32
  constexpr i64 kBlocks = divide_up(config::kK, 32);
  return LinearScales<32>{group * divide_up(config::kN, 32) * kBlocks, kBlocks, 1, place.column};
#endif
}
#endif
#if OCTET_WGRAD
// Of tokens, along their columns: blocks run down the group's rows. `row`: of the operand as it lies, a column of the
// tokens, of which there are kColumns.
#if OCTET_SFA_PER_ROW || OCTET_SFB_PER_ROW
template <i64 kColumns>
__device__ __forceinline__ LinearScales<1> scales_per_column(const Place& place, i32 row) {
  return {place.group * kColumns, 1, 0, row};
}
#endif
#if OCTET_SFA_COL_MN_MAJOR || OCTET_SFB_COL_MN_MAJOR
template <i64 kColumns>
__device__ __forceinline__ LinearScales<1> scales_col_mn_major(const Place& place, i32 row) {
  constexpr i64 kLd = round_up(kColumns, 4);
  return {place.first_block * kLd, 1, kLd, row};
}
#endif
#if OCTET_SFA_MX_COMPACT || OCTET_SFB_MX_COMPACT
template <i64 kColumns>
__device__ __forceinline__ LinearScales<1> scales_mx_compact(const Place& place, i32 row) {
  constexpr i64 kLd = round_up(kColumns, 128);
  return {place.first_sub_block * kLd, 1, kLd, row};
}
#endif
#if OCTET_SFA_SWIZZLED || OCTET_SFB_SWIZZLED
template <i64 kColumns>
__device__ __forceinline__ TiledScales scales_swizzled(const Place& place, i32 row) {
  return {round_up(kColumns, 128) * 4 * place.first_block, place.extent_blocks, row};
}
#endif
#if OCTET_SFB_BLOCK2D
template <i64 kColumns>
__device__ __forceinline__ LinearScales<128> scales_block2d(const Place& place, i32 row) {
  constexpr i64 kBlocks = divide_up(kColumns, 128);
  return {place.first_block * kBlocks, 1, kBlocks, row};
}
#endif
__device__ __forceinline__ auto scales_of_a(const Place& place, i64) {
#if OCTET_SFA_PER_GROUP
  return scales_per_group(place.group);
#endif
#if OCTET_SFA_PER_ROW
  return scales_per_column<config::kN>(place, place.row);
#endif
#if OCTET_SFA_COL_MN_MAJOR
  return scales_col_mn_major<config::kN>(place, place.row);
#endif
#if OCTET_SFA_MX_COMPACT
  return scales_mx_compact<config::kN>(place, place.row);
#endif
#if OCTET_SFA_SWIZZLED
  return scales_swizzled<config::kN>(place, place.row);
#endif
}
__device__ __forceinline__ auto scales_of_b(const Place& place) {
#if OCTET_SFB_PER_GROUP
  return scales_per_group(place.group);
#endif
#if OCTET_SFB_PER_ROW
  return scales_per_column<config::kK>(place, place.column);
#endif
#if OCTET_SFB_COL_MN_MAJOR
  return scales_col_mn_major<config::kK>(place, place.column);
#endif
#if OCTET_SFB_BLOCK2D
  return scales_block2d<config::kK>(place, place.column);
#endif
#if OCTET_SFB_MX_COMPACT
  return scales_mx_compact<config::kK>(place, place.column);
#endif
#if OCTET_SFB_SWIZZLED
  return scales_swizzled<config::kK>(place, place.column);
#endif
}
#endif

}  // namespace octet
