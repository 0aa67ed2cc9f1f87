// The math of the MXFP8 kernel: the left operand on its way through registers, and the sums of a tile.
#pragma once

#include "gemm_mx_shared.cuh"

namespace octet {

// Gives a stage back to the producers that wait for it: this block's, and the leader's, which loads for all.
__device__ __forceinline__ void release_stage(SharedStorage& shared, const MathThread& thread, i32 stage) {
  if (thread.lane == 0) {
#if OCTET_MULTICAST
    if (thread.rank != 0) mbarrier_arrive_remote(shared.ring.empty(stage), 0);
#endif
    mbarrier_arrive(shared.ring.empty(stage));
  }
}

// Scale bytes of a thread's row for a block of 128 along K: of its 16 codes in the first 64 in the low half, of those
// in the second 64 in the high half.
template <typename RowScales>
__device__ __forceinline__ u32 load_scales(const RowScales& scales, const MathThread& thread, i32 block) {
  const i32 first = block * 4 + thread.lane % 4 / 2;
  return scales.at(first) | scales.at(first + 2) << 16;
}

// This thread's part of 64 x 64 of the left operand, as the four steps of the matrix instruction want it. `address`: of
// its 16 codes of its first row. gemm_mx_shared.cuh says why the elements come in this order.
__device__ __forceinline__ void load_left(u32 (&left)[16], u32 address, u32 scale0, u32 scale1) {
#pragma unroll
  for (i32 below = 0; below < 2; ++below) {
    const uint4 piece = shared_load_16(address + below * 8 * kBlockK);
    const u32 codes[4] = {piece.x, piece.y, piece.z, piece.w};
    u32 even[4], odd[4];
    dequantize<kLeftE5m2, 4>(codes, below == 0 ? scale0 : scale1, even, odd);
#pragma unroll
    for (i32 step = 0; step < 4; ++step) {
      left[step * 4 + below] = odd[step];
      left[step * 4 + 2 + below] = even[step];
    }
  }
}

#if !OCTET_DIRECT
// Sums a tile over K. While the tensor core works on one block of 64, the next one's left operand is dequantized.
__device__ __forceinline__ void accumulate_tile(const abi::MxGemmParams& params, SharedStorage& shared,
                                                const MathThread& thread, const Tile& tile,
                                                RingPosition<config::kStages>& position, float (&sum)[kStepRegisters]) {
#pragma unroll
  for (i32 r = 0; r < kStepRegisters; ++r) sum[r] = 0.f;
  const i32 blocks = blocks_of_tile(tile);
  if (blocks == 0) return;
  const i32 row = thread.warpgroup * kSlab + thread.row;
  const auto scales0 = left_scales(params, tile, tile.column + row);
  const auto scales1 = left_scales(params, tile, tile.column + row + 8);
  const u32 left_codes = shared_address(shared.left[0]) + row * kBlockK + thread.lane % 4 * 16;
  const u64 right = matrix_descriptor(shared_address(shared.right[0]));
  const auto left_at = [&](i32 stage) { return left_codes + stage * static_cast<u32>(sizeof(shared.left[0])); };
  const auto right_at = [&](i32 stage) { return right + stage * (sizeof(shared.right[0]) / 16); };

  u32 first[16], second[16];
  u32 scale0 = load_scales(scales0, thread, 0), scale1 = load_scales(scales1, thread, 0);
  shared.ring.wait_full(position.stage, position.parity);
  load_left(first, left_at(position.stage), scale0 & 0xff, scale1 & 0xff);
#pragma unroll 1
  for (i32 block = 0; block < blocks; ++block) {
    wgmma_block(sum, first, right_at(position.stage));
    i32 stage = position.stage;
    position.advance();
    shared.ring.wait_full(position.stage, position.parity);
    load_left(second, left_at(position.stage), scale0 >> 16, scale1 >> 16);
    const i32 next = min(block + 1, blocks - 1);
    scale0 = load_scales(scales0, thread, next);
    scale1 = load_scales(scales1, thread, next);
    wgmma_wait(sum, first);
    release_stage(shared, thread, stage);

    wgmma_block(sum, second, right_at(position.stage));
    stage = position.stage;
    position.advance();
    if (block + 1 < blocks) {
      shared.ring.wait_full(position.stage, position.parity);
      load_left(first, left_at(position.stage), scale0 & 0xff, scale1 & 0xff);
    }
    wgmma_wait(sum, second);
    release_stage(shared, thread, stage);
  }
}

// A warpgroup without columns of D still takes part in the protocol.
__device__ __forceinline__ void skip_tile(SharedStorage& shared, const MathThread& thread, i32 blocks,
                                          RingPosition<config::kStages>& position) {
  for (i32 block = 0; block < 2 * blocks; ++block) {
    shared.ring.wait_full(position.stage, position.parity);
    __syncwarp();  // no lane may still wait when the stage goes round
    release_stage(shared, thread, position.stage);
    position.advance();
  }
}
#endif

}  // namespace octet
