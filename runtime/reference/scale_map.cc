#include "runtime/reference/scale_map.h"

#include <fmt/format.h>

#include "octet/layout.h"
#include "runtime/integers.h"
#include "runtime/reference/checks.h"

namespace octet::reference {
namespace {

constexpr std::int64_t kTileRows = 128, kTileColumns = 4;

bool is_layout_of(Granularity granularity, ScaleLayout scales, Layout rows, bool columnwise) {
  const bool uniform = rows == Layout::uniform;
  switch (granularity) {
    case Granularity::tensor:
      return scales == ScaleLayout::per_group;
    case Granularity::row:
      return scales == ScaleLayout::per_row;
    case Granularity::block_1x128:
      return columnwise ? scales == ScaleLayout::col_mn_major
                        : scales == ScaleLayout::mn_major || scales == ScaleLayout::k_major;
    case Granularity::block_128x128:
      return scales == ScaleLayout::block2d || (scales == ScaleLayout::block2d_t && uniform);
    case Granularity::mx_1x32:
      return scales == ScaleLayout::mx_compact || scales == ScaleLayout::swizzled;
    case Granularity::mx_32x32:
      return scales == ScaleLayout::mx_32x32 && uniform;
  }
  return false;
}

// Elements from one row of scales to the next in the layouts that are matrices with padded rows.
std::int64_t row_length(const Placement& placement, ScaleLayout scales, bool columnwise, Packing packing) {
  switch (scales) {
    case ScaleLayout::mn_major:
      return round_up(placement.layout == Layout::masked ? placement.max_rows() : placement.rows, 4);
    case ScaleLayout::per_row:
      return columnwise ? 0 : round_up(placement.rows, 4);
    case ScaleLayout::col_mn_major:
      return packing == Packing::deepgemm ? placement.columns : round_up(placement.columns, 4);
    case ScaleLayout::mx_compact:
      return columnwise ? round_up(placement.columns, 128) : round_up(ceil_div(placement.columns, 32), 4);
    default:
      return 0;
  }
}

std::int64_t blocks(std::int64_t elements, std::int64_t unit) {
  return unit == BlockUnit::kAll ? 1 : ceil_div(elements, unit);
}

// Slot (i, j) of a matrix stored as tiles of 128 x 4, `tiles` of them from left to right.
std::int64_t tile_slot(std::int64_t i, std::int64_t j, std::int64_t tiles) {
  return (i / kTileRows * tiles + j / kTileColumns) * (kTileRows * kTileColumns) + i % 32 * 16 +
         i % kTileRows / 32 * 4 + j % kTileColumns;
}

}  // namespace

BlockUnit block_unit(Granularity granularity, bool columnwise) noexcept {
  constexpr std::int64_t all = BlockUnit::kAll;
  switch (granularity) {
    case Granularity::tensor:
      return {all, all};
    case Granularity::row:
      return columnwise ? BlockUnit{all, 1} : BlockUnit{1, all};
    case Granularity::block_1x128:
      return columnwise ? BlockUnit{128, 1} : BlockUnit{1, 128};
    case Granularity::block_128x128:
      return {128, 128};
    case Granularity::mx_1x32:
      return columnwise ? BlockUnit{32, 1} : BlockUnit{1, 32};
    case Granularity::mx_32x32:
      return {32, 32};
  }
  return {1, 1};
}

ScaleMap::ScaleMap(const Placement& placement, const Recipe& recipe, bool columnwise, Packing packing)
    : placement_(placement),
      layout_(columnwise ? columnwise_scale_layout(recipe.scale_layout) : recipe.scale_layout),
      columnwise_(columnwise),
      unit_(block_unit(recipe.granularity, columnwise)),
      ld_(row_length(placement, layout_, columnwise, packing)) {
  if (is_layout_of(recipe.granularity, layout_, placement.layout, columnwise)) return;
  throw bad_argument(fmt::format("reference: {} has no {} scales in {} of {} groups; change the layout of the scales",
                                 to_string(recipe), columnwise ? "columnwise" : "rowwise",
                                 to_string(recipe.scale_layout), to_string(placement.layout)));
}

std::int64_t ScaleMap::row_blocks(std::int64_t g) const {
  return blocks(columnwise_ ? group(g).extent : group(g).rows, unit_.rows);
}

std::int64_t ScaleMap::column_blocks() const { return blocks(placement_.columns, unit_.columns); }

std::int64_t ScaleMap::swizzled(std::int64_t g, std::int64_t row_block, std::int64_t column_block) const {
  const std::int64_t columns = placement_.columns, extent = group(g).extent;
  if (columnwise_) {
    const std::int64_t base = round_up(columns, kTileRows) * kTileColumns * group(g).block128;
    return base + tile_slot(column_block, row_block, ceil_div(extent, 128));
  }
  const std::int64_t tiles = ceil_div(columns, 128);
  return group(g).column * tiles * kTileColumns + tile_slot(row_block, column_block, tiles);
}

// [G][rows][columns] blocks, or [G][columns][rows].
std::int64_t ScaleMap::block2d(std::int64_t g, std::int64_t row_block, std::int64_t column_block,
                               bool transposed) const {
  const std::int64_t row_base = unit_.rows == 32 ? group(g).block32 : group(g).block128;
  const std::int64_t rows = ceil_div(group(g).extent, unit_.rows), columns = column_blocks();
  if (transposed) return row_base * columns + column_block * rows + row_block;
  return (row_base + row_block) * columns + column_block;
}

std::int64_t ScaleMap::index(std::int64_t g, std::int64_t row_block, std::int64_t column_block) const {
  const std::int64_t row = group(g).begin + row_block;  // where a block is part of one row
  const bool uniform = placement_.layout == Layout::uniform;
  switch (layout_) {
    case ScaleLayout::mn_major:
      if (placement_.layout == Layout::masked) return (g * column_blocks() + column_block) * ld_ + row_block;
      return column_block * ld_ + row;
    case ScaleLayout::k_major:
      return row * column_blocks() + column_block;
    case ScaleLayout::col_mn_major:
      return (group(g).block128 + row_block) * ld_ + column_block;
    case ScaleLayout::block2d:  // of tokens both directions are the same; of weights columnwise is of the transpose
    case ScaleLayout::mx_32x32:
      return block2d(g, row_block, column_block, columnwise_ && uniform);
    case ScaleLayout::block2d_t:
      return block2d(g, row_block, column_block, !columnwise_);
    case ScaleLayout::per_group:
      return g;
    case ScaleLayout::per_row:
      return columnwise_ ? g * placement_.columns + column_block : row;
    case ScaleLayout::mx_compact:
      return columnwise_ ? (group(g).block32 + row_block) * ld_ + column_block : row * ld_ + column_block;
    case ScaleLayout::swizzled:
      return swizzled(g, row_block, column_block);
  }
  return 0;
}

// Slots [rows, ld) of each row of a matrix of scales.
void ScaleMap::pad_mn_major(const std::function<void(std::int64_t)>& slot) const {
  const bool masked = placement_.layout == Layout::masked && layout_ == ScaleLayout::mn_major;
  const std::int64_t matrices = masked ? static_cast<std::int64_t>(placement_.groups.size()) : 1;
  const std::int64_t rows = masked ? placement_.max_rows() : placement_.rows;
  for (std::int64_t i = 0; i < matrices * column_blocks(); ++i) {
    for (std::int64_t row = rows; row < ld_; ++row) slot(i * ld_ + row);
  }
}

// Slots past the last column of each row of blocks.
void ScaleMap::pad_columns(const std::function<void(std::int64_t)>& slot) const {
  for (std::int64_t g = 0; g < static_cast<std::int64_t>(placement_.groups.size()); ++g) {
    for (std::int64_t row = 0; row < row_blocks(g); ++row) {
      const std::int64_t first = index(g, row, 0);
      for (std::int64_t column = column_blocks(); column < ld_; ++column) slot(first + column);
    }
  }
}

void ScaleMap::pad_tiles(const std::function<void(std::int64_t)>& slot) const {
  for (std::int64_t g = 0; g < static_cast<std::int64_t>(placement_.groups.size()); ++g) {
    const std::int64_t extent = group(g).extent, columns = placement_.columns;
    const std::int64_t rows = columnwise_ ? round_up(ceil_div(extent, 32), kTileColumns) : round_up(extent, kTileRows);
    const std::int64_t across =
        columnwise_ ? round_up(columns, kTileRows) : round_up(ceil_div(columns, 32), kTileColumns);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < across; ++column) {
        if (row >= row_blocks(g) || column >= column_blocks()) slot(swizzled(g, row, column));
      }
    }
  }
}

void ScaleMap::for_each_padding(const std::function<void(std::int64_t)>& slot) const {
  switch (layout_) {
    case ScaleLayout::mn_major:
      return pad_mn_major(slot);
    case ScaleLayout::per_row:
      return columnwise_ ? void() : pad_mn_major(slot);
    case ScaleLayout::col_mn_major:
    case ScaleLayout::mx_compact:
      return pad_columns(slot);
    case ScaleLayout::swizzled:
      return pad_tiles(slot);
    default:
      return;  // no padding
  }
}

bool ScaleMap::writes() const {
  for (std::int64_t g = 0; g < static_cast<std::int64_t>(placement_.groups.size()); ++g) {
    if (row_blocks(g) > 0) return true;
  }
  bool padding = false;
  for_each_padding([&](std::int64_t) { padding = true; });
  return padding;
}

}  // namespace octet::reference
