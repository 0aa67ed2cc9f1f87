// Where groups lie in the buffers of rows, and in what is counted per group.
#pragma once

#include <cstdint>
#include <vector>

#include "octet/problem.h"
#include "octet/reference.h"

namespace octet::reference {

struct GroupPlace {
  std::int64_t begin = 0;   // first row in the buffers
  std::int64_t rows = 0;    // that exist
  std::int64_t extent = 0;  // rows that every base below counts: max_m of masked, else the same as rows
  // Sums over the groups before this one.
  std::int64_t extents_before = 0;  // of extent
  std::int64_t column = 0;          // of extent rounded up to 128: first column of columnwise data
  std::int64_t block128 = 0;        // of blocks of 128 rows
  std::int64_t block32 = 0;         // of blocks of 32 rows
};

struct Placement {
  Layout layout;
  std::int64_t rows;     // of the buffers
  std::int64_t columns;  // of what is quantized
  std::vector<GroupPlace> groups;
  std::int64_t rows_that_exist = 0;
  std::int64_t extents = 0;  // sum

  std::int64_t max_rows() const { return groups.empty() ? 0 : groups.front().extent; }  // of masked and uniform
};

// Throws Error{invalid_argument} for groups that do not lie as the problem's layout says.
Placement place(const Problem& problem, const GroupExtents& groups, std::int64_t columns, std::int64_t capacity);

}  // namespace octet::reference
