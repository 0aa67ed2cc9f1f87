// Where the data and the scale of each element of a quantized operand lie: docs/numerics.md, "Scale layouts" and
// "Columnwise data". Written down once more on purpose: the reference that is judged with it has its own.
#pragma once

#include <cstdint>
#include <vector>

#include "octet/problem.h"
#include "tools/cli/run_case.h"

namespace octet::cli {

class Places {
 public:
  // Of one direction of an operand with `columns` columns.
  Places(const Case& run, const Recipe& recipe, bool columnwise, std::int64_t columns, Packing packing);

  // Row r of group g, column c. The index of a byte, and of a scale (of 4 bytes, or of 1 where it is E8M0). Rows that
  // belong to no group have a place where row_indexed() says so: as row r of group 0, of masked of their own group.
  std::int64_t data(std::int64_t g, std::int64_t r, std::int64_t c) const;
  std::int64_t scale(std::int64_t g, std::int64_t r, std::int64_t c) const;
  // Whether each row of the buffer has scales of its own.
  bool row_indexed() const;
  bool transposed() const;

  bool columnwise() const { return columnwise_; }
  const Recipe& recipe() const { return recipe_; }
  std::int64_t columns() const { return columns_; }
  // Rows that the group's place in columnwise data has: of masked max_m, whatever the count.
  std::int64_t extent(std::int64_t g) const { return groups_[static_cast<std::size_t>(g)].extent; }

 private:
  struct Group {
    std::int64_t begin = 0, extent = 0;
    std::int64_t column = 0;                    // where it starts in a row of columnwise data
    std::int64_t rows_before = 0;               // of the groups before it
    std::int64_t block128 = 0, block32 = 0;     // its first block of 128 or 32 rows
    std::int64_t tiles_row = 0, tiles_col = 0;  // base of its swizzled scales
  };
  std::int64_t rowwise_scale(const Group& group, std::int64_t g, std::int64_t r, std::int64_t c) const;
  std::int64_t columnwise_scale(const Group& group, std::int64_t g, std::int64_t r, std::int64_t c) const;
  // Of square blocks of weights, as the matrix [columns][rows].
  std::int64_t of_transpose(const Group& group, std::int64_t g, std::int64_t r, std::int64_t c,
                            std::int64_t block) const;

  Recipe recipe_;
  Layout layout_;
  Packing packing_;
  bool columnwise_;
  std::int64_t columns_, max_m_, rows_per_group_, ld_col_, ld_sf_;
  std::vector<Group> groups_;
};

// The value of scale i of a buffer of f32 or E8M0 scales.
double scale_value(const std::vector<std::uint8_t>& sf, const Recipe& recipe, std::int64_t i);
int scale_bytes(const Recipe& recipe);

}  // namespace octet::cli
