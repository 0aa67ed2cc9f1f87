#include "tools/cli/elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "octet/reference.h"

namespace octet::cli {
namespace {

constexpr int kHalfMantissaBits = 10, kHalfLeastExponent = -14;
constexpr std::uint16_t kHalfInfinity = 0x7C00;

float from_half(std::uint16_t bits) {
  const int exponent = bits >> kHalfMantissaBits & 0x1F, mantissa = bits & 0x3FF;
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 0x1F)
    return mantissa != 0 ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), kHalfLeastExponent - kHalfMantissaBits);
  return sign * std::ldexp(static_cast<float>(mantissa + 0x400), exponent - 15 - kHalfMantissaBits);
}

std::uint16_t to_half(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return 0x7FFF;
  if (magnitude >= 65520.0f) return sign | kHalfInfinity;  // halfway to the step after the largest finite value
  const int exponent = magnitude == 0 ? kHalfLeastExponent : std::max(std::ilogb(magnitude), kHalfLeastExponent);
  // In steps of the exponent; one that rounds up to the next power of two carries into the exponent by itself.
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, kHalfMantissaBits - exponent)));
  const int biased = (exponent - kHalfLeastExponent) << kHalfMantissaBits;
  return static_cast<std::uint16_t>(sign | (biased + steps));
}

template <typename Word>
Word load(const std::vector<std::uint8_t>& bytes, std::int64_t i) {
  Word word;
  std::memcpy(&word, bytes.data() + at(i) * sizeof word, sizeof word);
  return word;
}

}  // namespace

float element_at(const std::vector<std::uint8_t>& bytes, DType type, std::int64_t i) {
  if (type == DType::f32) return load<float>(bytes, i);
  const auto bits = load<std::uint16_t>(bytes, i);
  return type == DType::fp16 ? from_half(bits) : reference::from_bf16(bits);
}

void set_element(std::vector<std::uint8_t>& bytes, DType type, std::int64_t i, float value) {
  if (type == DType::f32) {
    std::memcpy(bytes.data() + at(i) * sizeof value, &value, sizeof value);
    return;
  }
  const std::uint16_t bits = type == DType::fp16 ? to_half(value) : reference::to_bf16(value);
  std::memcpy(bytes.data() + at(i) * sizeof bits, &bits, sizeof bits);
}

float rounded(float value, DType type) {
  if (type == DType::f32) return value;
  return type == DType::fp16 ? from_half(to_half(value)) : reference::from_bf16(reference::to_bf16(value));
}

double last_place(double value, DType type) {
  const bool half = type == DType::fp16;
  const int mantissa_bits = half ? kHalfMantissaBits : type == DType::bf16 ? 7 : 23;
  const int least = half ? kHalfLeastExponent : -126;
  return std::ldexp(1.0, (value == 0 ? least : std::max(std::ilogb(value), least)) - mantissa_bits);
}

std::vector<std::uint8_t> from_bf16_patterns(const std::vector<std::uint16_t>& patterns, DType type) {
  constexpr float kMoreBits = 1.1f;  // a mantissa longer than bf16's
  std::vector<std::uint8_t> bytes(patterns.size() * at(size_bytes(type)));
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const float value = reference::from_bf16(patterns[i]);
    set_element(bytes, type, static_cast<std::int64_t>(i), type == DType::bf16 ? value : value * kMoreBits);
  }
  return bytes;
}

}  // namespace octet::cli
