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

TEST_CASE("reference: how many scales an output has") {
  QuantizeProblem tokens;
  tokens.columns = 2880;
  CHECK(reference::scale_count(tokens, 130) == 23 * 132);
  CHECK(reference::scale_count(tokens, 0) == 0);
  QuantizeProblem weights;
  weights.layout = Layout::uniform;
  weights.out = e4m3_128x128();
  weights.groups = 3;
  weights.rows_per_group = 130;
  weights.columns = 2880;
  CHECK(reference::scale_count(weights) == 3 * 2 * 23);
  weights.out = e4m3_1x128();
  CHECK_THROWS_WITH(reference::scale_count(weights), Catch::Contains("128x128"));
}
