// Tiles of 128 x 128, cut group by group, and what the 256 threads of a block are in one: each has eight rows of eight
// columns.
#pragma once

#include "columns.cuh"
#include "groups.cuh"

namespace octet {

#if OCTET_UNIFORM
constexpr i32 kGroupBlocks = (config::kN + kTile - 1) / kTile;
#endif
#if OCTET_MASKED
constexpr i32 kGroupBlocks = (config::kMaxM + kTile - 1) / kTile;
#endif

struct Tile {
  i64 row;   // first row in the buffers
  i32 rows;  // how many of its rows belong to the group
  i32 group;
  i32 unit;   // blocks of 128 rows that are walked over, before this one
  i32 block;  // blocks of 128 rows of the layout before this one
  i32 block_in_group;
  i32 group_blocks;  // of 128 rows
#if OCTET_MX_COLUMNS
  i32 sub_block;   // blocks of 32 rows of the layout before this one
  i32 sub_blocks;  // of this tile that exist
#endif
  i32 column_tile;
#if OCTET_CONVERT
  i32 extent_rows;  // of this tile in the group's extent, whether they are valid or not
#endif
#if OCTET_DEEPGEMM
  i64 rows_before;  // of the groups before this one
  i32 group_rows;
#endif
};

#if OCTET_VISIT_GROUPS
__device__ __forceinline__ i32 blocks_of_rows(i32 rows) {
#if OCTET_WHOLE_EXTENT
  return kGroupBlocks;  // padding is written, whatever the count
#endif
#if !OCTET_WHOLE_EXTENT
  return (rows + kTile - 1) / kTile;
#endif
}
#endif

// Fills in a tile of a group from its unit.
#if OCTET_UNIFORM
__device__ __forceinline__ void place_tile(Tile& tile) {
  tile.group = tile.unit / kGroupBlocks;
  tile.block = tile.unit;
  tile.block_in_group = tile.unit - tile.group * kGroupBlocks;
  tile.group_blocks = kGroupBlocks;
  tile.row = static_cast<i64>(tile.group) * config::kN + tile.block_in_group * kTile;
  tile.rows = min(kTile, config::kN - tile.block_in_group * kTile);
#if OCTET_CONVERT
  tile.extent_rows = tile.rows;
#endif
#if OCTET_MX_COLUMNS
  constexpr i32 kSubBlocks = (config::kN + 31) / 32;
  tile.sub_block = tile.group * kSubBlocks + tile.block_in_group * 4;
  tile.sub_blocks = min(4, kSubBlocks - tile.block_in_group * 4);
#endif
}
#endif
#if OCTET_VISIT_GROUPS
__device__ __forceinline__ void place_tile(const GroupEntry& entry, Tile& tile) {
  tile.group = entry.group;
  tile.block_in_group = tile.unit - entry.first_unit;
  tile.row = entry.row_begin + tile.block_in_group * kTile;
  tile.rows = max(0, min(kTile, entry.row_end - entry.row_begin - tile.block_in_group * kTile));
#if OCTET_MASKED
  constexpr i32 kRows = config::kMaxM;
  tile.block = tile.group * kGroupBlocks + tile.block_in_group;
  tile.group_blocks = kGroupBlocks;
#endif
#if !OCTET_MASKED
  const i32 kRows = entry.row_end - entry.row_begin;
  tile.block = tile.unit;
  tile.group_blocks = (kRows + kTile - 1) / kTile;
#endif
#if OCTET_CONVERT
  tile.extent_rows = min(kTile, kRows - tile.block_in_group * kTile);
#endif
#if OCTET_MX_COLUMNS
#if OCTET_MASKED
  const i32 first = tile.group * ((kRows + 31) / 32);
#endif
#if OCTET_SUB_BLOCKS
  const i32 first = entry.first_sub_block;
#endif
  tile.sub_block = first + tile.block_in_group * 4;
  tile.sub_blocks = min(4, (kRows + 31) / 32 - tile.block_in_group * 4);
#endif
}
#endif

#if OCTET_ONE_SHOT
// The tile of this block of threads; false when there is none. Every warp finds it for itself: the splits come from L1
// but for the first block, and blocks that end and start hide more latency than a loop does.
__device__ __forceinline__ bool find_tile(const void* splits, i64 capacity, i32 lane, Tile& tile) {
  tile.unit = blockIdx.x / kWalkTiles;
  tile.column_tile = blockIdx.x % kWalkTiles;
#if OCTET_UNIFORM
  place_tile(tile);
  return true;
#endif
#if OCTET_VISIT_GROUPS
  GroupEntry found;
  bool mine = false;
  visit_groups<false>(splits, capacity, lane, blocks_of_rows, [&](const GroupEntry& entry) {
    if (tile.unit < entry.first_unit || tile.unit >= entry.first_unit + entry.units) return;
    found = entry;
    mine = true;
  });
  const u32 finders = __ballot_sync(~0u, mine);
  if (finders == 0) return false;
  const i32 finder = __ffs(finders) - 1;
  found.group = __shfl_sync(~0u, found.group, finder);
  found.row_begin = __shfl_sync(~0u, found.row_begin, finder);
  found.row_end = __shfl_sync(~0u, found.row_end, finder);
  found.first_unit = __shfl_sync(~0u, found.first_unit, finder);
#if OCTET_SUB_BLOCKS
  found.first_sub_block = __shfl_sync(~0u, found.first_sub_block, finder);
#endif
  place_tile(found, tile);
  return true;
#endif
}
#endif

#if OCTET_TILE_WALK
// Walks over the tiles of one block of threads, columns first. Steps are added, since divisions in a loop would cost
// more than a tile's arithmetic.
class TileWalk {
 public:
#if OCTET_GROUP_TABLE
  __device__ __forceinline__ explicit TileWalk(const GroupTable& table) : table_(table) { start(); }
  __device__ __forceinline__ i32 units() const { return table_.units; }
#endif
#if OCTET_UNIFORM
  __device__ __forceinline__ TileWalk() { start(); }
  __device__ __forceinline__ i32 units() const { return config::kGroups * kGroupBlocks; }
#endif

