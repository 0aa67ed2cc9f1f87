// Order of the output tiles of a grouped GEMM: a persistent cluster takes units cluster, cluster + clusters, ...
//
// A unit is one tile for each block of a cluster, or, where they split K, one tile for all of them. Groups come one
// after the other. Rows of a group are its tokens, or for wgrad the N rows that every group has; columns are the N or K
// columns of D. Inside a group, units run down panels of up to kPanelTiles row tiles before they move to the next
// columns, so that the clusters in flight share one slab of weights (read from device memory once) and a few row tiles
// (held in L2).
#pragma once

#include "groups.cuh"

namespace octet {

struct alignas(16) Tile {
  i32 group;
  i32 row;     // first row of the tile: of tokens in A and D; of D[g] for wgrad
  i32 rows;    // rows of the group from there on; the tile covers at most kTileRows of them
  i32 column;  // first column of the tile in D; may lie past its end in the last unit of an odd count
#if OCTET_WGRAD
  i32 first_block;  // along K, of the whole operands
  i32 blocks;       // along K
#if OCTET_SUB_BLOCKS
  i32 first_sub_block, sub_blocks;  // of 32 rows: before the group, and of it
#endif
#if !OCTET_SUB_BLOCKS
  i32 unused[2];
#endif
#endif
};

// The matrix instruction's rows are the tile's, or its columns where few tokens meet many weights.
#if OCTET_SWAPPED
constexpr i32 kTileRows = config::kBlockN, kTileColumns = config::kBlockM;
#endif
#if !OCTET_SWAPPED
constexpr i32 kTileRows = config::kBlockM, kTileColumns = config::kBlockN;
#endif
#if OCTET_WGRAD
constexpr i32 kOutputColumns = config::kK;  // of D
#endif
#if !OCTET_WGRAD
constexpr i32 kOutputColumns = config::kN;
#endif
constexpr i32 kColumnTiles = (kOutputColumns + kTileColumns - 1) / kTileColumns;
#if !OCTET_CLUSTER_M
constexpr i32 kColumnUnits = (kColumnTiles + config::kClusterN - 1) / config::kClusterN;
#endif
#if OCTET_SPLIT_K
constexpr i32 kCluster = config::kSplitK;  // blocks that sum one tile's K together
#endif
#if !OCTET_SPLIT_K
constexpr i32 kCluster = config::kClusterM * config::kClusterN;
#endif

__device__ __forceinline__ i32 row_tiles(i32 rows) { return (rows + kTileRows - 1) / kTileRows; }

__device__ __forceinline__ i32 units_of_group(i32 rows) {
  const i32 tiles = row_tiles(rows);
#if OCTET_CLUSTER_M
  return tiles / 2 * kColumnTiles + tiles % 2 * ((kColumnTiles + 1) / 2);
#endif
#if !OCTET_CLUSTER_M
  return tiles * kColumnUnits;
#endif
}

#if OCTET_WGRAD
// Where each group's rows lie along the K axis of columnwise operands, in blocks of 128. Lives in shared memory.
struct BlockTable {
  i32 first_block[config::kGroups];
  i32 blocks[config::kGroups];  // 0: an empty group
#if OCTET_SUB_BLOCKS
  i32 first_sub_block[config::kGroups], sub_blocks[config::kGroups];  // of 32 rows
#endif
};

// Fills the table. Called by one whole warp.
__device__ __forceinline__ void build_block_table(BlockTable& table, const void* splits, i64 capacity, i32 lane) {
  for (i32 group = lane; group < config::kGroups; group += 32) table.blocks[group] = table.first_block[group] = 0;
  __syncwarp();
  const auto blocks_of = [](i32 rows) { return (rows + 127) / 128; };
  visit_groups<false>(splits, capacity, lane, blocks_of, [&](const GroupEntry& entry) {
#if OCTET_MASKED
    table.first_block[entry.group] = entry.group * ((config::kMaxM + 127) / 128);
#endif
#if !OCTET_MASKED
    table.first_block[entry.group] = entry.first_unit;
#endif
    table.blocks[entry.group] = entry.units;
#if OCTET_SUB_BLOCKS
    table.sub_blocks[entry.group] = (entry.row_end - entry.row_begin + 31) / 32;
#if OCTET_MASKED
    table.first_sub_block[entry.group] = entry.group * ((config::kMaxM + 31) / 32);
#endif
#if !OCTET_MASKED
    table.first_sub_block[entry.group] = entry.first_sub_block;
#endif
#endif
  });
}
using WalkTable = BlockTable;
#endif
#if !OCTET_WGRAD
using WalkTable = GroupTable;
#endif

// Walks over the tiles of one block.
class TileWalk {
 public:
  // `rank`: the block's place in its cluster.
  __device__ __forceinline__ TileWalk(const WalkTable& table, i32 cluster, i32 clusters, i32 rank)
      : table_(table), unit_(cluster), clusters_(clusters), rank_(rank) {}

