// Order of the output tiles of a grouped GEMM: a persistent cluster takes units cluster, cluster + clusters, ...
//
// A unit is one tile of rows times `kClusterN` neighbouring tiles of columns. Groups come one after the other. Inside a
// group, units run down panels of up to kPanelTiles row tiles before they move to the next columns, so that the
// clusters in flight share one slab of weights (read from device memory once) and a few row tiles (held in L2).
#pragma once

#include "groups.cuh"

namespace octet {

struct Tile {
  i32 group;
  i32 row;     // first row of the tile in A and D
  i32 rows;    // rows of the group from there on; the tile covers at most block_m of them
  i32 column;  // first column of the tile in D; may lie past N in the last unit of an odd count
};

struct TileScheduler {
  static constexpr i32 kColumnTiles = (config::kN + config::kBlockN - 1) / config::kBlockN;
  static constexpr i32 kColumnUnits = (kColumnTiles + config::kClusterN - 1) / config::kClusterN;

  const GroupTable& table;
  i32 entry = 0;

  __device__ __forceinline__ explicit TileScheduler(const GroupTable& groups) : table(groups) {}
  __device__ __forceinline__ i32 units() const { return table.tiles * kColumnUnits; }

  // Units must be asked for in increasing order. `rank`: this block's place in its cluster.
  __device__ __forceinline__ Tile tile(i32 unit, i32 rank) {
    entry = advance_entry(table, entry, unit / kColumnUnits);
    const i32 first = table.first_tile[entry];
    const i32 next = entry + 1 < table.count ? table.first_tile[entry + 1] : table.tiles;
    const i32 tiles = next - first;
    // Panels of equal height: a last panel of one row tile would read every weight again for itself alone.
    const i32 panels = (tiles + config::kPanelTiles - 1) / config::kPanelTiles;
    const i32 height = (tiles + panels - 1) / panels;
    const i32 local = unit - first * kColumnUnits;
    const i32 panel = local / (height * kColumnUnits);
    const i32 in_panel = local - panel * height * kColumnUnits;
    const i32 panel_height = min(height, tiles - panel * height);
    const i32 column_unit = in_panel / panel_height;
    const i32 row_tile = panel * height + in_panel - column_unit * panel_height;
    Tile result;
    result.group = table.group[entry];
    result.row = table.row_begin[entry] + row_tile * config::kBlockM;
    result.rows = table.row_end[entry] - result.row;
    result.column = (column_unit * config::kClusterN + rank) * config::kBlockN;
    return result;
  }
};

}  // namespace octet