  // False when there are no more tiles.
  __device__ __forceinline__ bool next(Tile& tile) {
    if (unit_ >= units()) return false;
    unit_at(unit_, tile);
    tile.column_tile = column_tile_;
    unit_ += gridDim.x / kWalkTiles;
    column_tile_ += gridDim.x % kWalkTiles;
    if (column_tile_ >= kWalkTiles) {
      column_tile_ -= kWalkTiles;
      ++unit_;
    }
    return true;
  }
  // The first tile of a unit; units in increasing order.
  __device__ __forceinline__ void unit_at(i32 unit, Tile& tile) {
    tile.unit = unit;
    tile.column_tile = 0;
#if OCTET_UNIFORM
    place_tile(tile);
#endif
#if OCTET_GROUP_TABLE
    entry_ = advance_entry(table_, entry_, unit);
    GroupEntry entry;
    entry.group = table_.group[entry_];
    entry.row_begin = table_.row_begin[entry_];
    entry.row_end = table_.row_end[entry_];
    entry.first_unit = table_.first_unit[entry_];
#if OCTET_SUB_BLOCKS
    entry.first_sub_block = table_.first_sub_block[entry_];
#endif
    place_tile(entry, tile);
#if OCTET_DEEPGEMM
    tile.rows_before = entry.row_begin - table_.row_begin[0];
    tile.group_rows = entry.row_end - entry.row_begin;
#endif
#endif
  }

 private:
  __device__ __forceinline__ void start() {
    unit_ = blockIdx.x / kWalkTiles;
    column_tile_ = blockIdx.x % kWalkTiles;
  }

#if OCTET_GROUP_TABLE
  const GroupTable& table_;
  i32 entry_ = 0;
#endif
  i32 unit_, column_tile_;
};
#endif

// What this thread is in a tile. A warp has 16 rows of 128 columns, whole lines of memory; where scales are of 32 rows
// it has 32 rows of 64 columns, so that it finds them without the others.
struct TileThread {
  i32 row_group, column_group;  // of eight
  i32 warp, lane;

  __device__ __forceinline__ TileThread() {
    warp = threadIdx.x / 32;
    lane = threadIdx.x % 32;
#if OCTET_SQUARE_WARPS
    row_group = warp / 2 * 4 + lane / 8;
    column_group = warp % 2 * 8 + lane % 8;
#endif
#if !OCTET_SQUARE_WARPS
    row_group = threadIdx.x / 16;
    column_group = threadIdx.x % 16;
#endif
  }
  __device__ __forceinline__ i32 row() const { return row_group * 8; }        // in the tile
  __device__ __forceinline__ i32 column() const { return column_group * 8; }  // in the tile
};

}  // namespace octet
