// Zeros, tiny values, infinities, NaN: what they do to their block, and that they do it to no other.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/reference_case.h"

using namespace octet;
using namespace octet::test;

namespace {
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
}  // namespace

TEST_CASE("A01: a block of zeros becomes zero bytes and a finite, positive scale") {
  QuantizeCase c("quantize.packed g2 c512 in=bf16 out=e4m3:1x128", {128, 128}, 256);
  for (std::int64_t row = 0; row < 128; ++row)
    for (std::int64_t column = 128; column < 256; ++column) c.set(row, column, 0.0f);
  const QuantizeBuffers out = c.run();
  for (std::int64_t row = 0; row < 128; ++row) {
    CHECK(as<float>(out.sf)[256 + row] == 1.0f);
    CHECK(std::all_of(&out.data[row * 512 + 128], &out.data[row * 512 + 256], [](int byte) { return byte == 0; }));
  }
  c.amax_floor = 1e-4f;  // as DeepGEMM casts
  CHECK(as<float>(c.run().sf)[256] == 1.0f / (448.0f / 1e-4f));
}

TEST_CASE("A02: constants so small that 448/amax overflows keep finite scales") {
  for (float value : {1e-40f, 1.3e-36f, 1.4e-36f}) {
    QuantizeCase c("quantize.packed g1 c64 in=f32 out=e4m3:tensor", {2}, 2);
    for (std::int64_t i = 0; i < 128; ++i) c.set(0, i, value);
    const QuantizeBuffers out = c.run();
    const float sf = as<float>(out.sf)[0];
    CAPTURE(value, sf);
    CHECK((sf > 0 && std::isfinite(sf)));
    const float capped = std::min(448.0f / value, std::numeric_limits<float>::max());
    CHECK(sf == 1.0f / capped);
    for (std::uint8_t byte : out.data) CHECK(byte == reference::to_fp8(value * capped, DType::e4m3));
  }
}

TEST_CASE("A02: the cap of q is the largest f32 for tensor, the input type's for blocks and rows") {
  const float largest_f32 = std::numeric_limits<float>::max(), largest_bf16 = reference::from_bf16(0x7F7F);
  for (const char* recipe : {"tensor", "1x128", "128x128", "row"}) {
    QuantizeCase c("quantize.packed g1 c8 in=bf16 out=e4m3:" + std::string(recipe), {1}, 1);
    for (std::int64_t i = 0; i < 8; ++i) c.set(0, i, 0x1p-133f);
    const float cap = recipe[0] == 't' ? largest_f32 : largest_bf16;
    CHECK(as<float>(c.run().sf)[0] == 1.0f / cap);
  }
}

TEST_CASE("A05: special elements change their own block alone") {
  for (const char* recipe : {"1x128", "1x32"}) {
    const bool mx = recipe[2] == '3';
    const std::int64_t unit = mx ? 32 : 128;
    const QuantizeCase plain("quantize.packed g2 c300 in=bf16 out=e4m3:" + std::string(recipe), {3, 2}, 5);
    const QuantizeBuffers want = plain.run();
    for (float special : {kInfinity, -kInfinity, kNaN}) {
      QuantizeCase c = plain;
      c.set(3, 200, special);
      const QuantizeBuffers got = c.run();
      CAPTURE(recipe, special);
      CHECK(got.data[3 * 300 + 200] == (std::isnan(special) ? 0x7F : special > 0 ? 0x7E : 0xFE));
      for (std::int64_t row = 0; row < 5; ++row) {
        for (std::int64_t column = 0; column < 300; ++column) {
          if (row == 3 && column / unit == 200 / unit) continue;
          REQUIRE(got.data[row * 300 + column] == want.data[row * 300 + column]);
          const std::int64_t block = column / unit;
          if (mx)
            REQUIRE(got.sf[row * 12 + block] == want.sf[row * 12 + block]);
          else
            REQUIRE(as<float>(got.sf)[block * 8 + row] == as<float>(want.sf)[block * 8 + row]);
        }
      }
      if (std::isnan(special)) continue;
      if (mx)
        CHECK(got.sf[3 * 12 + 200 / 32] == 254);
      else
        CHECK(as<float>(got.sf)[8 + 3] == 1.0f);
    }
  }
}

TEST_CASE("reference: a NaN element does not reach its block's scale") {
  QuantizeCase c("quantize.packed g1 c128 in=bf16 out=e4m3:1x128", {1}, 1);
  for (std::int64_t column = 0; column < 128; ++column) c.set(0, column, column == 7 ? kNaN : 1.0f);
  const QuantizeBuffers out = c.run();
  CHECK(as<float>(out.sf)[0] == 1.0f / 448.0f);
  for (std::int64_t column = 0; column < 128; ++column) CHECK(out.data[column] == (column == 7 ? 0x7F : 0x7E));
}

TEST_CASE("A10: with a given scale of 1 overflow saturates and NaN stays NaN") {
  const std::vector<float> values = {448, 464, 465, 1000, -1000, kInfinity, -kInfinity, kNaN};
  QuantizeCase c("quantize.packed g1 c8 in=f32 out=e4m3:tensor dir=row,col +given +amax", {1}, 1);
  c.given = {1.0f};
  for (std::int64_t i = 0; i < 8; ++i) c.set(0, i, values[static_cast<std::size_t>(i)]);
  const QuantizeBuffers out = c.run();
  CHECK(out.data == Bytes{0x7E, 0x7E, 0x7E, 0x7E, 0xFE, 0x7E, 0xFE, 0x7F});
  for (std::size_t i = 0; i < 8; ++i) CHECK(out.data_col[i * 256] == out.data[i]);
  CHECK(as<float>(out.sf)[0] == 1.0f);
  CHECK(as<float>(out.sf_col)[0] == 1.0f);
  CHECK(as<float>(out.amax)[0] == kInfinity);
}

TEST_CASE("reference: the floor of amax is for computed f32 scales alone") {
  const auto run = [](const char* recipe, float floor) {
    QuantizeCase c("quantize.packed g1 c32 in=bf16 +amax out=e4m3:" + std::string(recipe), {1}, 1);
    for (std::int64_t i = 0; i < 32; ++i) c.set(0, i, 0.5f);
    c.amax_floor = floor;
    return c.run();
  };
  for (const char* recipe : {"tensor", "row", "1x128", "128x128"}) {
    CHECK(as<float>(run(recipe, 7.0f).sf)[0] == 1.0f / 64.0f);
    CHECK(as<float>(run(recipe, 0.25f).sf)[0] == as<float>(run(recipe, 0).sf)[0]);
    CHECK(as<float>(run(recipe, 7.0f).amax)[0] == 0.5f);
  }
  CHECK(run("1x32", 7.0f).sf == run("1x32", 0).sf);
  CHECK(as<float>(run("tensor +given", 7.0f).sf)[0] == 0.3f);
}
