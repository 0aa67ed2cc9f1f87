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
// summed by one thread in the order of K, with no atomics.
#if OCTET_CHECKED
#include "checked_splits.cuh"
#endif
#include "gemm_math.cuh"
#if OCTET_SWAPPED
#include "gemm_store_swapped.cuh"
#endif
#if !OCTET_SWAPPED
#include "gemm_store.cuh"
#endif

namespace octet {

#if OCTET_CLUSTER
// Loads a box for this block, or, when it is shared, for every block of the cluster, which then all expect its bytes.
__device__ __forceinline__ void load_shared(void* destination, const void* map, u32 full, i32 x, i32 y, bool is_shared,
                                            i32 rank) {
  if (!is_shared)
    tma_load(shared_address(destination), map, full, x, y);
  else if (rank == 0)
    tma_load_multicast(shared_address(destination), map, full, x, y, (1 << kCluster) - 1);
}
#endif

// Rows of both operands and of their scales where a tile begins, and its first block along K.
struct Sides {
  i32 left, right;  // rows
  i32 block;
#if OCTET_LEFT_VECTOR
  i32 left_sf_x, left_sf_y;
#endif
#if OCTET_RIGHT_VECTOR
  i32 right_sf_x, right_sf_y;
#endif
};

__device__ __forceinline__ Sides sides_of(const Tile& tile) {
  Sides sides{};
#if OCTET_WGRAD
  sides.left = tile.row;
  sides.right = tile.column;
#if !OCTET_DEEPGEMM
  sides.block = tile.first_block;
#endif
#if OCTET_LEFT_VECTOR
  sides.left_sf_x = tile.row;
  sides.left_sf_y = tile.first_block;
#endif
#if OCTET_RIGHT_VECTOR
  sides.right_sf_x = tile.column;
  sides.right_sf_y = tile.first_block;
#endif
#endif
#if !OCTET_WGRAD
#if OCTET_POINTERS
  const i32 weight = tile.column;  // each group's weights have maps of their own
#endif
#if !OCTET_POINTERS
  const i32 weight = tile.group * config::kN + tile.column;
#endif
#if OCTET_WEIGHT_VECTOR
#if OCTET_WEIGHT_COLUMNS
#if OCTET_POINTERS
  const i32 weight_sf_x = weight, weight_sf_y = 0;
#endif
#if !OCTET_POINTERS
  const i32 weight_sf_x = tile.column, weight_sf_y = tile.group * kBlocksK;
#endif
#endif
#if !OCTET_WEIGHT_COLUMNS
  const i32 weight_sf_x = weight, weight_sf_y = 0;
#endif
#endif
#if OCTET_SWAPPED
  sides.left = weight;
  sides.right = tile.row;
#if OCTET_WEIGHT_VECTOR
  sides.left_sf_x = weight_sf_x;
  sides.left_sf_y = weight_sf_y;
#endif
#if OCTET_TOKEN_VECTOR
  sides.right_sf_x = token_scale_x(tile) & ~3;
  sides.right_sf_y = token_scale_y(tile);
#endif
#endif
#if !OCTET_SWAPPED
  sides.left = tile.row;
  sides.right = weight;
#if OCTET_WEIGHT_VECTOR
  sides.right_sf_x = weight_sf_x;
  sides.right_sf_y = weight_sf_y;
#endif
#if OCTET_TOKEN_VECTOR
  sides.left_sf_x = token_scale_x(tile) & ~3;
  sides.left_sf_y = token_scale_y(tile);
#endif
#endif
#endif
  return sides;
}

// The maps that a tile is loaded through.
struct LoadMaps {
  const abi::TensorMap *left, *right;
#if OCTET_LEFT_VECTOR
  const abi::TensorMap* left_sf;
#endif
#if OCTET_RIGHT_VECTOR
  const abi::TensorMap* right_sf;
#endif
};

__device__ __forceinline__ LoadMaps maps_of(const abi::GemmParams& params, const Tile& tile) {
  LoadMaps maps;
  maps.left = &params.left;
  maps.right = &params.right;
#if OCTET_LEFT_VECTOR
  maps.left_sf = &params.left_sf;
#endif
#if OCTET_RIGHT_VECTOR
  maps.right_sf = &params.right_sf;
#endif
  if (blocks_of_tile(tile) == 0) return maps;  // without rows there may be none
#if OCTET_LEFT_MAPS
  maps.left = params.left_maps + tile.group;
  acquire_map(maps.left);
#endif
#if OCTET_RIGHT_MAPS
  maps.right = params.right_maps + tile.group;
  acquire_map(maps.right);
#endif
#if OCTET_LEFT_SF_MAPS
  maps.left_sf = params.sf_maps + tile.group;
  acquire_map(maps.left_sf);
#endif
#if OCTET_RIGHT_SF_MAPS
  maps.right_sf = params.sf_maps + tile.group;
  acquire_map(maps.right_sf);
#endif
  return maps;
}

// Feeds the operands of every tile, and their scales, to the ring. One thread.
__device__ __forceinline__ void produce_operands(const abi::GemmParams& params, SharedStorage& shared, TileWalk walk,
                                                 i32 rank) {
  RingPosition<config::kStages> position(1);  // the ring starts empty
#if OCTET_SWAPPED
  const u64 read_once = policy_read_once();
#endif
  Tile tile;
  while (walk.next(tile)) {
    const Sides sides = sides_of(tile);
    const LoadMaps maps = maps_of(params, tile);
    const i32 blocks = blocks_of_tile(tile);
#pragma unroll 1  // it has few registers
    for (i32 block = 0; block < blocks; ++block) {
      const i32 stage = position.stage, k = (sides.block + block) * kBlockK;
      shared.ring.wait_empty(stage, position.parity);
      const u32 full = shared.ring.full(stage);
      mbarrier_arrive_expect_tx(full, kStageBytes);
#if !OCTET_CLUSTER
#if OCTET_SWAPPED
      tma_load_hinted(shared_address(shared.left[stage]), maps.left, full, k, sides.left, read_once);
#endif
#if !OCTET_SWAPPED
      tma_load(shared_address(shared.left[stage]), maps.left, full, k, sides.left);
#endif
      tma_load(shared_address(shared.right[stage]), maps.right, full, k, sides.right);
#endif
#if OCTET_CLUSTER
      // What the blocks of a cluster share, the first one loads for all.
#if OCTET_CLUSTER_M
      const bool shares_right = walk.shares_columns();
#endif
#if !OCTET_CLUSTER_M
      constexpr bool shares_right = false;
#endif
      load_shared(shared.left[stage], maps.left, full, k, sides.left, !shares_right, rank);
      load_shared(shared.right[stage], maps.right, full, k, sides.right, shares_right, rank);
#endif
#if OCTET_LEFT_VECTOR
#pragma unroll
      for (i32 box = 0; box < config::kLeftScaleBoxes; ++box) {
        tma_load(shared_address(&shared.left_sf[stage][box * config::kLeftScaleRows]), maps.left_sf, full,
                 sides.left_sf_x + box * config::kLeftScaleRows, sides.left_sf_y + block);
      }
#endif
#if OCTET_RIGHT_VECTOR
      tma_load(shared_address(shared.right_sf[stage]), maps.right_sf, full, sides.right_sf_x, sides.right_sf_y + block);
#endif
      position.advance();
    }
  }
}

// Hands every tile, with the scales of its weights, to the math, a tile ahead of it, so that the math neither walks nor
// waits for global memory. A tile without rows ends the walk. One warp.
__device__ __forceinline__ void produce_tiles(const abi::GemmParams& params, SharedStorage& shared, TileWalk walk,
                                              i32 lane) {
  RingPosition<2> position(1);
  Tile tile{};
  bool more = true;
  while (more) {
    more = walk.next(tile);
    if (!more) tile.rows = 0;
    shared.tile_ring.wait_empty(position.stage, position.parity);
    if (lane == 0) shared.tiles[position.stage] = tile;
#if OCTET_TILE_SCALES
    constexpr i32 kScaleRows = (config::kN + 127) / 128;
#pragma unroll
    for (i32 n = 0; n < config::kTileScaleRows; ++n) {
      // Columns past N have no scales; their products are never stored.
      const i32 row = min(tile.column / 128 + n, kScaleRows - 1);
#if OCTET_SFB_POINTERS
      const float* sfb = more ? params.sfb_pointers[tile.group] : nullptr;
#endif
#if !OCTET_SFB_POINTERS
      const float* sfb = params.sfb + static_cast<i64>(tile.group) * kScaleRows * kBlocksK;
#endif
#if OCTET_SFB_TURNED
      const float* source = sfb + row;
      constexpr i32 kNext = kScaleRows;
#endif
#if !OCTET_SFB_TURNED
      const float* source = sfb + static_cast<i64>(row) * kBlocksK;
      constexpr i32 kNext = 1;
#endif
#pragma unroll 4
      for (i32 block = lane; block < kBlocksK; block += 32) {
        if (more) shared.tile_sf[position.stage][n][block] = __ldg(source + block * kNext);
      }
    }
#endif
    mbarrier_arrive(shared.tile_ring.full(position.stage));
    position.advance();
  }
}

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
  for (;; tile_position.advance()) {
    const i32 tile_stage = tile_position.stage;
    shared.tile_ring.wait_full(tile_stage, tile_position.parity);
    const u32 tile_address = shared_address(&shared.tiles[tile_stage]);
    {
      const Tile tile = load_tile(tile_address);
      if (tile.rows == 0) break;
      if (share_of(thread, tile).slabs == 0) {
        skip_tile(shared, thread, blocks_of_tile(tile), position);
        release_tile(shared, tile_stage);
        continue;
      }
    }
    float sum[kSlabs * kSteps][kStepRegisters];
    {
      const Tile tile = load_tile(tile_address);
      const Share share = share_of(thread, tile);
      accumulate_tile(shared, thread, share, sources_of(params, shared, thread, tile, share, tile_stage),
                      blocks_of_tile(tile), position, sum);
    }
    // Read again rather than kept: the loop over K needs every register.
    const Tile tile = load_tile(tile_address);
    store_tile(params, shared, thread, tile, share_of(thread, tile), sum);
    release_tile(shared, tile_stage);
  }
#if !OCTET_SWAPPED
  // Shared memory must outlive the copy engine's reads of it.
  if (threadIdx.x % 128 == 0) tma_store_wait();
#endif
}

}  // namespace octet

