// Split K: the blocks of a cluster sum one tile together, each its share of the blocks along K, and each of them
// finishes and stores an equal part of the tile's tokens.
//
// Every thread sends its sums to the threads of the same place in the other blocks, and to itself, through shared
// memory of the cluster. A warpgroup's mailbox holds what it was sent, one letter of each block, until it has added
// them in the order of the blocks and turned the result in the same memory.
#pragma once

#include "gemm_store_swapped.cuh"

namespace octet {

constexpr u32 kLetterBytes = kChunkBytes / config::kSplitK;
static_assert(kTokens % 16 == 0, "tokens are turned 16 at a time");

// A mailbox is full when all bytes have come, and empty when every warp of every block that is sent letters has taken
// its own. One thread.
__device__ __forceinline__ void init_mail(SharedStorage& shared) {
  for (i32 warpgroup = 0; warpgroup < kMathWarpgroups; ++warpgroup) shared.mail[warpgroup].init(1, 4 * config::kSplitK);
}

// Sends each block its tokens' sums.
__device__ __forceinline__ void send_parts(SharedStorage& shared, const MathThread& thread, u32 parity,
                                           const float (&sum)[kStepRegisters]) {
  Ring<1>& mail = shared.mail[thread.warpgroup];
  mbarrier_wait_cluster(mail.empty(0), parity ^ 1);
  if (threadIdx.x % 128 == 0) mbarrier_arrive_expect_tx(mail.full(0), kChunkBytes);
  const u32 letter =
      shared_address(shared.staging[thread.warpgroup]) + thread.rank * kLetterBytes + threadIdx.x % 128 * 16;
#pragma unroll
  for (i32 block = 0; block < config::kSplitK; ++block) {
    const u32 remote = address_in_block(letter, block), full = address_in_block(mail.full(0), block);
#pragma unroll
    for (i32 i = 0; i < kTokenRegisters; i += 4) {
      const float* v = &sum[block * kTokenRegisters + i];
      store_async_16(remote + i / 4 * 128 * 16, v[0], v[1], v[2], v[3], full);
    }
  }
}

// Adds what all blocks sent for the tokens of this one.
__device__ __forceinline__ void add_parts(SharedStorage& shared, const MathThread& thread, u32 parity,
                                          float (&part)[kTokenRegisters]) {
  mbarrier_wait_cluster(shared.mail[thread.warpgroup].full(0), parity);
  const u32 letter = shared_address(shared.staging[thread.warpgroup]) + threadIdx.x % 128 * 16;
#pragma unroll
  for (i32 i = 0; i < kTokenRegisters; ++i) part[i] = 0.f;
#pragma unroll
  for (i32 block = 0; block < config::kSplitK; ++block) {
#pragma unroll
    for (i32 i = 0; i < kTokenRegisters; i += 4) {
      const uint4 v = shared_load_16(letter + block * kLetterBytes + i / 4 * 128 * 16);
      part[i] += __uint_as_float(v.x);
      part[i + 1] += __uint_as_float(v.y);
      part[i + 2] += __uint_as_float(v.z);
      part[i + 3] += __uint_as_float(v.w);
    }
  }
}

// Lets every block send this warp's letters of the next tile.
__device__ __forceinline__ void release_mail(SharedStorage& shared, const MathThread& thread) {
  __syncwarp();
  if (thread.lane < config::kSplitK) {
    mbarrier_release_remote(shared.mail[thread.warpgroup].empty(0), thread.lane);
  }
}

// Adds up and stores this warpgroup's part of a tile. All blocks of a cluster come here for the same tiles.
__device__ __forceinline__ void store_part(const abi::GemmParams& params, SharedStorage& shared,
                                           const MathThread& thread, Tile tile, const Share& share,
                                           RingPosition<1>& mail, const float (&sum)[1][kStepRegisters]) {
  send_parts(shared, thread, mail.parity, sum[0]);
  float part[1][kTokenRegisters];
  add_parts(shared, thread, mail.parity, part[0]);
  mail.advance();
  // To the rest, its tokens are a tile of their own.
  tile.row += thread.rank * kTokens;
  tile.rows -= thread.rank * kTokens;
  if (tile.rows > 0) store_tile(params, shared, thread, tile, share, part);
  release_mail(shared, thread);
}

}  // namespace octet
