// What the parts of a GEMM kernel share: its shape, its shared memory, and how a tile is dealt out to warpgroups.
//
// The matrix instruction takes 64 rows of the left operand and kStep rows of the right one, both contiguous along K.
// Left and right are A and B. Where few tokens meet many weights (OCTET_SWAPPED) they are B and A, so that weights fill
// the instruction's 64 rows and tokens take as few columns as there are.
#pragma once

#include "abi.h"
#include "output_elements.cuh"
#include "pipeline.cuh"
#include "ptx.cuh"
#include "scheduler.cuh"
#include "wgmma.cuh"

namespace octet {

constexpr i32 kBlockK = 128;  // one scale block and one 128-byte swizzle row of FP8
#if !OCTET_WGRAD
constexpr i32 kBlocksK = (config::kK + kBlockK - 1) / kBlockK;
#endif
constexpr i32 kMathWarpgroups = config::kWarpgroupsM * config::kWarpgroupsN;
constexpr i32 kMathWarps = 4 * kMathWarpgroups;
constexpr i32 kThreads = 128 * (kMathWarpgroups + 1);  // the last warpgroup produces
constexpr i32 kSlab = 64;                              // rows of one matrix instruction
constexpr i32 kStep = config::kStep;                   // columns of one matrix instruction
constexpr i32 kStepRegisters = kStep / 2;              // accumulators per thread
constexpr i32 kSlabs = config::kBlockM / config::kWarpgroupsM / kSlab;
constexpr i32 kSteps = config::kBlockN / config::kWarpgroupsN / kStep;
static_assert(kSlabs >= 1 && kSteps >= 1, "a warpgroup owns whole matrix instructions");
static_assert(kSlabs * kSteps <= 2, "two tiles of accumulators and one partial sum are what the registers hold");

// A warpgroup stores D in chunks of 64 rows (swapped: kStep rows) of 128 bytes. Of wgrad's f32 they are 64 bytes wide,
// so that there is room for two: one is filled while the copy engine reads the other.
#if OCTET_NARROW_CHUNKS
constexpr i32 kChunkWidth = 64, kBuffers = 2;  // bytes; per warpgroup
#endif
#if !OCTET_NARROW_CHUNKS
constexpr i32 kChunkWidth = 128, kBuffers = 1;
#endif
constexpr i32 kChunk = kChunkWidth / kElementBytes;  // columns of D
#if OCTET_SWAPPED
#if OCTET_SPLIT_K
// Every block of a cluster sums a part of K for the whole tile, and stores an equal part of its tokens. A chunk has
// room for the sums that it is sent, as f32.
constexpr i32 kTokens = kStep / config::kSplitK;
constexpr i32 kChunkBytes = kSlab * kStep * 4;
#endif
#if !OCTET_SPLIT_K
constexpr i32 kTokens = kStep;  // of a tile that this block stores
constexpr i32 kChunkBytes = kStep * kChunkWidth;
#endif
constexpr i32 kTokenRegisters = kTokens / 2;  // of sums, per thread
#endif
#if !OCTET_SWAPPED
constexpr i32 kChunkBytes = kSlab * kChunkWidth;
constexpr i32 kChunks = kSteps * kStep / kChunk;  // per slab of a warpgroup
#endif

#if OCTET_LEFT_VECTOR
// Scales of the tile's rows: one box of up to 256, or two.
constexpr i32 kLeftScales = config::kLeftScaleBoxes * config::kLeftScaleRows;
static_assert(config::kLeftScaleBoxes == 1 || config::kLeftScaleRows % 32 == 0,
              "TMA destinations are 128-byte aligned");
#endif
#if !OCTET_LEFT_VECTOR
constexpr i32 kLeftScales = 0;
#endif
#if OCTET_RIGHT_VECTOR
constexpr i32 kRightScales = config::kRightScaleRows;
#endif
#if !OCTET_RIGHT_VECTOR
constexpr i32 kRightScales = 0;
#endif
constexpr u32 kStageBytes = (config::kBlockM + config::kBlockN) * kBlockK + (kLeftScales + kRightScales) * 4;

struct SharedStorage {
  alignas(1024) u8 left[config::kStages][config::kBlockM * kBlockK];
  alignas(1024) u8 right[config::kStages][config::kBlockN * kBlockK];
#if OCTET_WHOLE_TILE
  alignas(1024) u8 staging[kMathWarpgroups][kSlabs * kChunks][kChunkBytes];
#endif
#if !OCTET_WHOLE_TILE
  alignas(1024) u8 staging[kMathWarpgroups][kBuffers][kChunkBytes];
#endif
#if OCTET_LEFT_VECTOR
  alignas(128) float left_sf[config::kStages][(kLeftScales + 31) / 32 * 32];
#endif
#if OCTET_RIGHT_VECTOR
  alignas(128) float right_sf[config::kStages][(kRightScales + 31) / 32 * 32];
#endif
  alignas(16) Tile tiles[2];  // what the math works on
#if OCTET_TILE_SCALES
  alignas(16) float tile_sf[2][config::kTileScaleRows][kBlocksK];  // and the weights' 128 x 128 scales
#endif
  alignas(8) Ring<config::kStages> ring;
  alignas(8) Ring<2> tile_ring;
#if OCTET_SPLIT_K
  alignas(8) Ring<1> mail[kMathWarpgroups];  // of what is sent to `staging`
#endif
  WalkTable groups;
};
static_assert(sizeof(SharedStorage) == config::kSharedBytes, "the host asks for exactly this much shared memory");

// Shared-memory matrix descriptor of a K-major operand in 128-byte swizzle: 1024 bytes from 8 rows to the next 8.
// (PTX ISA 9.7.15.5.1.2.2 Matrix descriptor format)
__device__ __forceinline__ u64 matrix_descriptor(u32 address) {
  constexpr u64 kStrideBytes = 1024, kSwizzle128 = 1;
  return static_cast<u64>((address & 0x3FFFF) >> 4) | (u64{1} << 16) | ((kStrideBytes >> 4) << 32) |
         (kSwizzle128 << 62);
}

#if OCTET_TOKEN_VECTOR
// Place of a tile's first token in the tensor map of the tokens' scales, which blocks along K follow in y. A group may
// start at any row, but a load only at a multiple of 16 bytes, so a tile loads up to three scales before its own.
__device__ __forceinline__ i32 token_scale_x(const Tile& tile) {
#if OCTET_MASKED
  return tile.row - tile.group * config::kMaxM;
#endif
#if !OCTET_MASKED
  return tile.row;
#endif
}
__device__ __forceinline__ i32 token_scale_y(const Tile& tile) {
#if OCTET_MASKED
  return tile.group * kBlocksK;
#endif
#if !OCTET_MASKED
  return 0;
#endif
}
#endif

// What a math thread knows about itself.
struct MathThread {
  i32 warpgroup, warp, lane, rank;
  i32 row;  // row of this thread's first accumulator in a slab; the second one is 8 rows below

