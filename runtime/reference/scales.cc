// Scale factors of blocks: docs/numerics.md, "f32 scales" and "E8M0 scales".
#include "runtime/reference/scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "runtime/reference/casts.h"
#include "runtime/reference/checks.h"
#include "runtime/reference/elements.h"

namespace octet::reference {
namespace {

constexpr int kMantissaBits = 23;
constexpr std::uint32_t kInfinity = 0x7F800000, kMantissa = 0x007FFFFF;
constexpr std::uint8_t kE8m0Infinity = 254, kE8m0NaN = 255;

void check_amax(float amax) {
  if (!(amax >= 0))
    throw bad_argument(fmt::format("reference: amax={}: the largest |x| is 0 or more, NaN left out", amax));
}

// Rounds a positive normal number down to a power of two.
float clear_mantissa(float value) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & ~kMantissa); }

float quantization_scale(float amax, DType out, float cap) {
  const float fp8_max = fp8_format(out).max_value;
  if (amax == 0 || std::isinf(amax)) return 1.0f;
  const float q = fp8_max / amax;
  return std::isinf(q) ? cap : q;
}

// The exponent byte of the smallest power of two that is not below a value of 0 or more.
std::uint8_t round_up_to_power_of_two(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (bits > kInfinity) return kE8m0NaN;
  if (bits == kInfinity) return kE8m0Infinity;
  const auto exponent = static_cast<std::uint8_t>(bits >> kMantissaBits);
  const std::uint32_t mantissa = bits & kMantissa;
  constexpr std::uint32_t smallest = 1u << (kMantissaBits - 1);  // 2^-127, byte 0, as a subnormal
  const bool up = exponent == 0 ? mantissa > smallest : mantissa != 0 && exponent < kE8m0Infinity;
  return static_cast<std::uint8_t>(exponent + (up ? 1 : 0));
}

// 2^power for -149 <= power <= 127.
float power_of_two(int power) { return std::ldexp(1.0f, power); }

}  // namespace

bool is_e8m0(Granularity granularity) noexcept {
  return granularity == Granularity::mx_1x32 || granularity == Granularity::mx_32x32;
}

Scale f32_scale(float amax, DType out, float cap, bool power_of_two) {
  check_amax(amax);
  const float exact = quantization_scale(amax, out, cap);
  const float q = power_of_two ? clear_mantissa(exact) : exact;
  return {q, 1.0f / q};
}

Scale block_scale(float amax, DType out, DType in, bool power_of_two) {
  return f32_scale(amax, out, largest_finite("in", in), power_of_two);
}

std::uint8_t e8m0_scale(float amax, DType out) {
  check_amax(amax);
  const float reciprocal = 1.0f / fp8_format(out).max_value;
  return round_up_to_power_of_two(amax * reciprocal);
}

float e8m0_multiplier(std::uint8_t byte) {
  if (byte == kE8m0NaN) return std::numeric_limits<float>::quiet_NaN();
  return power_of_two(127 - byte);
}

float from_e8m0(std::uint8_t byte) {
  if (byte == kE8m0NaN) return std::numeric_limits<float>::quiet_NaN();
  return power_of_two(byte - 127);
}

BlockScale recipe_scale(const Recipe& recipe, DType in, float amax, float floor) {
  if (is_e8m0(recipe.granularity)) {
    const std::uint8_t byte = e8m0_scale(amax, recipe.type);
    return {e8m0_multiplier(byte), from_e8m0(byte), byte};
  }
  const bool tensor = recipe.granularity == Granularity::tensor;
  const float cap = largest_finite("in", tensor ? DType::f32 : in);
  const Scale scale = f32_scale(std::max(amax, floor), recipe.type, cap, recipe.power_of_two);
  return {scale.q, scale.sf, 0};
}

float load_scale(Granularity granularity, const void* scales, std::int64_t index) {
  if (is_e8m0(granularity)) return from_e8m0(static_cast<const std::uint8_t*>(scales)[index]);
  return static_cast<const float*>(scales)[index];
}

BlockScale given_scale(float sf) { return {1.0f / sf, sf, 0}; }

}  // namespace octet::reference
