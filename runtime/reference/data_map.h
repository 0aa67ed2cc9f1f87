// Where an element of quantized data lies: docs/numerics.md, "Columnwise data".
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/reference/placement.h"

namespace octet::reference {

class DataMap {
 public:
  // Throws Error{invalid_argument} for a foreign packing of rowwise data. The placement must outlive the map.
  DataMap(const Placement& placement, bool columnwise, std::int64_t ld_col, Packing packing = Packing::octet);

  // Rows of a group that are written: columnwise rows past a masked group's count are, as zeros.
  std::int64_t rows(std::int64_t group) const;
  std::int64_t index(std::int64_t group, std::int64_t row, std::int64_t column) const;
  // Every element that is written and lies in no group's rows(): up to where the next group's columns start.
  void for_each_padding(const std::function<void(std::int64_t)>& element) const;
  bool writes() const;

 private:
  enum class Order { rows, columns, group_columns };
  const GroupPlace& group(std::int64_t g) const { return placement_.groups[static_cast<std::size_t>(g)]; }

  const Placement& placement_;
  Order order_;
  bool count_masked_;  // rows past a count are written
  std::int64_t ld_col_;
};

}  // namespace octet::reference
