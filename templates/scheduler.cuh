// Order of the output tiles of a grouped GEMM: a persistent cluster takes units cluster, cluster + clusters, ...
//
// A unit is one tile of rows times `kClusterN` neighbouring tiles of columns. Groups come one after the other. Inside a
// group, units run down panels of up to kPanelTiles row tiles before they move to the next columns, so that the
// clusters in flight share one slab of weights (read from device memory once) and a few row tiles (held in L2).
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
constexpr i32 kColumnUnits = (kColumnTiles + config::kClusterN - 1) / config::kClusterN;

__device__ __forceinline__ i32 row_tiles(i32 rows) { return (rows + config::kBlockM - 1) / config::kBlockM; }

//@when split_narrow
// The last row tile of a group is narrow when the rows of one warpgroup cover it. It takes half the time of a full one,
// so that a unit does it for two neighbouring column units: units then cost about the same, and so do equal counts of
// them.
constexpr i32 kNarrowRows = 64;
constexpr i32 kColumnPairs = (kColumnUnits + 1) / 2;
__device__ __forceinline__ bool ends_narrow(i32 rows) { return (rows - 1) % config::kBlockM < kNarrowRows; }
//@end

__device__ __forceinline__ i32 units_of_group(i32 rows) {
  //@when split_narrow
  if (ends_narrow(rows)) return (row_tiles(rows) - 1) * kColumnUnits + kColumnPairs;
  //@end
  return row_tiles(rows) * kColumnUnits;
}

// Walks over the tiles of one cluster. Every role of a block makes the same walk.
class TileWalk {
 public:
  // `rank`: this block's place in its cluster.
  __device__ __forceinline__ TileWalk(const GroupTable& table, i32 cluster, i32 clusters, i32 rank)
      : table_(table), unit_(cluster), clusters_(clusters), rank_(rank) {}

  // False when there are no more tiles.
  __device__ __forceinline__ bool next(Tile& tile) {
    //@when split_narrow
    if (second_half_) {
      second_half_ = false;
      tile.column += config::kClusterN * config::kBlockN;
      return true;
    }
    //@end
    if (unit_ >= table_.units) return false;
    entry_ = advance_entry(table_, entry_, unit_);
    place(unit_ - table_.first_unit[entry_], tile);
    unit_ += clusters_;
    return true;
  }

 private:
  // The tile of the group's unit `local`.
  __device__ __forceinline__ void place(i32 local, Tile& tile) {
    const i32 begin = table_.row_begin[entry_], rows = table_.row_end[entry_] - begin;
    const i32 tiles = row_tiles(rows);
    // Panels of equal height: a last panel of one row tile would read every weight again for itself alone.
    const i32 panels = (tiles + config::kPanelTiles - 1) / config::kPanelTiles;
    const i32 height = (tiles + panels - 1) / panels;
    const i32 panel = min(local / (height * kColumnUnits), panels - 1);
    const i32 in_panel = local - panel * height * kColumnUnits;
    const i32 panel_height = min(height, tiles - panel * height);
    i32 column_unit, row_tile;
    //@when split_narrow
    if (panel == panels - 1 && ends_narrow(rows)) {
      place_in_narrow_panel(in_panel, panel_height - 1, column_unit, row_tile);
    } else
    //@end
    {
      column_unit = in_panel / panel_height;
      row_tile = in_panel - column_unit * panel_height;
    }
    const i32 row = (panel * height + row_tile) * config::kBlockM;
    tile.group = table_.group[entry_];
    tile.row = begin + row;
    tile.rows = rows - row;
    tile.column = (column_unit * config::kClusterN + rank_) * config::kBlockN;
  }

  //@when split_narrow
  // A panel of `full` full row tiles and a narrow one: for each pair of column units, the full tiles of both, then the
  // narrow tile of both as one unit. All of them use the same weights at about the same time.
  __device__ __forceinline__ void place_in_narrow_panel(i32 in_panel, i32 full, i32& column_unit, i32& row_tile) {
    const i32 pair = in_panel / (2 * full + 1);
    const i32 in_pair = in_panel - pair * (2 * full + 1);
    const i32 columns = min(2, kColumnUnits - pair * 2);
    column_unit = pair * 2;
    row_tile = full;
    if (in_pair == columns * full) {
      second_half_ = columns == 2;
    } else {
      column_unit += in_pair / full;
      row_tile = in_pair % full;
    }
  }
  bool second_half_ = false;
  //@end

  const GroupTable& table_;
  i32 unit_, clusters_, rank_;
  i32 entry_ = 0;
};

}  // namespace octet
