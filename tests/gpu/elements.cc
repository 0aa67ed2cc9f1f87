#include "tests/gpu/elements.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace octet::test {

ElementFormat element_format(DType type) {
  switch (type) {
    case DType::bf16:
      return {0x8000, 0x7F, 0x0480, 0x7F80, 0x7FC1};
    case DType::fp16:
      return {0x8000, 0x3FF, 0x1F00, 0x7C00, 0x7E01};
    default:
      return {0x80000000, 0x7FFFFF, 0x04800000, 0x7F800000, 0x7FC12345};
  }
}

std::uint32_t element_bits(DType type, const void* elements, std::int64_t index) {
  const auto width = static_cast<std::size_t>(size_bytes(type));
  std::uint32_t bits = 0;
  std::memcpy(&bits, static_cast<const std::uint8_t*>(elements) + static_cast<std::size_t>(index) * width, width);
  return bits;
}

void set_element_bits(DType type, void* elements, std::int64_t index, std::uint32_t bits) {
  const auto width = static_cast<std::size_t>(size_bytes(type));
  std::memcpy(static_cast<std::uint8_t*>(elements) + static_cast<std::size_t>(index) * width, &bits, width);
}

double element_value(DType type, std::uint32_t bits) {
  if (type == DType::fp16) {
    const int exponent = static_cast<int>(bits >> 10 & 0x1F), mantissa = static_cast<int>(bits & 0x3FF);
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == 0x1F) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
    return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
  }
  const std::uint32_t wide = type == DType::bf16 ? bits << 16 : bits;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

std::uint32_t rough_bits(DType type, float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  if (type == DType::f32) return bits;
  if (type == DType::bf16) return bits >> 16;
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const int exponent = static_cast<int>(bits >> 23 & 0xFF) - 112;  // of fp16
  if (exponent <= 0) return sign;
  if (exponent >= 31) return sign | 0x7BFF;
  return sign | static_cast<std::uint32_t>(exponent) << 10 | (bits >> 13 & 0x3FF);
}

bool is_nan_bits(DType type, std::uint32_t bits) {
  const ElementFormat format = element_format(type);
  return (bits & ~format.sign) > format.infinity;
}

std::int64_t steps_between(DType type, std::uint32_t x, std::uint32_t y) {
  const std::uint32_t sign = element_format(type).sign;
  const auto place = [&](std::uint32_t bits) {
    const auto magnitude = static_cast<std::int64_t>(bits & ~sign);
    return (bits & sign) != 0 ? -magnitude : magnitude;
  };
  return std::abs(place(x) - place(y));
}

}  // namespace octet::test
