// What one warp loads for the math of a GEMM, and what another one hands it: operands and their scales through the ring
// of stages, tiles with the weights' 128 x 128 scales a tile ahead.
#pragma once

#include "gemm_shared.cuh"
#if OCTET_MAPS
#include "gemm_tables.cuh"
#endif

namespace octet {

#if OCTET_MULTICAST
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
  maps.left = group_map<0>(params, params.left_maps, tile.group);
#endif
#if OCTET_RIGHT_MAPS
  maps.right = group_map<0>(params, params.right_maps, tile.group);
#endif
#if OCTET_LEFT_SF_MAPS
  maps.left_sf = group_map<1>(params, params.sf_maps, tile.group);
#endif
#if OCTET_RIGHT_SF_MAPS
  maps.right_sf = group_map<1>(params, params.sf_maps, tile.group);
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
    const i32 first = first_block_to_sum(rank), end = first + blocks_to_sum(tile, rank);
#pragma unroll 1  // it has few registers
    for (i32 block = first; block < end; ++block) {
      const i32 stage = position.stage, k = (sides.block + block) * kBlockK;
      shared.ring.wait_empty(stage, position.parity);
      const u32 full = shared.ring.full(stage);
      mbarrier_arrive_expect_tx(full, kStageBytes);
#if !OCTET_MULTICAST
#if OCTET_SWAPPED
      tma_load_hinted(shared_address(shared.left[stage]), maps.left, full, k, sides.left, read_once);
#endif
#if !OCTET_SWAPPED
      tma_load(shared_address(shared.left[stage]), maps.left, full, k, sides.left);
#endif
      tma_load(shared_address(shared.right[stage]), maps.right, full, k, sides.right);
#endif
#if OCTET_MULTICAST
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
      const float* sfb = more ? static_cast<const float*>(group_pointer(params, tile.group)) : nullptr;
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

}  // namespace octet
