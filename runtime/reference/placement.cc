#include "runtime/reference/placement.h"

#include <fmt/format.h>

#include "octet/layout.h"
#include "runtime/integers.h"
#include "runtime/reference/checks.h"

namespace octet::reference {
namespace {

void check_begin(std::size_t group, std::int64_t begin, std::int64_t expected, Layout layout) {
  if (begin == expected) return;
  throw bad_argument(fmt::format("reference: group {} begins at row {}; in a {} buffer it begins at row {}", group,
                                 begin, to_string(layout), expected));
}

void check_uniform(const Problem& problem, const GroupExtents& groups) {
  for (std::size_t g = 0; g < groups.begin.size(); ++g) {
    check_begin(g, groups.begin[g], static_cast<std::int64_t>(g) * problem.n, problem.layout);
    if (groups.end[g] - groups.begin[g] != problem.n)
      throw bad_argument(fmt::format("reference: group {} has {} rows; every group has n={}", g,
                                     groups.end[g] - groups.begin[g], problem.n));
  }
}

void check_masked(const Problem& problem, const GroupExtents& groups) {
  for (std::size_t g = 0; g < groups.begin.size(); ++g) {
    check_begin(g, groups.begin[g], static_cast<std::int64_t>(g) * problem.m, problem.layout);
    if (groups.end[g] - groups.begin[g] > problem.m)
      throw bad_argument(fmt::format("reference: group {} has {} rows; masked groups have room for m={}", g,
                                     groups.end[g] - groups.begin[g], problem.m));
  }
}

void check_dense(const GroupExtents& groups, std::int64_t rows) {
  if (groups.begin.size() == 1 && groups.begin[0] == 0 && groups.end[0] == rows) return;
  throw bad_argument(fmt::format("reference: dense is one group that fills the buffer, rows [0, {})", rows));
}

void check_layout(const Problem& problem, const GroupExtents& groups, std::int64_t rows) {
  if (problem.layout == Layout::uniform) check_uniform(problem, groups);
  if (problem.layout == Layout::masked) check_masked(problem, groups);
  if (problem.layout == Layout::dense) check_dense(groups, rows);
}

}  // namespace

Placement place(const Problem& problem, const GroupExtents& groups, std::int64_t columns, std::int64_t capacity) {
  Placement placement{problem.layout, buffer_rows(problem, capacity), columns, {}};
  check_extents(groups, problem.g, placement.rows);
  check_layout(problem, groups, placement.rows);
  GroupPlace at;
  for (std::size_t g = 0; g < groups.begin.size(); ++g) {
    at.begin = groups.begin[g];
    at.rows = groups.end[g] - groups.begin[g];
    at.extent = problem.layout == Layout::masked ? problem.m : at.rows;
    placement.groups.push_back(at);
    placement.rows_that_exist += at.rows;
    placement.extents += at.extent;
    at.extents_before += at.extent;
    at.column += round_up(at.extent, 128);
    at.block128 += ceil_div(at.extent, 128);
    at.block32 += ceil_div(at.extent, 32);
  }
  return placement;
}

}  // namespace octet::reference