  // False when there are no more tiles.
  __device__ __forceinline__ bool next(Tile& tile) {
    i32 row_tile, column_tile;
#if OCTET_WGRAD
    constexpr i32 kTiles = (config::kN + kTileRows - 1) / kTileRows;
    constexpr i32 kUnits = kTiles * kColumnUnits;  // of every group
    if (unit_ >= config::kGroups * kUnits) return false;
    tile.group = unit_ / kUnits;
    place(unit_ - tile.group * kUnits, kTiles, row_tile, column_tile);
    tile.row = row_tile * kTileRows;
    tile.rows = config::kN - tile.row;
    tile.first_block = table_.first_block[tile.group];
    tile.blocks = table_.blocks[tile.group];
#if OCTET_SUB_BLOCKS
    tile.first_sub_block = table_.first_sub_block[tile.group];
    tile.sub_blocks = table_.sub_blocks[tile.group];
#endif
#endif
#if !OCTET_WGRAD
    if (unit_ >= table_.units) return false;
    entry_ = advance_entry(table_, entry_, unit_);
    const i32 begin = table_.row_begin[entry_], rows = table_.row_end[entry_] - begin;
    place(unit_ - table_.first_unit[entry_], row_tiles(rows), row_tile, column_tile);
    tile.group = table_.group[entry_];
    tile.row = begin + row_tile * kTileRows;
    tile.rows = rows - row_tile * kTileRows;
#endif
    tile.column = column_tile * kTileColumns;
    unit_ += clusters_;
    return true;
  }
#if OCTET_PORTABLE
  // Of the tile that next() gave.
  __device__ __forceinline__ i32 entry() const { return entry_; }
#endif
#if OCTET_CLUSTER_M
  // Whether the blocks of the cluster now work on two row tiles of the same columns, rather than the other way round.
  __device__ __forceinline__ bool shares_columns() const { return shares_columns_; }
#endif

 private:
#if !OCTET_CLUSTER_M
  // Where the group's unit `local` lies, for this block.
  __device__ __forceinline__ void place(i32 local, i32 tiles, i32& row_tile, i32& column_tile) {
    // Panels of equal height: a last panel of one row tile would read every weight again for itself alone.
    const i32 panels = (tiles + config::kPanelTiles - 1) / config::kPanelTiles;
    const i32 height = (tiles + panels - 1) / panels;
    const i32 panel = local / (height * kColumnUnits);
    const i32 in_panel = local - panel * height * kColumnUnits;
    const i32 panel_height = min(height, tiles - panel * height);
    const i32 column_unit = in_panel / panel_height;
    row_tile = panel * height + in_panel - column_unit * panel_height;
    column_tile = column_unit * config::kClusterN + rank_;
  }
#endif
#if OCTET_CLUSTER_M
  // Two blocks take two row tiles of the same columns and share B. An odd last row tile would leave one of them idle:
  // there they take two column tiles of the same rows and share A. Either way each operand byte is read from L2 for as
  // much work as can be, and no tile is computed for nothing but an odd last column.
  __device__ __forceinline__ void place(i32 local, i32 tiles, i32& row_tile, i32& column_tile) {
    const i32 panels = (tiles + config::kPanelTiles - 1) / config::kPanelTiles;
    const i32 height = ((tiles + panels - 1) / panels + 1) / 2 * 2;  // whole pairs, but for the last panel
    const i32 panel = local / (height / 2 * kColumnTiles);
    const i32 in_panel = local - panel * (height / 2 * kColumnTiles);
    const i32 panel_height = min(height, tiles - panel * height);
    const i32 pairs = panel_height / 2, odd = panel_height % 2;
    // Two columns at a time: the pairs of both, then the odd row tile of both as one unit.
    const i32 column_pair = in_panel / (2 * pairs + odd);
    const i32 in_pair = in_panel - column_pair * (2 * pairs + odd);
    const i32 columns = min(2, kColumnTiles - column_pair * 2);
    shares_columns_ = in_pair < columns * pairs;
    if (shares_columns_) {
      row_tile = panel * height + in_pair % pairs * 2 + rank_;
      column_tile = column_pair * 2 + in_pair / pairs;
    } else {
      row_tile = panel * height + panel_height - 1;
      column_tile = column_pair * 2 + rank_;
    }
  }
  bool shares_columns_ = false;
#endif

  const WalkTable& table_;
  i32 unit_, clusters_, rank_;
#if !OCTET_WGRAD
  i32 entry_ = 0;
#endif
};

}  // namespace octet
