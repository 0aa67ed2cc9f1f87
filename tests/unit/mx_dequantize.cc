// The arithmetic of templates/mx_dequantize.cuh, compiled for the host: every code under every scale.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "octet/reference.h"
#include "tests/support/catch.h"

// What the template takes from CUDA.
#define OCTET_RENDERED 1
#define __device__
#define __forceinline__ inline
namespace octet {
inline float __uint_as_float(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline std::uint32_t multiply_bf16x2(std::uint32_t a, std::uint32_t b) {
  const auto half = [](std::uint32_t x, std::uint32_t y) -> std::uint32_t {
    return reference::to_bf16(__uint_as_float(x << 16) * __uint_as_float(y << 16));
  };
  return half(a & 0xffff, b & 0xffff) | half(a >> 16, b >> 16) << 16;
}
}  // namespace octet
#include "templates/mx_dequantize.cuh"

namespace {

using octet::DType;
namespace reference = octet::reference;

template <bool kE5m2>
constexpr DType kType = kE5m2 ? DType::e5m2 : DType::e4m3;

// Four codes through dequantize, in their order.
template <bool kE5m2>
std::vector<float> dequantized(const std::uint8_t (&codes)[4], unsigned scale) {
  octet::u32 word[1], even[1], odd[1];
  std::memcpy(word, codes, 4);
  octet::dequantize<kE5m2, 1>(word, scale, even, odd);
  const auto value = [](octet::u32 bits) { return octet::__uint_as_float(bits << 16); };
  return {value(even[0] & 0xffff), value(odd[0] & 0xffff), value(even[0] >> 16), value(odd[0] >> 16)};
}

template <bool kE5m2>
double exact(std::uint8_t code, unsigned scale) {
  return std::ldexp(static_cast<double>(reference::from_fp8(code, kType<kE5m2>)), static_cast<int>(scale) - 127);
}

bool same(double x, double y) { return x == y && std::signbit(x) == std::signbit(y); }

// "" when every code at every place of a word is exact under this scale, or NaN where the rules say so.
template <bool kE5m2>
std::string fault(unsigned scale) {
  using Type = octet::Fp8<kE5m2>;
  for (unsigned code = 0; code < 256; ++code) {
    for (int place = 0; place < 4; ++place) {
      for (const std::uint8_t others : {0x00, 0x38, 0xB1}) {
        std::uint8_t codes[4] = {others, others, others, others};
        codes[place] = static_cast<std::uint8_t>(code);
        const bool zeros = (code & 0x7f) == 0 && others == 0;
        const bool fits = zeros ? scale != 255 : scale >= Type::kLowest && scale <= Type::kHighest;
        const bool finite = std::isfinite(reference::from_fp8(codes[place], kType<kE5m2>));
        const std::vector<float> values = dequantized<kE5m2>(codes, scale);
        for (int i = 0; i < 4; ++i) {
          const double value = values[static_cast<std::size_t>(i)];
          const bool right = fits && finite ? same(value, exact<kE5m2>(codes[i], scale)) : std::isnan(value);
          if (!right) {
            return "code " + std::to_string(code) + " place " + std::to_string(place) + " scale " +
                   std::to_string(scale) + ": element " + std::to_string(i) + " is " + std::to_string(value);
          }
        }
      }
    }
  }
  return "";
}

}  // namespace

TEST_CASE("mx: every code under every scale is exact as bf16, or NaN") {
  for (unsigned scale = 0; scale < 256; ++scale) {
    CHECK(fault<false>(scale) == "");
    CHECK(fault<true>(scale) == "");
  }
}

TEST_CASE("mx: the range of scales ends where bf16 does") {
  const auto is_exact = [](double value) {
    return static_cast<double>(reference::from_bf16(reference::to_bf16(static_cast<float>(value)))) == value;
  };
  CHECK(is_exact(exact<false>(0x01, octet::Fp8<false>::kLowest)));
  CHECK_FALSE(is_exact(exact<false>(0x01, octet::Fp8<false>::kLowest - 1)));
  CHECK(is_exact(exact<false>(0x7e, octet::Fp8<false>::kHighest)));
  CHECK_FALSE(is_exact(exact<false>(0x7e, octet::Fp8<false>::kHighest + 1)));
  CHECK(is_exact(exact<true>(0x01, octet::Fp8<true>::kLowest)));
  CHECK_FALSE(is_exact(exact<true>(0x01, octet::Fp8<true>::kLowest - 1)));
  CHECK(is_exact(exact<true>(0x7b, octet::Fp8<true>::kHighest)));
  CHECK_FALSE(is_exact(exact<true>(0x7b, octet::Fp8<true>::kHighest + 1)));
}

TEST_CASE("mx: codes and pairs of scales in f32") {
  for (unsigned code = 0; code < 256; ++code) {
    const float e4m3 = reference::from_fp8(static_cast<std::uint8_t>(code), DType::e4m3);
    const float e5m2 = reference::from_fp8(static_cast<std::uint8_t>(code), DType::e5m2);
    INFO(code);
    CHECK(
        (same(octet::fp8_value<false>(code), e4m3) || (std::isnan(octet::fp8_value<false>(code)) && std::isnan(e4m3))));
    CHECK((same(octet::fp8_value<true>(code), e5m2) || (std::isnan(octet::fp8_value<true>(code)) && std::isnan(e5m2))));
  }
  std::string wrong;
  for (unsigned x = 0; x < 256; ++x) {
    for (unsigned y = 0; y < 256; ++y) {
      const float value = octet::scaled(1.5F, x, y);
      const bool is_nan = x == 255 || y == 255;
      const auto expected = static_cast<float>(std::ldexp(1.5, static_cast<int>(x + y) - 254));
      const bool right = is_nan ? std::isnan(value) : value == expected;
      if (!right && wrong.empty()) wrong = std::to_string(x) + " and " + std::to_string(y);
    }
  }
  CHECK(wrong == "");
}
