// Grouped GEMM of MXFP8 operands (E8M0 scales of 32 along K) on sm_90a, through exact bf16.
//
// Forward and dgrad: D[g] = A[g] * B[g]^T
//   A [rows, K] tokens, grouped by rows; B [G, N, K] weights; D [rows, N]
// Wgrad: D[g] = A[:, g] * B[:, g]^T
//   A [N, ld] and B [K, ld] columnwise copies of tokens, groups lie along ld, each at a multiple of 128 with zeros up
//   to the next one; D [G, N, K]
// A is the operand with fewer rows of the two: where K < N, read A for B, N for K and the other way round in these
// files, and D as turned.
// D = alpha * sum, + bias[g], + beta * D, in f32, rounded once to bf16, fp16 or f32. Scales: docs/numerics.md, "Scale
// layouts".
//
// Hopper has no instruction for FP8 with block scales, but an FP8 code times a power of two fits in bf16, and bf16
// products are exact and summed in f32 by the tensor core. So A becomes bf16 in the workspace, by a pass of its own
// whose cost grows with the tokens, or without one (OCTET_DIRECT) in shared memory, again for every tile that reads it;
// and B becomes bf16 in registers on its way to the matrix instruction. No sum needs
// promotion. What bf16 cannot hold (scale bytes below 3 or above 246 of e4m3, 10 and 239 of e5m2, with data that are
// not zero) and NaN in data or scales make the sum a NaN; such elements of D, with their neighbours in 16 bytes, are
// computed again by scalar arithmetic, so that they too are right, only slowly.
//
// Rows that belong to no group (tail, gaps) may hold anything, NaN included: the pass does not read them, the copy
// engine may fetch them, or what an earlier use left in their place of the workspace, but a row of D depends on its own
// row of A alone, and rows outside the group are never stored.
//
// One producer warp feeds a ring of stages by TMA, another hands out tiles, two math warpgroups multiply. Blocks are
// persistent. Results do not depend on timing: every element is summed by one thread in the order of K.
#if !OCTET_RENDERED
#include "sample/mx_config.h"
#endif
#if OCTET_CHECKED
#include "checked_splits.cuh"
#endif
#if OCTET_DIRECT
#include "gemm_mx_direct.cuh"
#endif
#if !OCTET_DIRECT
#include "gemm_mx_math.cuh"
#include "gemm_mx_pass.cuh"
#endif
#include "gemm_mx_store.cuh"

namespace octet {

// Rows of both operands where a tile begins, and its first element along K.
struct Sides {
  i32 left, right, k;
};
__device__ __forceinline__ Sides sides_of(const Tile& tile) {
#if OCTET_WGRAD
  return {tile.column, tile.row, tile.first_block * 128};
#endif
#if !OCTET_WGRAD
  return {tile.group * config::kN + tile.column, tile.row, 0};
#endif
}

// Feeds the operands of every tile to the ring. One thread.
__device__ __forceinline__ void produce_operands(const abi::MxGemmParams& params, SharedStorage& shared, TileWalk walk,
                                                 i32 rank) {
  RingPosition<config::kStages> position(1);  // the ring starts empty
  Tile tile;
  while (walk.next(tile)) {
    const Sides sides = sides_of(tile);
    const i32 blocks = 2 * blocks_of_tile(tile);
#pragma unroll 1  // the addresses of several stages would not fit a producer's registers
    for (i32 block = 0; block < blocks; ++block) {
      const i32 stage = position.stage, k = sides.k + block * kBlockK;
      shared.ring.wait_empty(stage, position.parity);
      const u32 full = shared.ring.full(stage);
      mbarrier_arrive_expect_tx(full, kStageBytes);
      tma_load(shared_address(shared.left[stage]), &params.left, full, k, sides.left);
#if OCTET_MULTICAST
      // The blocks of a cluster share tokens; the first one loads them for all, which then all expect their bytes.
      if (rank == 0) {
        tma_load_multicast(shared_address(shared.loaded_right(stage)), &params.right, full, k, sides.right,
                           (1 << kCluster) - 1);
      }
#endif
#if !OCTET_MULTICAST
      tma_load(shared_address(shared.loaded_right(stage)), &params.right, full, k, sides.right);
#endif
      position.advance();
    }
  }
}

// Hands every tile to the math, a tile ahead of it. A tile without rows ends the walk. One warp.
__device__ __forceinline__ void produce_tiles(SharedStorage& shared, TileWalk walk, i32 lane) {
  RingPosition<2> position(1);
  Tile tile{};
  bool more = true;
  while (more) {
    more = walk.next(tile);
    if (!more) tile.rows = 0;
    shared.tile_ring.wait_empty(position.stage, position.parity);
    if (lane == 0) shared.tiles[position.stage] = tile;
    mbarrier_arrive(shared.tile_ring.full(position.stage));
    position.advance();
  }
}

// The math of one warpgroup over all tiles of this block.
__device__ __forceinline__ void consume(const abi::MxGemmParams& params, SharedStorage& shared, i32 rank) {
  const MathThread thread(rank);
#if OCTET_DIRECT
  DirectPosition position;
#endif
#if !OCTET_DIRECT
  RingPosition<config::kStages> position(0);
#endif
  RingPosition<2> tile_position(0);
  for (;; tile_position.advance()) {
    const i32 tile_stage = tile_position.stage;
    shared.tile_ring.wait_full(tile_stage, tile_position.parity);
    const u32 tile_address = shared_address(&shared.tiles[tile_stage]);
    float sum[kStepRegisters];
    {
      const Tile tile = load_tile(tile_address);
      if (tile.rows == 0) break;
#if !OCTET_DIRECT
      if (tile.column + thread.warpgroup * kSlab >= kOutputColumns) {
        skip_tile(shared, thread, blocks_of_tile(tile), position);
        mbarrier_arrive(shared.tile_ring.empty(tile_stage));
        continue;
      }
#endif
      accumulate_tile(params, shared, thread, tile, position, sum);
    }
    // Read again rather than kept: the loop over K needs every register.
    store_tile(params, shared, thread, load_tile(tile_address), sum);
    mbarrier_arrive(shared.tile_ring.empty(tile_stage));
  }
}

}  // namespace octet
#if !OCTET_DIRECT

