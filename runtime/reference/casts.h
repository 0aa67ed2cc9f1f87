// The FP8 formats as numbers, and the 16-bit float that the public interface does not cast, for the loops of this
// folder.
#pragma once

#include <array>
#include <cstdint>

#include "octet/recipe.h"

namespace octet::reference {

struct Fp8Format {
  int mantissa_bits;
  int exponent_bias;
  std::uint8_t max_byte;  // largest finite value
  float max_value;
};
// Throws Error{invalid_argument} for a type that is not FP8.
const Fp8Format& fp8_format(DType type);

// The value of every byte: from_fp8 as a table, built once.
using Fp8Values = std::array<float, 256>;
const Fp8Values& fp8_values(DType type);

std::uint16_t to_fp16(float value);  // nearest even, overflow to infinity; NaN -> 0x7FFF
float from_fp16(std::uint16_t bits);

}  // namespace octet::reference
