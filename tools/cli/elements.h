// Elements of arrays whose type is known only at run time: bf16, fp16 or f32, as their bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "octet/recipe.h"

namespace octet::cli {

// A NaN in every element type, whichever way it is cut; as an E8M0 scale too.
inline constexpr std::uint8_t kPoison = 0xFF;
inline constexpr std::uint32_t kPoisonWord = 0xFFFFFFFF;

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

float element_at(const std::vector<std::uint8_t>& bytes, DType type, std::int64_t i);
void set_element(std::vector<std::uint8_t>& bytes, DType type, std::int64_t i, float value);
// To nearest even; beyond the largest finite value infinity.
float rounded(float value, DType type);

// The distance to the next value of the type.
double last_place(double value, DType type);

// Values that fill the type's mantissa, of about the magnitude of these bf16 patterns.
std::vector<std::uint8_t> from_bf16_patterns(const std::vector<std::uint16_t>& patterns, DType type);

}  // namespace octet::cli
