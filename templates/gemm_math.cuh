// The sum over K of one warpgroup's share of a tile.
//
// The tensor core's own sum keeps about 14 bits, so each block of 128 along K starts afresh and is added in f32 to the
// running sum, times its scales where they change along K.
#pragma once

#include "gemm_shared.cuh"

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

// Where a warpgroup's operands and their scales stand in the first stage.
struct Sources {
  u64 left, right;  // matrix descriptors
#if OCTET_LEFT_VECTOR
  u32 left_sf;
#endif
#if OCTET_RIGHT_VECTOR
  u32 right_sf;
#endif
#if OCTET_TILE_SCALES
  u32 tile_sf;
#endif
#if OCTET_STREAMED_SCALES
  const float* streamed_sf;  // one row of 128 x 128 scales per block along K
  i32 streamed_step[kSteps];
#endif
};

__device__ __forceinline__ Sources sources_of(const abi::GemmParams& params, SharedStorage& shared,
                                              const MathThread& thread, const Tile& tile, const Share& share,
                                              i32 tile_stage) {
  Sources sources;
  sources.left = matrix_descriptor(shared_address(shared.left[0]) + share.row * kBlockK);
  sources.right = matrix_descriptor(shared_address(shared.right[0]) + share.column * kBlockK);
#if OCTET_LEFT_VECTOR
  i32 left_row = share.row + thread.row;
#if OCTET_LEFT_TOKEN_VECTOR
  left_row += token_scale_x(tile) & 3;
#endif
  sources.left_sf = shared_address(&shared.left_sf[0][left_row]);
#endif
#if OCTET_RIGHT_VECTOR
  i32 right_row = share.column + thread.lane % 4 * 2;
#if OCTET_RIGHT_TOKEN_VECTOR
  right_row += token_scale_x(tile) & 3;
#endif
  sources.right_sf = shared_address(&shared.right_sf[0][right_row]);
#endif
#if OCTET_TILE_SCALES
#if OCTET_SWAPPED
  sources.tile_sf = shared_address(
      &shared.tile_sf[tile_stage][(tile.column % 128 + share.row) / 128][first_block_to_sum(thread.rank)]);
#endif
#if !OCTET_SWAPPED
  sources.tile_sf = shared_address(&shared.tile_sf[tile_stage][share.column / 128][0]);
#endif
#endif
#if OCTET_STREAMED_SCALES
  constexpr i32 kScaleColumns = (kOutputColumns + 127) / 128;
  // Columns past the last have no scales; their products are never stored.
  sources.streamed_sf = params.sfb + static_cast<i64>(tile.first_block) * kScaleColumns;
#pragma unroll
  for (i32 step = 0; step < kSteps; ++step) {
    sources.streamed_step[step] = min((tile.column + share.column) / 128 + step, kScaleColumns - 1);
  }
#endif
  return sources;
}

#if OCTET_RIGHT_VECTOR
// Scales of this thread's columns: two neighbours of every eight.
__device__ __forceinline__ void load_column_scales(float (&scales)[kStep / 4], u32 address) {
#pragma unroll
  for (i32 j = 0; j < kStep / 8; ++j) {
#if OCTET_RIGHT_TOKEN_VECTOR
    scales[2 * j] = shared_load(address + j * 32);  // from any row on
    scales[2 * j + 1] = shared_load(address + j * 32 + 4);
#endif
#if !OCTET_RIGHT_TOKEN_VECTOR
    const float2 pair = shared_load_8(address + j * 32);
    scales[2 * j] = pair.x;
    scales[2 * j + 1] = pair.y;
#endif
  }
}
#endif

#if !OCTET_FASTACC
// total += partial, times the scales of this block along K.
struct Scales {
#if OCTET_ROW_FACTORS
  float row0, row1;  // of this thread's two rows
#endif
#if OCTET_RIGHT_VECTOR
  float column[kStep / 4];
#endif
};

__device__ __forceinline__ void promote(float (&total)[kStepRegisters], const float (&partial)[kStepRegisters],
                                        const Scales& scales) {
#pragma unroll
  for (i32 r = 0; r < kStepRegisters; r += 4) {
#if OCTET_ROW_FACTORS
#if OCTET_RIGHT_VECTOR
    const float column0 = scales.column[r / 2], column1 = scales.column[r / 2 + 1];
    total[r] += (scales.row0 * column0) * partial[r];
    total[r + 1] += (scales.row0 * column1) * partial[r + 1];
    total[r + 2] += (scales.row1 * column0) * partial[r + 2];
    total[r + 3] += (scales.row1 * column1) * partial[r + 3];
#endif
#if !OCTET_RIGHT_VECTOR
    total[r] += scales.row0 * partial[r];
    total[r + 1] += scales.row0 * partial[r + 1];
    total[r + 2] += scales.row1 * partial[r + 2];
    total[r + 3] += scales.row1 * partial[r + 3];
#endif
#endif
#if !OCTET_ROW_FACTORS
#pragma unroll
    for (i32 i = 0; i < 4; ++i) {
      total[r + i] += partial[r + i];
      asm volatile("" : "+f"(total[r + i]));  // here and now: ptxas puts sums off until they spill
    }
#endif
  }
}
#endif

