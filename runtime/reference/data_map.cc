#include "runtime/reference/data_map.h"

#include <fmt/format.h>

#include "runtime/integers.h"
#include "runtime/reference/checks.h"

namespace octet::reference {

DataMap::DataMap(const Placement& placement, bool columnwise, std::int64_t ld_col, Packing packing)
    : placement_(placement), order_(Order::rows), count_masked_(false), ld_col_(ld_col) {
  if (!columnwise && packing != Packing::octet)
    throw bad_argument("reference: the packings te and deepgemm are of columnwise data; add dir=col");
  if (!columnwise || packing == Packing::te) return;  // te: as the rows lie
  const bool apart = packing == Packing::deepgemm || placement.layout == Layout::uniform;
  order_ = apart ? Order::group_columns : Order::columns;
  count_masked_ = true;
}

std::int64_t DataMap::rows(std::int64_t g) const { return count_masked_ ? group(g).extent : group(g).rows; }

std::int64_t DataMap::index(std::int64_t g, std::int64_t row, std::int64_t column) const {
  switch (order_) {
    case Order::rows:
      return (group(g).begin + row) * placement_.columns + column;
    case Order::columns:
      return column * ld_col_ + group(g).column + row;
    case Order::group_columns:
      return placement_.columns * group(g).extents_before + column * group(g).extent + row;
  }
  return 0;
}

void DataMap::for_each_padding(const std::function<void(std::int64_t)>& element) const {
  if (order_ != Order::columns) return;
  for (std::int64_t g = 0; g < static_cast<std::int64_t>(placement_.groups.size()); ++g) {
    const std::int64_t end = round_up(group(g).extent, 128);
    for (std::int64_t column = 0; column < placement_.columns; ++column) {
      for (std::int64_t row = group(g).extent; row < end; ++row) element(index(g, row, column));
    }
  }
}

bool DataMap::writes() const { return (count_masked_ ? placement_.extents : placement_.rows_that_exist) > 0; }

}  // namespace octet::reference
