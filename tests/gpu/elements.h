// Elements of the input types by their bits: for inputs that no conversion makes, and for judging results.
#pragma once

#include <cstdint>
#include <vector>

#include "octet/recipe.h"

namespace octet::test {

struct ElementFormat {
  std::uint32_t sign;
  std::uint32_t largest_subnormal;
  std::uint32_t largest_overflowing;  // up to here as amax, fp8_max / amax is beyond what scales allow
  std::uint32_t infinity;             // and, less 1, the largest finite value
  std::uint32_t nan;                  // with a payload
};
ElementFormat element_format(DType type);

std::uint32_t element_bits(DType type, const void* elements, std::int64_t index);
void set_element_bits(DType type, void* elements, std::int64_t index, std::uint32_t bits);
double element_value(DType type, std::uint32_t bits);
inline double element_value(DType type, const void* elements, std::int64_t index) {
  return element_value(type, element_bits(type, elements, index));
}
// Truncated to the type: good enough for inputs, whose exact values do not matter.
std::uint32_t rough_bits(DType type, float value);
bool is_nan_bits(DType type, std::uint32_t bits);

// How many values of the type lie from x to y, neither of them NaN; infinity is the value after the largest.
std::int64_t steps_between(DType type, std::uint32_t x, std::uint32_t y);

}  // namespace octet::test
