// Where groups lie in a buffer.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "octet/error.h"
#include "octet/reference.h"
#include "runtime/reference/checks.h"

namespace octet::reference {
namespace {

// Sums of rows that stay in range whatever the caller passes.
std::int64_t add(std::int64_t x, std::int64_t y) {
  if (y > std::numeric_limits<std::int64_t>::max() - x)
    throw bad_argument("reference: the group sizes sum past 2^63 - 1 rows; check the sizes");
  return x + y;
}

void check_no_gaps(const GroupExtents& groups) {
  for (std::size_t g = 0; g + 1 < groups.begin.size(); ++g) {
    if (groups.end[g] == groups.begin[g + 1]) continue;
    throw bad_argument(fmt::format(
        "reference: splits in the form starts cannot say that group {} ends at row {} while group {} starts at row {}; "
        "use sizes or ends",
        g, groups.end[g], g + 1, groups.begin[g + 1]));
  }
}

}  // namespace

GroupExtents extents(const std::vector<std::int64_t>& sizes, std::int64_t alignment) {
  if (alignment < 0)
    throw bad_argument(fmt::format("reference: alignment {} is negative; give rows, or 0 for packed", alignment));
  const std::int64_t unit = alignment == 0 ? 1 : alignment;
  GroupExtents groups;
  std::int64_t end = 0;
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    if (sizes[g] < 0) throw bad_argument(fmt::format("reference: group {} has {} rows; sizes start at 0", g, sizes[g]));
    const std::int64_t past_unit = end % unit;
    const std::int64_t begin = past_unit == 0 ? end : add(end, unit - past_unit);
    end = add(begin, sizes[g]);
    groups.begin.push_back(begin);
    groups.end.push_back(end);
  }
  return groups;
}

GroupExtents masked_extents(const std::vector<std::int64_t>& counts, std::int64_t max_m) {
  GroupExtents groups;
  for (std::size_t g = 0; g < counts.size(); ++g) {
    if (counts[g] < 0 || counts[g] > max_m)
      throw bad_argument(
          fmt::format("reference: group {} has {} rows; a masked group has 0 to {}", g, counts[g], max_m));
    const std::int64_t begin = static_cast<std::int64_t>(g) * max_m;
    groups.begin.push_back(begin);
    groups.end.push_back(begin + counts[g]);
  }
  return groups;
}

GroupExtents uniform_extents(std::int64_t groups, std::int64_t rows) {
  return extents(std::vector<std::int64_t>(static_cast<std::size_t>(std::max<std::int64_t>(groups, 0)), rows));
}

std::vector<std::int64_t> splits_array(const GroupExtents& extents, SplitsForm form) {
  if (form == SplitsForm::ends) return extents.end;
  std::vector<std::int64_t> values;
  if (form == SplitsForm::sizes) {
    for (std::size_t g = 0; g < extents.begin.size(); ++g) values.push_back(extents.end[g] - extents.begin[g]);
    return values;
  }
  check_no_gaps(extents);
  values = extents.begin;
  values.push_back(extents.end.empty() ? 0 : extents.end.back());
  return values;
}

}  // namespace octet::reference