// Sums the share of a tile over K. A narrow share is one slab by one step; a branch around the rest, which ptxas lets
// stand because each product is waited for within it, costs nothing and halves the code.
__device__ __forceinline__ void accumulate_tile(SharedStorage& shared, const MathThread& thread, const Share& share,
                                                const Sources& sources, i32 blocks,
                                                RingPosition<config::kStages>& position,
                                                float (&sum)[kSlabs * kSteps][kStepRegisters]) {
  const bool narrow = kSlabs * kSteps > 1 && share.slabs * share.steps == 1;
#pragma unroll
  for (i32 i = 0; i < kSlabs * kSteps; ++i)
#pragma unroll
    for (i32 r = 0; r < kStepRegisters; ++r) sum[i][r] = 0.f;

#if OCTET_FASTACC
  for (i32 block = 0; block < blocks; ++block) {
    const i32 stage = position.stage;
    shared.ring.wait_full(stage, position.parity);
    const u64 left = sources.left + stage * (sizeof(shared.left[0]) / 16);
    const u64 right = sources.right + stage * (sizeof(shared.right[0]) / 16);
#pragma unroll
    for (i32 i = 0; i < kSlabs * kSteps; ++i) {
      if (narrow && i > 0) break;
      wgmma_block<true>(sum[i], left + i / kSteps * (kSlabStride * kBlockK / 16),
                        right + i % kSteps * (kStep * kBlockK / 16));
      wgmma_wait(sum[i]);
    }
    release_stage(shared, thread, stage);
    position.advance();
  }
#endif
#if !OCTET_FASTACC
  float partial[kStepRegisters];
  Scales scales;
#if OCTET_STREAMED_SCALES
  constexpr i32 kScaleColumns = (kOutputColumns + 127) / 128;
  const float* streamed = sources.streamed_sf;
  float block_sf[kSteps], next_sf[kSteps];
#pragma unroll
  for (i32 step = 0; step < kSteps; ++step)
    next_sf[step] = blocks > 0 ? __ldg(streamed + sources.streamed_step[step]) : 0.f;
#endif
#if OCTET_EARLY_WAIT
  if (blocks > 0) shared.ring.wait_full(position.stage, position.parity);
#endif
#pragma unroll(config::kUnrollK)
  for (i32 block = 0; block < blocks; ++block) {
    const i32 stage = position.stage;
#if OCTET_STREAMED_SCALES
    streamed += block + 1 < blocks ? kScaleColumns : 0;
#pragma unroll
    for (i32 step = 0; step < kSteps; ++step) {
      block_sf[step] = next_sf[step];
      next_sf[step] = __ldg(streamed + sources.streamed_step[step]);
    }
#endif
#if !OCTET_EARLY_WAIT
    shared.ring.wait_full(stage, position.parity);
#endif
    const u64 left = sources.left + stage * (sizeof(shared.left[0]) / 16);
    const u64 right = sources.right + stage * (sizeof(shared.right[0]) / 16);
#pragma unroll
    for (i32 step = 0; step < kSteps; ++step) {
#if OCTET_TILE_SCALES
#if OCTET_SWAPPED
      const float step_sf = shared_load(sources.tile_sf + block * sizeof(float));
#endif
#if !OCTET_SWAPPED
      const float step_sf = shared_load(sources.tile_sf + (step * kBlocksK + block) * sizeof(float));
#endif
#endif
#if OCTET_STREAMED_SCALES
      const float step_sf = block_sf[step];
#endif
#pragma unroll
      for (i32 slab = 0; slab < kSlabs; ++slab) {
        if (narrow && step + slab > 0) break;
        wgmma_block<false>(partial, left + slab * (kSlabStride * kBlockK / 16), right + step * (kStep * kBlockK / 16));
        // In the shadow of the matrix instructions: the scales of this thread's rows and columns.
#if OCTET_LEFT_VECTOR
        const u32 left_sf =
            sources.left_sf + stage * static_cast<u32>(sizeof(shared.left_sf[0])) + slab * kSlabStride * sizeof(float);
        scales.row0 = shared_load(left_sf);
        scales.row1 = shared_load(left_sf + 8 * sizeof(float));
#endif
#if OCTET_BLOCK_SCALES
#if OCTET_LEFT_VECTOR
        scales.row0 *= step_sf;
        scales.row1 *= step_sf;
#endif
#if !OCTET_LEFT_VECTOR
        scales.row0 = scales.row1 = step_sf;
#endif
#endif
#if OCTET_RIGHT_VECTOR
        if (slab == 0) {
          load_column_scales(scales.column, sources.right_sf + stage * static_cast<u32>(sizeof(shared.right_sf[0])) +
                                                step * kStep * static_cast<u32>(sizeof(float)));
        }
#endif
#if OCTET_ROW_FACTORS
        asm volatile("" : "+f"(scales.row0), "+f"(scales.row1));
#endif
#if OCTET_EARLY_WAIT
        // And the arrival of the next block.
        if (narrow || (step == kSteps - 1 && slab == kSlabs - 1)) {
          position.advance();
          if (block + 1 < blocks) shared.ring.wait_full(position.stage, position.parity);
        }
#endif
        wgmma_wait(partial);
        if (narrow || (step == kSteps - 1 && slab == kSlabs - 1)) release_stage(shared, thread, stage);
        promote(sum[slab * kSteps + step], partial, scales);
      }
    }
#if !OCTET_EARLY_WAIT
    position.advance();
#endif
  }
#endif
}

// A warpgroup without rows still takes part in the protocol.
__device__ __forceinline__ void skip_tile(SharedStorage& shared, const MathThread& thread, i32 blocks,
                                          RingPosition<config::kStages>& position) {
#pragma unroll 1
  for (i32 block = 0; block < blocks; ++block) {
    shared.ring.wait_full(position.stage, position.parity);
    __syncwarp();  // no lane may still wait when the stage goes round
    release_stage(shared, thread, position.stage);
    position.advance();
  }
}

}  // namespace octet
