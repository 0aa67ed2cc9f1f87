// Where groups lie, and the arrays that say so.
#include <cstdint>
#include <limits>
#include <vector>

#include "octet/error.h"
#include "octet/reference.h"
#include "tests/support/catch.h"

using namespace octet;
using octet::reference::extents;
using octet::reference::splits_array;
using Rows = std::vector<std::int64_t>;

TEST_CASE("reference: packed groups lie end to end") {
  for (std::int64_t alignment : {0, 1}) {
    const auto groups = extents({3, 0, 5, 1}, alignment);
    CHECK(groups.begin == Rows{0, 3, 3, 8});
    CHECK(groups.end == Rows{3, 3, 8, 9});
    CHECK(splits_array(groups, SplitsForm::sizes) == Rows{3, 0, 5, 1});
    CHECK(splits_array(groups, SplitsForm::ends) == Rows{3, 3, 8, 9});
    CHECK(splits_array(groups, SplitsForm::starts) == Rows{0, 3, 3, 8, 9});
  }
}

TEST_CASE("reference: padded groups start at multiples of the alignment") {
  const auto groups = extents({130, 0, 128, 1}, 128);
  CHECK(groups.begin == Rows{0, 256, 256, 384});
  CHECK(groups.end == Rows{130, 256, 384, 385});
  CHECK(splits_array(groups, SplitsForm::sizes) == Rows{130, 0, 128, 1});
  CHECK(splits_array(groups, SplitsForm::ends) == Rows{130, 256, 384, 385});
}

TEST_CASE("reference: an alignment need not be a power of two") {
  const auto groups = extents({1, 7, 6}, 6);
  CHECK(groups.begin == Rows{0, 6, 18});
  CHECK(groups.end == Rows{1, 13, 24});
}

TEST_CASE("reference: starts are refused where they cannot say where a group ends") {
  CHECK_THROWS_WITH(splits_array(extents({130, 5}, 128), SplitsForm::starts),
                    Catch::Contains("group 0 ends at row 130 while group 1 starts at row 256"));
  CHECK(splits_array(extents({256, 0, 5}, 128), SplitsForm::starts) == Rows{0, 256, 256, 261});
}

TEST_CASE("reference: empty groups and no groups") {
  const auto groups = extents({0, 0, 0}, 128);
  CHECK(groups.begin == Rows{0, 0, 0});
  CHECK(groups.end == Rows{0, 0, 0});
  CHECK(splits_array(groups, SplitsForm::starts) == Rows{0, 0, 0, 0});
  CHECK(splits_array(extents({}), SplitsForm::sizes).empty());
  CHECK(splits_array(extents({}), SplitsForm::starts) == Rows{0});
}

TEST_CASE("reference: impossible sizes are refused") {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_WITH(extents({1, -2}), Catch::Contains("group 1 has -2 rows"));
  CHECK_THROWS_WITH(extents({1}, -8), Catch::Contains("alignment -8"));
  CHECK_THROWS_WITH(extents({largest, 1}), Catch::Contains("2^63"));
  CHECK_THROWS_WITH(extents({largest - 1, 0}, 128), Catch::Contains("2^63"));
}

TEST_CASE("reference: masked and uniform groups start at multiples of their room") {
  const auto masked = reference::masked_extents({3, 0, 8}, 8);
  CHECK(masked.begin == Rows{0, 8, 16});
  CHECK(masked.end == Rows{3, 8, 24});
  const auto uniform = reference::uniform_extents(3, 5);
  CHECK(uniform.begin == Rows{0, 5, 10});
  CHECK(uniform.end == Rows{5, 10, 15});
  CHECK_THROWS_WITH(reference::masked_extents({3, 9}, 8), Catch::Contains("group 1 has 9 rows"));
  CHECK_THROWS_WITH(reference::masked_extents({-1}, 8), Catch::Contains("group 0 has -1 rows"));
}
