// Awkward values to quantize: what goes wrong in a scale does so at its edges.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/gpu/harness.h"

namespace octet::test {

// [capacity][columns] of the type, as bytes. Rows of no group hold NaN. Tiles of 128 x 128 are of one kind (ordinary,
// zero, subnormal, small, huge, with NaN, with infinities) or mixed along one axis, so that blocks along either one, of
// any length, come in every kind; some groups are of one kind throughout, or no scale of a whole group would ever be
// ordinary.
std::vector<std::uint8_t> awkward_values(DType type, const reference::GroupExtents& groups, std::int64_t capacity,
                                         std::int64_t columns, Random& random);
// The same shape with ordinary values alone; rows of no group hold NaN.
std::vector<std::uint8_t> ordinary_values(DType type, const reference::GroupExtents& groups, std::int64_t capacity,
                                          std::int64_t columns, Random& random);
// Ordinary values with no rows to leave out.
std::vector<std::uint8_t> ordinary_values(DType type, std::int64_t count, Random& random);
// One per row, NaN in rows of no group.
std::vector<float> row_values(const reference::GroupExtents& groups, std::int64_t capacity, Random& random);

// Writes NaN or infinity into some elements of a row of values.
void poison_elements(DType type, std::vector<std::uint8_t>& values, std::int64_t first, std::int64_t count,
                     std::uint32_t bits, Random& random);

}  // namespace octet::test
