// Order of the output tiles of a grouped GEMM: a persistent cluster takes units cluster, cluster + clusters, ...
//
// A unit is one tile for each block of a cluster. Groups come one after the other. Inside a group, units run down
// panels of up to kPanelTiles row tiles before they move to the next columns, so that the clusters in flight share one
// slab of weights (read from device memory once) and a few row tiles (held in L2).
#pragma once

#include "groups.cuh"

namespace octet {

struct alignas(16) Tile {
  i32 group;
  i32 row;     // first row of the tile in A and D
  i32 rows;    // rows of the group from there on; the tile covers at most block_m of them
  i32 column;  // first column of the tile in D; may lie past N in the last unit of an odd count
};

constexpr i32 kColumnTiles = (config::kN + config::kBlockN - 1) / config::kBlockN;
#if !OCTET_CLUSTER_M
constexpr i32 kColumnUnits = (kColumnTiles + config::kClusterN - 1) / config::kClusterN;
#endif
constexpr i32 kCluster = config::kClusterM * config::kClusterN;

__device__ __forceinline__ i32 row_tiles(i32 rows) { return (rows + config::kBlockM - 1) / config::kBlockM; }

__device__ __forceinline__ i32 units_of_group(i32 rows) {
  const i32 tiles = row_tiles(rows);
#if OCTET_CLUSTER_M
  return tiles / 2 * kColumnTiles + tiles % 2 * ((kColumnTiles + 1) / 2);
#endif
#if !OCTET_CLUSTER_M
  return tiles * kColumnUnits;
#endif
}

// Walks over the tiles of one block.
class TileWalk {
 public:
  // `rank`: the block's place in its cluster.
  __device__ __forceinline__ TileWalk(const GroupTable& table, i32 cluster, i32 clusters, i32 rank)
      : table_(table), unit_(cluster), clusters_(clusters), rank_(rank) {}

  // False when there are no more tiles.
  __device__ __forceinline__ bool next(Tile& tile) {
    if (unit_ >= table_.units) return false;
    entry_ = advance_entry(table_, entry_, unit_);
    const i32 begin = table_.row_begin[entry_], rows = table_.row_end[entry_] - begin;
    i32 row_tile, column_tile;
    place(unit_ - table_.first_unit[entry_], row_tiles(rows), row_tile, column_tile);
    tile.group = table_.group[entry_];
    tile.row = begin + row_tile * config::kBlockM;
    tile.rows = rows - row_tile * config::kBlockM;
    tile.column = column_tile * config::kBlockN;
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

  const GroupTable& table_;
  i32 unit_, clusters_, rank_;
  i32 entry_ = 0;
};

}  // namespace octet
