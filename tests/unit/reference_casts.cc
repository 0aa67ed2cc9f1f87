// Element casts against vectors of an independent source.
#include <bit>
#include <cmath>
#include <limits>

#include "octet/error.h"
#include "octet/reference.h"
#include "tests/support/catch.h"
#include "tests/support/golden.h"

using namespace octet;
using octet::test::dtype;
using octet::test::golden_lines;
using octet::test::hex;

namespace {
float f32(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
}  // namespace

TEST_CASE("reference: every FP8 byte decodes to its value") {
  int bytes = 0;
  for (const auto& line : golden_lines("fp8_values.txt")) {
    CAPTURE(line[0], line[1]);
    const float value = reference::from_fp8(static_cast<std::uint8_t>(hex(line[1])), dtype(line[0]));
    if (line[2] == "nan")
      CHECK(std::isnan(value));
    else
      CHECK(bits(value) == hex(line[2]));
    ++bytes;
  }
  CHECK(bytes == 512);
}

TEST_CASE("reference: FP8 casts round to nearest even at every boundary, both signs") {
  int cases = 0;
  for (const auto& line : golden_lines("casts.txt")) {
    const DType type = dtype(line[0]);
    const float value = f32(hex(line[1]));
    CAPTURE(line[0], line[1], value);
    CHECK(reference::to_fp8(value, type) == hex(line[2]));
    CHECK(reference::to_fp8(-value, type) == (hex(line[2]) | 0x80));
    ++cases;
  }
  CHECK(cases > 3000);
}

TEST_CASE("reference: decode then cast is the identity on every finite byte") {
  for (DType type : {DType::e4m3, DType::e5m2}) {
    for (int byte = 0; byte < 256; ++byte) {
      const float value = reference::from_fp8(static_cast<std::uint8_t>(byte), type);
      if (!std::isfinite(value)) continue;
      CAPTURE(to_string(type), byte);
      CHECK(reference::to_fp8(value, type) == byte);
    }
  }
}

TEST_CASE("A10: overflow and infinity saturate, NaN is canonical") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (float value : {448.0f, 464.0f, 465.0f, 1000.0f, inf}) {
    CAPTURE(value);
    CHECK(reference::to_fp8(value, DType::e4m3) == 0x7E);
    CHECK(reference::to_fp8(-value, DType::e4m3) == 0xFE);
  }
  for (float value : {57344.0f, 61440.0f, 65536.0f, 1e30f, inf}) {
    CAPTURE(value);
    CHECK(reference::to_fp8(value, DType::e5m2) == 0x7B);
    CHECK(reference::to_fp8(-value, DType::e5m2) == 0xFB);
  }
  for (std::uint32_t nan : {0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0xFFFFFFFFu}) {
    CAPTURE(nan);
    CHECK(reference::to_fp8(f32(nan), DType::e4m3) == 0x7F);
    CHECK(reference::to_fp8(f32(nan), DType::e5m2) == 0x7F);
  }
}

TEST_CASE("reference: zeros keep their sign") {
  for (DType type : {DType::e4m3, DType::e5m2}) {
    CHECK(reference::to_fp8(0.0f, type) == 0x00);
    CHECK(reference::to_fp8(-0.0f, type) == 0x80);
  }
  CHECK(reference::to_bf16(-0.0f) == 0x8000);
}

TEST_CASE("reference: bf16 rounds to nearest even and overflows to infinity") {
  for (const auto& line : golden_lines("bf16.txt")) {
    const float value = f32(hex(line[0]));
    CAPTURE(line[0], value);
    CHECK(reference::to_bf16(value) == hex(line[1]));
    CHECK(reference::to_bf16(-value) == (hex(line[1]) | 0x8000));
  }
  for (std::uint32_t nan : {0x7FC00000u, 0xFFC00000u, 0x7F800001u}) CHECK(reference::to_bf16(f32(nan)) == 0x7FFF);
}

TEST_CASE("reference: bf16 widens exactly") {
  for (std::uint32_t word = 0; word < 0x10000; ++word)
    REQUIRE(bits(reference::from_bf16(static_cast<std::uint16_t>(word))) == word << 16);
}

TEST_CASE("reference: a type that is not FP8 is refused by name") {
  CHECK_THROWS_WITH(reference::to_fp8(1.0f, DType::bf16), Catch::Contains("bf16 is not an FP8 type"));
  CHECK_THROWS_AS(reference::from_fp8(0, DType::f32), Error);
}
