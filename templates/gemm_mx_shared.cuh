// What the parts of the MXFP8 kernel share: its shape, its shared memory, where a thread works, and where the scales of
// an operand's row lie.
//
// The matrix instruction takes 64 rows of the left operand from registers and kStep rows of the right one from shared
// memory, both contiguous along K. Left is B (weights; for wgrad the K columns of D), right is A (tokens; for wgrad the
// N rows of D).
//
// A row of the right operand is permuted within every 64 elements, so that the math warps can take what they need of
// the left one by one 16-byte load, without moving bytes. For l, t in 0 ... 3 the four codes 16 l + 4 t + {0, 1, 2, 3}
// of the left operand are those that lane l of four feeds to step t of the matrix instruction, as its elements
// 2 l + 8, 2 l, 2 l + 9, 2 l + 1.
#pragma once

#include "abi.h"
#include "mx_dequantize.cuh"
#include "output_elements.cuh"
#include "pipeline.cuh"
#include "ptx.cuh"
#include "scheduler.cuh"
#include "wgmma_bf16.cuh"

namespace octet {

constexpr i32 kBlockK = 64;  // of a stage: one 128-byte swizzle row of bf16
constexpr i32 kSlab = 64;    // rows of one matrix instruction
constexpr i32 kMathWarpgroups = config::kBlockM / kSlab;
constexpr i32 kMathWarps = 4 * kMathWarpgroups;
constexpr i32 kThreads = 128 * (kMathWarpgroups + 1);  // the last warpgroup produces
constexpr i32 kStep = config::kBlockN;                 // columns of one matrix instruction
constexpr i32 kStepRegisters = kStep / 2;              // accumulators per thread
static_assert(config::kBlockM == 128, "two math warpgroups of 64 rows");
static_assert(config::kClusterM == 1, "a cluster shares tokens, along the columns of D");
#if OCTET_DIRECT
constexpr u32 kStageBytes = (config::kBlockM + config::kBlockN) * kBlockK;
#endif
#if !OCTET_DIRECT
constexpr u32 kStageBytes = config::kBlockM * kBlockK + config::kBlockN * kBlockK * 2;
#endif

#if OCTET_A_E5M2
constexpr bool kRightE5m2 = true;
#endif
#if OCTET_A_E4M3
constexpr bool kRightE5m2 = false;
#endif
#if OCTET_B_E5M2
constexpr bool kLeftE5m2 = true;
#endif
#if OCTET_B_E4M3
constexpr bool kLeftE5m2 = false;
#endif

// D leaves in chunks of kChunkTokens rows of a warpgroup's 64 columns, in pieces of 16 bytes.
#if OCTET_D_F32
constexpr i32 kChunkTokens = 32;
#endif
#if !OCTET_D_F32
constexpr i32 kChunkTokens = kStep < 64 ? kStep : 64;
#endif
constexpr i32 kChunks = kStep / kChunkTokens;
constexpr i32 kChunkBytes = kChunkTokens * kSlab * kElementBytes;

struct SharedStorage {
#if OCTET_DIRECT
  alignas(1024) u8 right[config::kRightStages][config::kBlockN * kBlockK * 2];
  alignas(1024) u8 raw[config::kStages][config::kBlockN * kBlockK];  // the right operand as it is loaded
#endif
#if !OCTET_DIRECT
  alignas(1024) u8 right[config::kStages][config::kBlockN * kBlockK * 2];
#endif
  alignas(1024) u8 left[config::kStages][config::kBlockM * kBlockK];
  alignas(1024) u8 staging[kMathWarpgroups][kChunkBytes];
  alignas(16) Tile tiles[2];  // what the math works on
  alignas(8) Ring<config::kStages> ring;
#if OCTET_DIRECT
  alignas(8) Ring<config::kRightStages> right_ring;
#endif
  alignas(8) Ring<2> tile_ring;
  WalkTable groups;

