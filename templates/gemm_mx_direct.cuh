// The math of the direct MXFP8 kernel: while the tensor core works on one block of 64, the math warps dequantize the
// next one, each its part of the left operand into registers and of the right one into shared memory.
#pragma once

#include "gemm_mx_exact.cuh"
#include "gemm_mx_math.cuh"

namespace octet {

// Threads that share a row of the right operand take some of the four words of each 16 codes; whole warps have the same
// words of neighbour rows.
constexpr i32 kRowThreads = config::kBlockN >= 256 ? 1 : config::kBlockN >= 128 ? 2 : 4;
constexpr i32 kWords = 4 / kRowThreads;
constexpr i32 kMakers = config::kBlockN * kRowThreads;  // threads of the first math warpgroups
static_assert(kMakers <= kMathWarps * 32, "a thread has one row");

// The four scales of a block of 128, the first one in the lowest byte.
__device__ __forceinline__ u32 four_scales(const TiledScales& scales, i32 block) {
  const u8* from = scales.row + static_cast<i64>(block) * 512;
  if (reinterpret_cast<u64>(from) % 4 == 0) return __ldg(reinterpret_cast<const u32*>(from));
  return from[0] | from[1] << 8 | from[2] << 16 | from[3] << 24;
}
__device__ __forceinline__ u32 four_scales(const LinearScales& scales, i32 block) {
  const i32 first = block * 4;
  const u8* from = scales.row + first;
  if (scales.step == 1 && first + 3 <= scales.last && reinterpret_cast<u64>(from) % 4 == 0) {
    return __ldg(reinterpret_cast<const u32*>(from));
  }
  return scales.at(first) | scales.at(first + 1) << 8 | scales.at(first + 2) << 16 | scales.at(first + 3) << 24;
}

// Scales of a row of the tile's right operand; a row past the group's end gets the last one's.
__device__ __forceinline__ auto scales_of_row(const abi::MxGemmParams& params, const WalkTable& groups,
                                              const Tile& tile, i32 row) {
  const i32 place = tile.row + min(row, tile.rows - 1);
#if OCTET_WGRAD
  return right_scales(params, extent_of(tile), place);
#endif
#if !OCTET_WGRAD
#if OCTET_SFA_SWIZZLED
  return scales_of_token(params, groups, tile, place);
#endif
#if !OCTET_SFA_SWIZZLED
  return right_scales(params, place);
#endif
#endif
}

// Where the math stands: in what is loaded, and in the right operand as bf16, which it makes one block ahead.
struct DirectPosition {
  RingPosition<config::kStages> loaded{0};
  RingPosition<config::kRightStages> made{1}, used{0};
};

// This thread's part of a block of 64 of the right operand, from the 64-byte swizzle of its codes to the 128-byte
// swizzle that the matrix instruction reads: stores of eight neighbour rows spread over all banks. `scales`: of the
// first 32 and the second.
__device__ __forceinline__ void dequantize_right(u32 raw, u32 right, u32 scales) {
  const i32 row = threadIdx.x % config::kBlockN, part = threadIdx.x / config::kBlockN % kRowThreads;
  u32 even[4][kWords], odd[4][kWords];
#pragma unroll
  for (i32 half = 0; half < 2; ++half) {
    u32 codes[2 * kWords], half_even[2 * kWords], half_odd[2 * kWords];
#pragma unroll
    for (i32 i = 0; i < 2; ++i) {
      const i32 piece = half * 2 + i;
      u32 words[kWords];
      shared_load_words(words, raw + row * kBlockK + (piece ^ row / 2 % 4) * 16 + part * kWords * 4);
#pragma unroll
      for (i32 w = 0; w < kWords; ++w) codes[i * kWords + w] = words[w];
    }
    dequantize<kRightE5m2, 2 * kWords>(codes, scales >> half * 8 & 0xff, half_even, half_odd);
#pragma unroll
    for (i32 i = 0; i < 2 * kWords; ++i) {
      even[half * 2 + i / kWords][i % kWords] = half_even[i];
      odd[half * 2 + i / kWords][i % kWords] = half_odd[i];
    }
  }
#pragma unroll
  for (i32 w = 0; w < kWords; ++w) {
    const i32 chunk = (part * kWords + w) * 2;
    const u32 to = right + row * (kBlockK * 2);
    shared_store_16(to + (chunk ^ row % 8) * 16, odd[0][w], odd[1][w], odd[2][w], odd[3][w]);
    shared_store_16(to + ((chunk + 1) ^ row % 8) * 16, even[0][w], even[1][w], even[2][w], even[3][w]);
  }
}

// The whole warpgroup's share of a block of the right operand, once it is loaded.
__device__ __forceinline__ void make_right(SharedStorage& shared, DirectPosition& position, u32 scales) {
  if (kMakers == kMathWarps * 32 || threadIdx.x < kMakers) {
    const i32 stage = position.made.stage;
    shared.right_ring.wait_empty(stage, position.made.parity);
    dequantize_right(shared_address(shared.raw[position.loaded.stage]), shared_address(shared.right[stage]), scales);
    fence_async_proxy();
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(shared.right_ring.full(stage));
  }
  position.made.advance();
}

// Sums a tile over K.
__device__ __forceinline__ void accumulate_tile(const abi::MxGemmParams& params, SharedStorage& shared,
                                                const MathThread& thread, const Tile& tile, DirectPosition& position,
                                                float (&sum)[kStepRegisters]) {
#pragma unroll
  for (i32 r = 0; r < kStepRegisters; ++r) sum[r] = 0.f;
  const i32 blocks = blocks_of_tile(tile);
  if (blocks == 0) return;
  const i32 row = thread.warpgroup * kSlab + thread.row;
  const auto scales0 = left_scales(params, tile, tile.column + row);
  const auto scales1 = left_scales(params, tile, tile.column + row + 8);
  const auto right_row = scales_of_row(params, shared.groups, tile, threadIdx.x % config::kBlockN);
  // Of this thread's 16 codes in the first 64 of a block in the low half, of those in the second 64 in the high half.
  const auto two_of = [&](u32 four) { return four >> thread.lane % 4 / 2 * 8 & 0x00ff00ff; };
  const u32 left_codes = shared_address(shared.left[0]) + row * kBlockK + thread.lane % 4 * 16;
  const u64 right = matrix_descriptor(shared_address(shared.right[0]));
  const auto load_next = [&](u32(&left)[16], u32 right_scales, u32 scale0, u32 scale1) {
    shared.ring.wait_full(position.loaded.stage, position.loaded.parity);
    make_right(shared, position, right_scales);
    load_left(left, left_codes + position.loaded.stage * static_cast<u32>(sizeof(shared.left[0])), scale0 & 0xff,
              scale1 & 0xff);
  };
  const auto multiply = [&](const u32(&left)[16]) {
    shared.right_ring.wait_full(position.used.stage, position.used.parity);
    wgmma_block(sum, left, right + position.used.stage * (sizeof(shared.right[0]) / 16));
  };
  // Of what was loaded last, when the tensor core is done.
  const auto release = [&](i32 loaded_stage) {
    release_stage(shared, thread, loaded_stage);
    if (thread.lane == 0) mbarrier_arrive(shared.right_ring.empty(position.used.stage));
    position.used.advance();
  };

  u32 first[16], second[16];
  u32 scale0 = two_of(four_scales(scales0, 0)), scale1 = two_of(four_scales(scales1, 0));
  u32 right_scale = four_scales(right_row, 0);
  load_next(first, right_scale, scale0, scale1);
#pragma unroll 1
  for (i32 block = 0; block < blocks; ++block) {
    multiply(first);
    i32 stage = position.loaded.stage;
    position.loaded.advance();
    load_next(second, right_scale >> 16, scale0 >> 16, scale1 >> 16);
    const i32 next = min(block + 1, blocks - 1);
    scale0 = two_of(four_scales(scales0, next));
    scale1 = two_of(four_scales(scales1, next));
    right_scale = four_scales(right_row, next);
    wgmma_wait(sum, first);
    release(stage);

    multiply(second);
    stage = position.loaded.stage;
    position.loaded.advance();
    if (block + 1 < blocks) load_next(first, right_scale, scale0, scale1);
    wgmma_wait(sum, second);
    release(stage);
  }
}

}  // namespace octet