  __device__ __forceinline__ MathThread(i32 block_rank) : rank(block_rank) {
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
#endif
  return tile;
}

__device__ __forceinline__ i32 blocks_of_tile(const Tile& tile) {
#if OCTET_WGRAD
  return tile.blocks;
#endif
#if !OCTET_WGRAD
  return kBlocksK;
#endif
}

// Which of a tile's blocks along K this block sums. A split depends on K alone, and so do the bits of the result.
__device__ __forceinline__ i32 first_block_to_sum(i32 rank) {
#if OCTET_SPLIT_K
  return kBlocksK * rank / config::kSplitK;
#endif
#if !OCTET_SPLIT_K
  return 0;
#endif
}
__device__ __forceinline__ i32 blocks_to_sum(const Tile& tile, i32 rank) {
#if OCTET_SPLIT_K
  return first_block_to_sum(rank + 1) - first_block_to_sum(rank);
#endif
#if !OCTET_SPLIT_K
  return blocks_of_tile(tile);
#endif
}

// The part of a tile that one warpgroup computes: `slabs` slabs, kSlabStride rows apart, times `steps` steps.
struct Share {
  i32 row;     // of its first slab, among the left operand's rows of the tile
  i32 column;  // of its first step, among the right operand's
  i32 slabs, steps;
};
// Slabs are dealt out in turn, so that a tile with few rows keeps all warpgroups busy as long as it can.
constexpr i32 kSlabStride = kSlab * config::kWarpgroupsM;

__device__ __forceinline__ Share share_of(const MathThread& thread, const Tile& tile) {
#if OCTET_SPLIT_NARROW
  // Rows for one warpgroup only: the two take half of the columns each.
  if (tile.rows <= kSlab) return {0, thread.warpgroup * kStep, 1, 1};
#endif
  Share share{thread.warpgroup / config::kWarpgroupsN * kSlab, thread.warpgroup % config::kWarpgroupsN * kSteps * kStep,
              0, kSteps};
#if OCTET_SWAPPED
  const i32 rows = config::kN - tile.column;
#endif
#if !OCTET_SWAPPED
  const i32 rows = tile.rows;
#endif
#pragma unroll
  for (i32 slab = 0; slab < kSlabs; ++slab) share.slabs += rows > share.row + slab * kSlabStride;
  return share;
}

}  // namespace octet
