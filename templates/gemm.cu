// Grouped GEMM of FP8 operands on sm_90a.
//
// Forward and dgrad: D[g] = A[g] * B[g]^T
//   A [rows, K] tokens, grouped by rows; B [G, N, K] weights; D [rows, N]
// Wgrad: D[g] = A[:, g] * B[:, g]^T
//   A [N, ld] and B [K, ld] columnwise copies of tokens, groups lie along ld, each at a multiple of 128 with zeros up
//   to the next one; D [G, N, K]
// D = alpha * sum, + bias[g], + beta * D, in f32, rounded once to bf16, fp16 or f32. Scales: docs/numerics.md, "Scale
// layouts". Where K (for wgrad, the rows of a group) has scale factors every 128, the tensor core's sums are multiplied
// by them block by block, else once at the end.
//
// Rows that belong to no group (tail, gaps) may hold anything, NaN included: the copy engine fetches some of them, but
// a row of D depends on its own row of A alone, and rows outside the group are never stored.
//
// One producer warp feeds a ring of stages by TMA, another hands out tiles and prefetches the weights' 128 x 128
// scales, math warpgroups multiply and add. Blocks are persistent. Results do not depend on timing: every element is
// summed by one thread in the order of K, or, where the blocks of a cluster split K, by one thread of each and then in
// the order of the blocks, with no atomics.
#if OCTET_CHECKED
#include "checked_splits.cuh"
#endif
#include "gemm_math.cuh"
#include "gemm_produce.cuh"
#if OCTET_MAPS
#include "gemm_maps.cuh"
#endif
#if OCTET_SPLIT_K
#include "gemm_split.cuh"
#endif
#if OCTET_SWAPPED
#include "gemm_store_swapped.cuh"
#endif
#if !OCTET_SWAPPED
#include "gemm_store.cuh"
#endif

namespace octet {

#if OCTET_PARAM_TABLES
using Params = TableParams;
#endif
#if !OCTET_PARAM_TABLES
using Params = abi::GemmParams;
#endif

// Gives a tile's slot back to its producer. Every lane arrives for its own reads: once a tile that costs nothing, and
// the order of memory accesses is then plain to see, for tools too.
__device__ __forceinline__ void release_tile(SharedStorage& shared, i32 tile_stage) {
  mbarrier_arrive(shared.tile_ring.empty(tile_stage));
}

// The math of one warpgroup over all tiles of this block.
__device__ __forceinline__ void consume(const abi::GemmParams& params, SharedStorage& shared, i32 rank) {
  const MathThread thread(rank);
  RingPosition<config::kStages> position(0);
  RingPosition<2> tile_position(0);
#if OCTET_SPLIT_K
  RingPosition<1> mail(0);
#endif
  for (;; tile_position.advance()) {
    const i32 tile_stage = tile_position.stage;
    shared.tile_ring.wait_full(tile_stage, tile_position.parity);
    const u32 tile_address = shared_address(&shared.tiles[tile_stage]);
    {
      const Tile tile = load_tile(tile_address);
      if (tile.rows == 0) break;
      if (share_of(thread, tile).slabs == 0) {
        skip_tile(shared, thread, blocks_to_sum(tile, rank), position);
        release_tile(shared, tile_stage);
        continue;
      }
    }
    float sum[kSlabs * kSteps][kStepRegisters];
    {
      const Tile tile = load_tile(tile_address);
      const Share share = share_of(thread, tile);
      accumulate_tile(shared, thread, share, sources_of(params, shared, thread, tile, share, tile_stage),
                      blocks_to_sum(tile, rank), position, sum);
    }
    // Read again rather than kept: the loop over K needs every register.
    const Tile tile = load_tile(tile_address);
#if OCTET_SPLIT_K
    store_part(params, shared, thread, tile, share_of(thread, tile), mail, sum);
#endif
#if !OCTET_SPLIT_K
    store_tile(params, shared, thread, tile, share_of(thread, tile), sum);
#endif
    release_tile(shared, tile_stage);
  }
#if !OCTET_SWAPPED
  // Shared memory must outlive the copy engine's reads of it.
  if (threadIdx.x % 128 == 0) tma_store_wait();
#endif
}

}  // namespace octet

extern "C" __global__ void __launch_bounds__(octet::kThreads, octet::config::kBlocksPerSm)
    OCTET_ENTRY(const __grid_constant__ octet::Params params) {
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
    wait_for_earlier_kernels();
#if OCTET_WGRAD
    build_block_table(shared.groups, params.splits, params.capacity, lane);
#endif
#if !OCTET_WGRAD
    build_group_table(shared.groups, params.splits, params.capacity, lane, units_of_group);
#endif
  }
#if OCTET_CHECKED
  if (blockIdx.x == 0 && warp == 3 && lane == 0) {
    wait_for_earlier_kernels();
    check_splits(params.status, params.splits, params.capacity);
  }
#endif
  if (warp == 1 && lane == 0) {
#if OCTET_SPLIT_K
    shared.ring.init(1, kMathWarps);
    init_mail(shared);
#endif
#if !OCTET_SPLIT_K
    // The leader's stages are free when every block of the cluster has read its copy of what is shared.
    shared.ring.init(1, kMathWarps * (rank == 0 ? kCluster : 1));
#endif
    shared.tile_ring.init(32, kMathWarps * 32);
    mbarrier_init_fence();
  }
  if (warp == 2 && lane == 0) {
    tma_prefetch_map(&params.left);
    tma_prefetch_map(&params.right);
#if OCTET_LEFT_VECTOR
    tma_prefetch_map(&params.left_sf);
#endif
#if OCTET_RIGHT_VECTOR
    tma_prefetch_map(&params.right_sf);
#endif
#if !OCTET_SWAPPED
    tma_prefetch_map(&params.d);
#endif
  }
  __syncthreads();
  // No block may signal another one's barriers before they exist.
#if OCTET_SPLIT_K
  cluster_arrive();  // only the math does, and waits: loads need not
#endif
#if OCTET_MULTICAST
  cluster_barrier();
#endif

#if OCTET_SPLIT_K
  constexpr i32 place = 0;  // one tile for the whole cluster
#endif
#if !OCTET_SPLIT_K
  const i32 place = rank;
#endif
  const TileWalk walk(shared.groups, blockIdx.x / kCluster, gridDim.x / kCluster, place);
  if (warp >= kMathWarps) {
#if !OCTET_EVEN_REGISTERS
    registers_decrease<config::kProducerRegisters>();
#endif
    wait_for_earlier_kernels();
    if (warp == kMathWarps && lane == 0) {
      produce_operands(params, shared, walk, rank);
      let_next_kernel_start();
    }
    if (warp == kMathWarps + 1) produce_tiles(params, shared, walk, lane);
  } else {
#if !OCTET_EVEN_REGISTERS
    registers_increase<config::kMathRegisters>();
#endif
    wait_for_earlier_kernels();
#if OCTET_SPLIT_K
    cluster_wait();
#endif
    consume(params, shared, rank);
  }
#if OCTET_CLUSTER
  __syncwarp();
#if OCTET_SPLIT_K
  if (warp >= kMathWarps) cluster_wait();
#endif
  cluster_barrier();  // shared memory and barriers stay until the last remote arrival
#endif
}
