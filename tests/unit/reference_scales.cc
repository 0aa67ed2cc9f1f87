// Block scales against vectors of an independent source.
#include <bit>
#include <cmath>
#include <limits>

#include "octet/error.h"
#include "octet/reference.h"
#include "tests/support/catch.h"
#include "tests/support/golden.h"

using namespace octet;
using octet::reference::block_scale;
using octet::test::dtype;
using octet::test::hex;

namespace {
float f32(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
}  // namespace

TEST_CASE("reference: scales over a sweep of amax, bit for bit") {
  int cases = 0;
  for (const auto& line : octet::test::golden_lines("scales.txt")) {
    CAPTURE(line[0], line[1], line[2], line[3]);
    const auto scale = block_scale(f32(hex(line[3])), dtype(line[0]), dtype(line[1]), line[2] == "1");
    CHECK(bits(scale.q) == hex(line[4]));
    CHECK(bits(scale.sf) == hex(line[5]));
    ++cases;
  }
  CHECK(cases > 900);
}

TEST_CASE("A02: an amax so small that 448/amax overflows gives finite scales") {
  for (DType in : {DType::bf16, DType::f32}) {
    const float cap = in == DType::bf16 ? f32(0x7F7F0000) : std::numeric_limits<float>::max();
    CHECK(block_scale(1e-40f, DType::e4m3, in).q == cap);
    CHECK(block_scale(1.3e-36f, DType::e4m3, in).q == cap);
    CHECK(block_scale(1.4e-36f, DType::e4m3, in).q == 448.0f / 1.4e-36f);
    for (float amax : {1e-40f, 1.3e-36f, 1.4e-36f}) {
      const float sf = block_scale(amax, DType::e4m3, in).sf;
      CHECK((sf > 0 && std::isfinite(sf)));
    }
  }
}

TEST_CASE("reference: a zero or infinite amax gives scale 1") {
  for (bool pow2 : {false, true}) {
    for (float amax : {0.0f, std::numeric_limits<float>::infinity()}) {
      CHECK(block_scale(amax, DType::e4m3, DType::bf16, pow2).q == 1.0f);
      CHECK(block_scale(amax, DType::e4m3, DType::bf16, pow2).sf == 1.0f);
    }
  }
}

TEST_CASE("reference: scales are positive and finite for every bf16 amax") {
  for (DType out : {DType::e4m3, DType::e5m2}) {
    for (std::uint32_t word = 0; word <= 0x7F80; ++word) {
      const auto scale = block_scale(f32(word << 16), out, DType::bf16);
      const auto rounded = block_scale(f32(word << 16), out, DType::bf16, true);
      const float exact_product = scale.q * scale.sf;
      REQUIRE((std::isfinite(scale.q) && std::isfinite(scale.sf) && scale.sf > 0));
      REQUIRE(std::abs(exact_product - 1.0f) < 1e-6f);
      REQUIRE(rounded.q * rounded.sf == 1.0f);
      REQUIRE((rounded.q <= scale.q && scale.q < 2 * rounded.q));
    }
  }
}

TEST_CASE("reference: an amax that is negative or NaN is refused") {
  CHECK_THROWS_AS(block_scale(-1.0f, DType::e4m3, DType::bf16), Error);
  CHECK_THROWS_AS(block_scale(std::numeric_limits<float>::quiet_NaN(), DType::e4m3, DType::bf16), Error);
  CHECK_THROWS_WITH(block_scale(0.0f, DType::bf16, DType::bf16), Catch::Contains("not an FP8 type"));
  CHECK_THROWS_WITH(block_scale(0.0f, DType::e4m3, DType::e4m3), Catch::Contains("in=e4m3"));
}

TEST_CASE("A07: E8M0 scales never let a block's maximum saturate, nor waste a binade") {
  for (DType type : {DType::e4m3, DType::e5m2}) {
    const float limit = type == DType::e4m3 ? 448.0f : 57344.0f;
    for (std::uint32_t word = 0x0C00; word < 0x7F80; ++word) {  // above 448 * 2^-127
      const float amax = f32(word << 16);
      const std::uint8_t byte = reference::e8m0_scale(amax, type);
      if (byte == 0) continue;
      REQUIRE(amax <= limit * reference::from_e8m0(byte));
      REQUIRE(amax * (1 + 0x1p-22f) >= limit * reference::from_e8m0(static_cast<std::uint8_t>(byte - 1)));
      const float scaled = amax * reference::e8m0_multiplier(byte);
      const float kept = reference::from_fp8(reference::to_fp8(scaled, type), type);
      REQUIRE(std::abs(kept - scaled) <= scaled * (type == DType::e4m3 ? 0.0625f : 0.125f));
    }
  }
}

TEST_CASE("A04: E8M0 byte 0 is 2^-127, byte 255 is NaN, the multiplier is the reciprocal") {
  CHECK(reference::from_e8m0(0) == 0x1p-127f);
  CHECK(reference::from_e8m0(127) == 1.0f);
  CHECK(reference::from_e8m0(254) == 0x1p127f);
  CHECK(std::isnan(reference::from_e8m0(255)));
  CHECK(reference::e8m0_multiplier(254) == 0x1p-127f);
  for (int byte = 0; byte < 255; ++byte) {
    const auto b = static_cast<std::uint8_t>(byte);
    CHECK(reference::from_e8m0(b) * reference::e8m0_multiplier(b) == 1.0f);
  }
}

TEST_CASE("reference: an infinite amax has E8M0 byte 254, zero and below 2^-127 byte 0") {
  for (DType type : {DType::e4m3, DType::e5m2}) {
    CHECK(reference::e8m0_scale(std::numeric_limits<float>::infinity(), type) == 254);
    CHECK(reference::e8m0_scale(0.0f, type) == 0);
    CHECK(reference::e8m0_scale(std::numeric_limits<float>::denorm_min(), type) == 0);
    CHECK(reference::e8m0_scale(std::numeric_limits<float>::max(), type) < 254);
    CHECK_THROWS_AS(reference::e8m0_scale(-1.0f, type), Error);
  }
  CHECK(reference::e8m0_scale(448 * 0x1p-127f, DType::e4m3) == 0);
  CHECK(reference::e8m0_scale(449 * 0x1p-127f, DType::e4m3) == 1);
}