extern "C" __global__ void __launch_bounds__(octet::kThreads)
    OCTET_DEQUANTIZE_ENTRY(const __grid_constant__ octet::abi::MxGemmParams params) {
  using namespace octet;
  __shared__ GroupTable groups;
  wait_for_earlier_kernels();
  if (threadIdx.x < 32) build_group_table(groups, params.splits, params.capacity, threadIdx.x, blocks_of_tokens);
  __syncthreads();
  PassWalk walk(groups);
  for (PassItem item; walk.next(item);) dequantize_item(params, item, threadIdx.x % 32);
}
#endif

extern "C" __global__ void __launch_bounds__(octet::kThreads, 1)
    OCTET_ENTRY(const __grid_constant__ octet::abi::MxGemmParams params) {
  using namespace octet;
  extern __shared__ __align__(1024) u8 shared_bytes[];
  SharedStorage& shared = *reinterpret_cast<SharedStorage*>(shared_bytes);
  const i32 warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
#if OCTET_CLUSTER
  const i32 rank = static_cast<i32>(cluster_block_rank());
#endif
#if !OCTET_CLUSTER
  constexpr i32 rank = 0;
#endif

  if (warp == 0) {
#if OCTET_DIRECT
    wait_for_earlier_kernels();  // the pass, where there is one, has waited for whoever made the splits
#endif
#if OCTET_WGRAD
    build_block_table(shared.groups, params.splits, params.capacity, lane);
#endif
#if !OCTET_WGRAD
    build_group_table(shared.groups, params.splits, params.capacity, lane, units_of_group);
#endif
  }
#if OCTET_CHECKED
  if (blockIdx.x == 0 && warp == 3 && lane == 0) {
#if OCTET_DIRECT
    wait_for_earlier_kernels();
#endif
    check_splits(params.status, params.splits, params.capacity);
  }
#endif
  if (warp == 1 && lane == 0) {
    // The leader's stages are free when every block of the cluster has read its copy of what is shared.
    shared.ring.init(1, kMathWarps * (rank == 0 ? kCluster : 1));
#if OCTET_DIRECT
    shared.right_ring.init(kMakers / 32, kMathWarps);
#endif
    shared.tile_ring.init(32, kMathWarps * 32);
    mbarrier_init_fence();
  }
  if (warp == 2 && lane == 0) {
    tma_prefetch_map(&params.left);
    tma_prefetch_map(&params.right);
  }
  __syncthreads();
#if OCTET_CLUSTER
  cluster_barrier();  // no block may signal another one's barriers before they exist
#endif

  const TileWalk walk(shared.groups, blockIdx.x / kCluster, gridDim.x / kCluster, rank);
  if (warp >= kMathWarps) {
    registers_decrease<config::kProducerRegisters>();
    // The pass has written the workspace, where this kernel was started ahead of its end.
    wait_for_earlier_kernels();
    if (warp == kMathWarps && lane == 0) produce_operands(params, shared, walk, rank);
    if (warp == kMathWarps + 1) produce_tiles(shared, walk, lane);
  } else {
    registers_increase<config::kMathRegisters>();
    wait_for_earlier_kernels();
    consume(params, shared, rank);
  }
#if OCTET_CLUSTER
  __syncwarp();
  cluster_barrier();  // shared memory and barriers stay until the last remote arrival
#endif
}
