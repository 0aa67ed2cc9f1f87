#include "tools/cli/places.h"

#include <cstring>

#include "octet/reference.h"
#include "tools/cli/elements.h"

namespace octet::cli {
namespace {

std::int64_t ceil_of(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t up(std::int64_t a, std::int64_t b) { return ceil_of(a, b) * b; }

// Tiles of 128 x 4 scales, `across` of them side by side; within a tile 32 rows of 4 x 4.
std::int64_t swizzled(std::int64_t i, std::int64_t j, std::int64_t across) {
  return (i / 128 * across + j / 4) * 512 + i % 32 * 16 + i % 128 / 32 * 4 + j % 4;
}

}  // namespace

Places::Places(const Case& run, const Recipe& recipe, bool columnwise, std::int64_t columns, Packing packing)
    : recipe_(recipe),
      layout_(run.problem.layout),
      packing_(packing),
      columnwise_(columnwise),
      columns_(columns),
      max_m_(run.problem.m),
      rows_per_group_(run.problem.n),
      ld_col_(up(run.capacity, 128) + 128 * run.problem.g),
      ld_sf_(up(run.capacity, 4)) {
  Group next;
  for (std::size_t g = 0; g < run.sizes.size(); ++g) {
    next.begin = run.groups.begin[g];
    next.extent = layout_ == Layout::masked ? max_m_ : run.sizes[g];
    groups_.push_back(next);
    next.column += up(next.extent, 128);
    next.rows_before += next.extent;
    next.block128 += ceil_of(next.extent, 128);
    next.block32 += ceil_of(next.extent, 32);
    next.tiles_row += up(next.extent, 128) * up(ceil_of(columns_, 32), 4);
    next.tiles_col += up(columns_, 128) * up(ceil_of(next.extent, 32), 4);
  }
}

bool Places::transposed() const { return columnwise_ && packing_ != Packing::te; }

std::int64_t Places::data(std::int64_t g, std::int64_t r, std::int64_t c) const {
  const Group& group = groups_[at(g)];
  if (!transposed()) return (group.begin + r) * columns_ + c;
  if (packing_ == Packing::deepgemm) return columns_ * group.rows_before + c * group.extent + r;
  if (layout_ == Layout::uniform) return (g * columns_ + c) * rows_per_group_ + r;
  return c * ld_col_ + group.column + r;
}

bool Places::row_indexed() const {
  const ScaleLayout layout = recipe_.scale_layout;
  return !columnwise_ && (layout == ScaleLayout::mn_major || layout == ScaleLayout::k_major ||
                          layout == ScaleLayout::per_row || layout == ScaleLayout::mx_compact);
}

std::int64_t Places::scale(std::int64_t g, std::int64_t r, std::int64_t c) const {
  const Group& group = groups_[at(g)];
  return columnwise_ ? columnwise_scale(group, g, r, c) : rowwise_scale(group, g, r, c);
}

std::int64_t Places::rowwise_scale(const Group& group, std::int64_t g, std::int64_t r, std::int64_t c) const {
  const std::int64_t row = group.begin + r;
  switch (recipe_.scale_layout) {
    case ScaleLayout::mn_major:
      if (layout_ == Layout::masked) return (g * ceil_of(columns_, 128) + c / 128) * up(max_m_, 4) + r;
      return c / 128 * ld_sf_ + row;
    case ScaleLayout::k_major:
      return row * ceil_of(columns_, 128) + c / 128;
    case ScaleLayout::per_row:
      return row;
    case ScaleLayout::mx_compact:
      return row * up(ceil_of(columns_, 32), 4) + c / 32;
    case ScaleLayout::swizzled:
      return group.tiles_row + swizzled(r, c / 32, ceil_of(columns_, 128));
    case ScaleLayout::mx_32x32:
      return (group.block32 + r / 32) * ceil_of(columns_, 32) + c / 32;
    case ScaleLayout::block2d_t:
      return of_transpose(group, g, r, c, 128);
    case ScaleLayout::per_group:
      return g;
    default:
      return (group.block128 + r / 128) * ceil_of(columns_, 128) + c / 128;
  }
}

std::int64_t Places::columnwise_scale(const Group& group, std::int64_t g, std::int64_t r, std::int64_t c) const {
  switch (recipe_.scale_layout) {
    case ScaleLayout::mn_major:
    case ScaleLayout::k_major:
    case ScaleLayout::col_mn_major:
      return (group.block128 + r / 128) * (packing_ == Packing::deepgemm ? columns_ : up(columns_, 4)) + c;
    case ScaleLayout::per_row:
      return g * columns_ + c;
    case ScaleLayout::mx_compact:
      return (group.block32 + r / 32) * up(columns_, 128) + c;
    case ScaleLayout::swizzled:
      return group.tiles_col + swizzled(c, r / 32, ceil_of(group.extent, 128));
    case ScaleLayout::block2d:
    case ScaleLayout::mx_32x32:  // columnwise weights are the matrix [K][N]
      if (layout_ != Layout::uniform) return rowwise_scale(group, g, r, c);
      return of_transpose(group, g, r, c, recipe_.scale_layout == ScaleLayout::block2d ? 128 : 32);
    case ScaleLayout::block2d_t:
      return (group.block128 + r / 128) * ceil_of(columns_, 128) + c / 128;
    default:
      return g;
  }
}

std::int64_t Places::of_transpose(const Group& group, std::int64_t g, std::int64_t r, std::int64_t c,
                                  std::int64_t block) const {
  return (g * ceil_of(columns_, block) + c / block) * ceil_of(group.extent, block) + r / block;
}

int scale_bytes(const Recipe& recipe) {
  return recipe.granularity == Granularity::mx_1x32 || recipe.granularity == Granularity::mx_32x32 ? 1 : 4;
}

double scale_value(const std::vector<std::uint8_t>& sf, const Recipe& recipe, std::int64_t i) {
  if (scale_bytes(recipe) == 1) return static_cast<double>(reference::from_e8m0(sf[at(i)]));
  return static_cast<double>(element_at(sf, DType::f32, i));
}

}  // namespace octet::cli
