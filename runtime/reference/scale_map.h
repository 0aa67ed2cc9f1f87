// Where the scale of a block lies: docs/numerics.md, "Scale layouts".
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/reference/placement.h"

namespace octet::reference {

// Elements that share a scale.
struct BlockUnit {
  static constexpr std::int64_t kAll = 0;  // all of the group's rows, or all columns
  std::int64_t rows, columns;
};
BlockUnit block_unit(Granularity granularity, bool columnwise) noexcept;
// The block that holds an element, where a block is `unit` elements long.
constexpr std::int64_t block_of(std::int64_t element, std::int64_t unit) {
  return unit == BlockUnit::kAll ? 0 : element / unit;
}

// Blocks of one direction of a recipe. A block is named by its group and by its row and column among the group's
// blocks, counted along the rows and columns of the tensor also in the columnwise direction.
class ScaleMap {
 public:
  // Throws Error{invalid_argument} for a layout of scales that this recipe, direction and layout of rows do not have.
  // The placement must outlive the map.
  ScaleMap(const Placement& placement, const Recipe& recipe, bool columnwise, Packing packing = Packing::octet);

  BlockUnit unit() const { return unit_; }
  // Blocks of a group that have a scale: rowwise those that hold a row, columnwise those of the whole extent.
  std::int64_t row_blocks(std::int64_t group) const;
  std::int64_t column_blocks() const;
  std::int64_t index(std::int64_t group, std::int64_t row_block, std::int64_t column_block) const;

  // Every slot that the quantizer writes and that is no block's.
  void for_each_padding(const std::function<void(std::int64_t)>& slot) const;
  // Whether the quantizer writes anything.
  bool writes() const;

 private:
  const GroupPlace& group(std::int64_t g) const { return placement_.groups[static_cast<std::size_t>(g)]; }
  std::int64_t swizzled(std::int64_t group, std::int64_t row_block, std::int64_t column_block) const;
  std::int64_t block2d(std::int64_t group, std::int64_t row_block, std::int64_t column_block, bool transposed) const;
  void pad_mn_major(const std::function<void(std::int64_t)>& slot) const;
  void pad_columns(const std::function<void(std::int64_t)>& slot) const;
  void pad_tiles(const std::function<void(std::int64_t)>& slot) const;

  const Placement& placement_;
  ScaleLayout layout_;
  bool columnwise_;
  BlockUnit unit_;
  std::int64_t ld_ = 0;  // slots from one row of a matrix of scales to the next; 0 where the layout has no such row
};

}  // namespace octet::reference