extern "C" __global__ void __launch_bounds__(octet::kThreads, octet::config::kBlocksPerSm)
    OCTET_ENTRY(const __grid_constant__ octet::abi::GemmParams params) {
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
    // The leader's stages are free when every block of the cluster has read its copy of what is shared.
    shared.ring.init(1, kMathWarps * (rank == 0 ? kCluster : 1));
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
#if OCTET_CLUSTER
  cluster_barrier();  // no block may signal another one's barriers before they exist
#endif

  const TileWalk walk(shared.groups, blockIdx.x / kCluster, gridDim.x / kCluster, rank);
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
    consume(params, shared, rank);
  }
#if OCTET_CLUSTER
  __syncwarp();
  cluster_barrier();  // shared memory and barriers stay until the last remote arrival
#endif
}
#if OCTET_MAPS

// Makes a tensor map for each group in the workspace, or puts pointers there. One block.
extern "C" __global__ void OCTET_POINTERS_ENTRY(const __grid_constant__ octet::abi::MapParams params) {
  using namespace octet;
  wait_for_earlier_kernels();
#if OCTET_DEEPGEMM
  __shared__ BlockTable table;
  if (params.data != nullptr && threadIdx.x < 32) {
    build_block_table(table, params.splits, params.capacity, threadIdx.x);
  }
  __syncthreads();
#endif
  for (i32 i = threadIdx.x; i < params.count; i += blockDim.x) {
    const i32 group = params.first + i;
#if OCTET_DEEPGEMM
    if (params.data != nullptr) {
      // A group's block is [rows of the operand][rows of the group, a multiple of 128]; within the buffer, also where a
      // group is not what it should be.
      const i64 before = static_cast<i64>(table.first_block[group]) * 128, left = params.capacity - before;
      const i32 rows = static_cast<i32>(min(static_cast<i64>(table.blocks[group]) * 128, max(left, 0LL)));
      abi::TensorMap* map = params.maps + group;
      *map = params.base;
      set_map_address(map, static_cast<const u8*>(params.data) + before * params.operand_rows);
      // An empty group's map is never used, and rows of no bytes are none.
      if (rows > 0) set_map_rows(map, static_cast<u32>(rows), static_cast<u64>(rows));
      continue;
    }
#endif
    const void* address = params.pointers != nullptr ? params.pointers[group] : params.values[i];
    if (params.maps == nullptr) {
      params.table[group] = address;
    } else {
      params.maps[group] = params.base;
      set_map_address(params.maps + group, address);
    }
  }
  publish_maps();
}
#endif