  __device__ __forceinline__ const u8* loaded_right(i32 stage) const {
#if OCTET_DIRECT
    return raw[stage];
#endif
#if !OCTET_DIRECT
    return right[stage];
#endif
  }
};
static_assert(sizeof(SharedStorage) == config::kSharedBytes, "the host asks for exactly this much shared memory");

// Shared-memory matrix descriptor of a K-major operand in 128-byte swizzle: 1024 bytes from 8 rows to the next 8.
// (PTX ISA 9.7.15.5.1.2.2 Matrix descriptor format)
__device__ __forceinline__ u64 matrix_descriptor(u32 address) {
  constexpr u64 kStrideBytes = 1024, kSwizzle128 = 1;
  return static_cast<u64>((address & 0x3FFFF) >> 4) | (u64{1} << 16) | ((kStrideBytes >> 4) << 32) |
         (kSwizzle128 << 62);
}

// What a math thread knows about itself.
struct MathThread {
  i32 warpgroup, warp, lane, rank;
  i32 row;  // of this thread's first accumulator among the warpgroup's 64 rows; the second one is 8 rows below

  __device__ __forceinline__ explicit MathThread(i32 block_rank) : rank(block_rank) {
    warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    lane = threadIdx.x % 32;
    warpgroup = warp / 4;
    row = warp % 4 * 16 + lane / 4;
  }
};

__device__ __forceinline__ Tile load_tile(u32 address) {
  const uint4 bits = shared_load_16(address);
  Tile tile;
  tile.group = static_cast<i32>(bits.x);
  tile.row = static_cast<i32>(bits.y);
  tile.rows = static_cast<i32>(bits.z);
  tile.column = static_cast<i32>(bits.w);
#if OCTET_WGRAD
  const uint4 more = shared_load_16(address + 16);
  tile.first_block = static_cast<i32>(more.x);
  tile.blocks = static_cast<i32>(more.y);
#if OCTET_SUB_BLOCKS
  tile.first_sub_block = static_cast<i32>(more.z);
  tile.sub_blocks = static_cast<i32>(more.w);
#endif
#endif
  return tile;
}

// Blocks of 128 along K that a tile sums over, in two stages each.
__device__ __forceinline__ i32 blocks_of_tile(const Tile& tile) {
#if OCTET_WGRAD
  return tile.blocks;
#endif
#if !OCTET_WGRAD
  return (config::kK + 127) / 128;
#endif
}

// Scales of one row of an operand: the byte of block `block` of 32 along K. Where a layout has no slot for blocks past
// the last one, whose data are zero, they take the last one's.
struct LinearScales {
  const u8* row;
  i32 step, last;
  __device__ __forceinline__ u32 at(i32 block) const { return __ldg(row + static_cast<i64>(min(block, last)) * step); }
};
// 128 x 4 tiles, those of the same rows one after the other.
struct TiledScales {
  const u8* row;
  __device__ __forceinline__ u32 at(i32 block) const {
    return __ldg(row + static_cast<i64>(block / 4) * 512 + block % 4);
  }
};
__device__ __forceinline__ TiledScales tiled_scales(const u8* group, i32 row, i32 tiles) {
  return {group + static_cast<i64>(row / 128) * tiles * 512 + row % 32 * 16 + row % 128 / 32 * 4};
}

#if OCTET_WGRAD
// Where a group of columnwise tokens lies along K, in blocks of 128 and of 32.
struct Extent {
  i32 first_block, blocks;  // blocks: that the group has room for
#if OCTET_SUB_BLOCKS
  i32 first_sub_block, sub_blocks;
#endif
};
__device__ __forceinline__ Extent extent_of(const Tile& tile) {
  Extent extent{};
  extent.first_block = tile.first_block;
#if OCTET_MASKED
  extent.blocks = (config::kMaxM + 127) / 128;
#endif
#if !OCTET_MASKED
  extent.blocks = tile.blocks;
#endif
#if OCTET_SUB_BLOCKS
  extent.first_sub_block = tile.first_sub_block;
  extent.sub_blocks = tile.sub_blocks;
#endif
  return extent;
}
// `row`: of the operand as it lies, a column of the tokens, of which there are kColumns.
#if OCTET_SUB_BLOCKS
template <i32 kColumns>
__device__ __forceinline__ LinearScales compact_scales(const u8* scales, const Extent& extent, i32 row) {
  constexpr i32 kLd = (kColumns + 127) / 128 * 128;
  return {scales + static_cast<i64>(extent.first_sub_block) * kLd + row, kLd, extent.sub_blocks - 1};
}
#endif
#if OCTET_SFA_SWIZZLED || OCTET_SFB_SWIZZLED
template <i32 kColumns>
__device__ __forceinline__ TiledScales swizzled_scales(const u8* scales, const Extent& extent, i32 row) {
  constexpr i64 kGroupBlock = (kColumns + 127) / 128 * 512;
  return tiled_scales(scales + kGroupBlock * extent.first_block, row, extent.blocks);
}
#endif
__device__ __forceinline__ auto right_scales(const abi::MxGemmParams& params, const Extent& extent, i32 row) {
#if OCTET_SFA_MX_COMPACT
  return compact_scales<config::kN>(params.a_sf, extent, row);
#endif
#if OCTET_SFA_SWIZZLED
  return swizzled_scales<config::kN>(params.a_sf, extent, row);
#endif
}
__device__ __forceinline__ auto left_scales(const abi::MxGemmParams& params, const Tile& tile, i32 column) {
  const i32 row = min(column, config::kK - 1);
#if OCTET_SFB_MX_COMPACT
  return compact_scales<config::kK>(params.b_sf, extent_of(tile), row);
#endif
#if OCTET_SFB_SWIZZLED
  return swizzled_scales<config::kK>(params.b_sf, extent_of(tile), row);
#endif
}
#endif
#if !OCTET_WGRAD
constexpr i32 kBlocks128 = (config::kK + 127) / 128, kBlocks32 = (config::kK + 31) / 32;

// Of a token: `row` in the buffer; in a swizzled buffer the group's first block of 128 rows and the row from there on.
#if OCTET_SFA_MX_COMPACT
__device__ __forceinline__ LinearScales right_scales(const abi::MxGemmParams& params, i32 row) {
  return {params.a_sf + static_cast<i64>(row) * (4 * kBlocks128), 1, kBlocks32 - 1};
}
#endif
#if OCTET_SFA_SWIZZLED
__device__ __forceinline__ TiledScales right_scales(const abi::MxGemmParams& params, i32 first_block, i32 row) {
  return tiled_scales(params.a_sf + static_cast<i64>(first_block) * (kBlocks128 * 512), row, kBlocks128);
}
#endif
// Of a weight: its group and output feature.
__device__ __forceinline__ auto left_scales(const abi::MxGemmParams& params, const Tile& tile, i32 column) {
  const i32 row = min(column, config::kN - 1);
  const i64 group = tile.group;
#if OCTET_SFB_MX_COMPACT
  return LinearScales{params.b_sf + (group * config::kN + row) * (4 * kBlocks128), 1, kBlocks32 - 1};
#endif
#if OCTET_SFB_COL_MX_COMPACT
  constexpr i32 kLd = (config::kN + 127) / 128 * 128;
  return LinearScales{params.b_sf + group * kBlocks32 * kLd + row, kLd, kBlocks32 - 1};
#endif
#if OCTET_SFB_SWIZZLED
  constexpr i64 kGroupBytes = i64{(config::kN + 127) / 128} * kBlocks128 * 512;
  return tiled_scales(params.b_sf + group * kGroupBytes, row, kBlocks128);
#endif
#if OCTET_SFB_MX_32X32
  constexpr i64 kRowBlocks = (config::kN + 31) / 32;
  return LinearScales{params.b_sf + (group * kRowBlocks + row / 32) * kBlocks32, 1, kBlocks32 - 1};
#endif
}
#endif

}  // namespace octet
