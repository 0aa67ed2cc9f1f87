// Element casts on the integer representation, so that neither rounding mode nor compiler flags can change them.
#include "runtime/reference/casts.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "octet/error.h"
#include "octet/reference.h"

namespace octet::reference {
namespace {

constexpr std::uint32_t kF32Infinity = 0x7F800000;
constexpr int kF32MantissaBits = 23;
constexpr int kF32Bias = 127;
constexpr std::uint8_t kFp8NaN = 0x7F;      // canonical in both formats, as the hardware conversion writes it
constexpr std::uint16_t kHalfNaN = 0x7FFF;  // of bf16 and of fp16
constexpr std::uint32_t kFp16Infinity = 0x7C00;
constexpr int kFp16MantissaBits = 10;
constexpr int kFp16Bias = 15;

// value / 2^shift, to nearest, ties to even.
std::uint32_t shift_right_nearest_even(std::uint32_t value, int shift) {
  if (shift > 31) return 0;
  const std::uint32_t below_half = (1u << (shift - 1)) - 1;
  const std::uint32_t odd = (value >> shift) & 1;
  return (value + below_half + odd) >> shift;
}

// The bits of a finite or infinite magnitude in a smaller format, unbounded: the caller saturates. A carry out of the
// mantissa runs into the exponent, which is what rounding up to the next binade means.
std::uint32_t round_magnitude(std::uint32_t magnitude, int mantissa_bits, int exponent_bias) {
  const int drop = kF32MantissaBits - mantissa_bits;
  const int exponent = static_cast<int>(magnitude >> kF32MantissaBits);
  const int smallest_normal = kF32Bias + 1 - exponent_bias;
  if (exponent >= smallest_normal) {
    const std::uint32_t rebias = static_cast<std::uint32_t>(kF32Bias - exponent_bias) << kF32MantissaBits;
    return shift_right_nearest_even(magnitude - rebias, drop);
  }
  if (exponent == 0) return 0;  // an f32 subnormal is far below half of the smallest value
  const std::uint32_t significand = (magnitude & ((1u << kF32MantissaBits) - 1)) | (1u << kF32MantissaBits);
  return shift_right_nearest_even(significand, drop + smallest_normal - exponent);
}

bool is_fp8_nan(std::uint8_t magnitude, DType type) {
  return type == DType::e4m3 ? magnitude == 0x7F : magnitude > 0x7C;
}

Fp8Values make_values(DType type) {
  Fp8Values values{};
  for (int byte = 0; byte < 256; ++byte) values[byte] = from_fp8(static_cast<std::uint8_t>(byte), type);
  return values;
}

}  // namespace

const Fp8Format& fp8_format(DType type) {
  static constexpr Fp8Format e4m3{3, 7, 0x7E, 448.0f};
  static constexpr Fp8Format e5m2{2, 15, 0x7B, 57344.0f};
  if (type == DType::e4m3) return e4m3;
  if (type == DType::e5m2) return e5m2;
  throw Error(ErrorCode::invalid_argument,
              std::string("reference: ") + to_string(type) + " is not an FP8 type; use e4m3 or e5m2");
}

std::uint8_t to_fp8(float value, DType type) {
  const Fp8Format& format = fp8_format(type);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > kF32Infinity) return kFp8NaN;
  const std::uint32_t rounded = round_magnitude(magnitude, format.mantissa_bits, format.exponent_bias);
  const std::uint32_t saturated = rounded < format.max_byte ? rounded : format.max_byte;
  return static_cast<std::uint8_t>(saturated | (bits >> 31 << 7));
}

float from_fp8(std::uint8_t byte, DType type) {
  const Fp8Format& format = fp8_format(type);
  const auto magnitude = static_cast<std::uint8_t>(byte & 0x7F);
  const float sign = (byte & 0x80) != 0 ? -1.0f : 1.0f;
  if (is_fp8_nan(magnitude, type)) return std::numeric_limits<float>::quiet_NaN();
  if (type == DType::e5m2 && magnitude == 0x7C) return sign * std::numeric_limits<float>::infinity();
  const int exponent = magnitude >> format.mantissa_bits;
  const int mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
  const int significand = exponent == 0 ? mantissa : mantissa | (1 << format.mantissa_bits);
  const int power = (exponent == 0 ? 1 : exponent) - format.exponent_bias - format.mantissa_bits;
  return sign * std::ldexp(static_cast<float>(significand), power);
}

const Fp8Values& fp8_values(DType type) {
  static const Fp8Values e4m3 = make_values(DType::e4m3);
  static const Fp8Values e5m2 = make_values(DType::e5m2);
  return &fp8_format(type) == &fp8_format(DType::e4m3) ? e4m3 : e5m2;
}

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > kF32Infinity) return kHalfNaN;
  return static_cast<std::uint16_t>(shift_right_nearest_even(magnitude, 16) | (bits >> 31 << 15));
}

std::uint16_t to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > kF32Infinity) return kHalfNaN;
  const std::uint32_t rounded = round_magnitude(magnitude, kFp16MantissaBits, kFp16Bias);
  const std::uint32_t bounded = rounded < kFp16Infinity ? rounded : kFp16Infinity;
  return static_cast<std::uint16_t>(bounded | (bits >> 31 << 15));
}

float from_fp16(std::uint16_t bits) {
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  const int exponent = bits >> kFp16MantissaBits & 0x1F;
  const int mantissa = bits & ((1 << kFp16MantissaBits) - 1);
  if (exponent == 0x1F && mantissa != 0) return std::numeric_limits<float>::quiet_NaN();
  if (exponent == 0x1F) return sign * std::numeric_limits<float>::infinity();
  const int significand = exponent == 0 ? mantissa : mantissa | (1 << kFp16MantissaBits);
  const int power = (exponent == 0 ? 1 : exponent) - kFp16Bias - kFp16MantissaBits;
  return sign * std::ldexp(static_cast<float>(significand), power);
}

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace octet::reference
