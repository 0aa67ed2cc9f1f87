// The tiles of D of a portable GEMM: where they lie in the operands, and the walk of a persistent block over them.
#pragma once

#include "abi.h"
#include "groups.cuh"
#if !OCTET_WGRAD
#include "scheduler.cuh"
#endif

namespace octet {

// A tile of D, and what the sum behind it runs over.
struct Place {
  i32 group;
  i32 row, rows;        // its first row in A, and rows of the operand from there on
  i32 column, columns;  // the same in B; columns of D
  i32 blocks;           // of 128 along the inner axis
  i32 sub_blocks;       // of 32
#if !OCTET_WGRAD
  i32 row_in_group;
#endif
#if OCTET_WGRAD
  i32 extent_blocks;    // blocks of 128 rows that the group has room for
  i64 first_sub_block;  // blocks of 32 rows before the group
#endif
  i64 first_block;  // blocks of 128 rows before the group
};

#if !OCTET_WGRAD
struct Groups {
  GroupTable table;
#if OCTET_FIRST_BLOCKS
  i32 first_block[config::kGroups];  // of each entry
#endif
};

// Called by one whole warp.
__device__ __forceinline__ void find_groups(Groups& groups, const abi::PortableGemmParams& params, i32 lane) {
  build_group_table(groups.table, params.splits, params.capacity, lane, units_of_group);
#if OCTET_FIRST_BLOCKS
  __syncwarp();
  i32 before = 0;  // of the entries before these 32
  for (i32 first = 0; first < groups.table.count; first += 32) {
    const i32 entry = first + lane;
    const bool exists = entry < groups.table.count;
    const i32 blocks = exists ? (groups.table.row_end[entry] - groups.table.row_begin[entry] + 127) / 128 : 0;
    const i32 own = before + warp_exclusive_sum(blocks, lane);
    if (exists) groups.first_block[entry] = own;
    before = __shfl_sync(~0u, own + blocks, 31);
  }
#endif
}

class PlaceWalk {
 public:
  __device__ __forceinline__ PlaceWalk(const Groups& groups, const abi::PortableGemmParams&)
      : groups_(groups), walk_(groups.table, blockIdx.x, gridDim.x, 0) {}

  // False when there are no more tiles.
  __device__ __forceinline__ bool next(Place& place) {
    Tile tile;
    if (!walk_.next(tile)) return false;
    const i32 entry = walk_.entry();
    place.group = tile.group;
    place.row = tile.row;
    place.rows = tile.rows;
    place.row_in_group = tile.row - groups_.table.row_begin[entry];
    place.column = tile.column;
    place.columns = config::kN - tile.column;
    place.blocks = (config::kK + 127) / 128;
    place.sub_blocks = (config::kK + 31) / 32;
#if OCTET_FIRST_BLOCKS
    place.first_block = groups_.first_block[entry];
#endif
#if OCTET_MASKED
    place.first_block = static_cast<i64>(tile.group) * ((config::kMaxM + 127) / 128);
#endif
#if OCTET_DENSE
    place.first_block = 0;
#endif
    return true;
  }

 private:
  const Groups& groups_;
  TileWalk walk_;
};
#endif
#if OCTET_WGRAD
// Groups that have rows, counted in blocks of 128.
struct Groups {
#if OCTET_GROUP_TABLE
  GroupTable table;
#endif
};

#if OCTET_GROUP_TABLE
// Called by one whole warp.
__device__ __forceinline__ void find_groups(Groups& groups, const abi::PortableGemmParams& params, i32 lane) {
  build_group_table(groups.table, params.splits, params.capacity, lane, [](i32 rows) { return (rows + 127) / 128; });
}
#endif

// Every group has a D of the same size, also one without rows.
class PlaceWalk {
 public:
  __device__ __forceinline__ PlaceWalk(const Groups& groups, const abi::PortableGemmParams& params)
      : groups_(groups), params_(params), unit_(blockIdx.x) {}

  // False when there are no more tiles.
  __device__ __forceinline__ bool next(Place& place) {
    constexpr i64 kRowTiles = (config::kN + config::kBlockM - 1) / config::kBlockM;
    constexpr i64 kColumnTiles = (config::kK + config::kBlockN - 1) / config::kBlockN;
    if (unit_ >= config::kGroups * kRowTiles * kColumnTiles) return false;
    const i64 tile = unit_ % (kRowTiles * kColumnTiles);
    place.group = static_cast<i32>(unit_ / (kRowTiles * kColumnTiles));
    place.row = static_cast<i32>(tile / kColumnTiles) * config::kBlockM;
    place.rows = config::kN - place.row;
    place.column = static_cast<i32>(tile % kColumnTiles) * config::kBlockN;
    place.columns = config::kK - place.column;
    find(place);
    unit_ += gridDim.x;
    return true;
  }

 private:
  __device__ __forceinline__ void find(Place& place) {
    i64 rows = 0, extent = 0;
#if OCTET_GROUP_TABLE
    const i32 entry = find_entry(groups_.table, place.group);
    place.first_block = place.first_sub_block = 0;
    if (entry >= 0) {
      rows = extent = groups_.table.row_end[entry] - groups_.table.row_begin[entry];
      place.first_block = groups_.table.first_unit[entry];
#if OCTET_SUB_BLOCKS
      place.first_sub_block = groups_.table.first_sub_block[entry];
#endif
    }
#endif
#if OCTET_MASKED
    extent = config::kMaxM;
    rows = clamp_rows(split_at(params_.splits, place.group), extent);
    place.first_block = place.group * ((extent + 127) / 128);
    place.first_sub_block = place.group * ((extent + 31) / 32);
#endif
#if OCTET_DENSE
    rows = extent = params_.capacity;
    place.first_block = place.first_sub_block = 0;
#endif
    place.extent_blocks = static_cast<i32>((extent + 127) / 128);
    place.blocks = static_cast<i32>((rows + 127) / 128);
    place.sub_blocks = static_cast<i32>((rows + 31) / 32);
  }

  const Groups& groups_;
  const abi::PortableGemmParams& params_;
  i64 unit_;
};
#endif

}  // namespace octet
