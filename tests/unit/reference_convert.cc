// Dequantizers and converters. Their packings are compared with another source in reference_golden.cc.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/reference/elements.h"
#include "tests/support/catch.h"
#include "tests/unit/reference_case.h"

using namespace octet;
using namespace octet::test;

namespace {

struct TokenLayout {
  const char* text;
  std::vector<std::int64_t> sizes;
  std::int64_t capacity;
};
const TokenLayout kPacked{"packed g4 c202", {50, 0, 133, 1}, 189};
const TokenLayout kPadded{"padded g4 c202 al32", {50, 0, 133, 1}, 230};
const TokenLayout kMasked{"masked g4 c202 m133", {50, 0, 133, 1}, 532};
const TokenLayout kUniform{"uniform g2 n133 k202", {}, 266};
const TokenLayout kDense{"dense g1 c202", {150}, 150};

QuantizeCase quantize_case(const TokenLayout& layout, const std::string& recipe) {
  return {"quantize." + std::string(layout.text) + " in=f32 dir=row,col out=" + recipe, layout.sizes, layout.capacity};
}

Bytes dequantized(const QuantizeCase& c, const QuantizeBuffers& in, Direction dir, DType d) {
  Problem problem = c.problem;
  problem.op = Operation::dequantize;
  problem.a = problem.out;
  problem.out.reset();
  problem.d = d;
  problem.dir = dir;
  Bytes out(static_cast<std::size_t>(quantize_shape(problem, c.capacity).d_bytes), kCanaryByte);
  const bool row = dir == Direction::row;
  reference::dequantize(problem, (row ? in.data : in.data_col).data(), (row ? in.sf : in.sf_col).data(), c.groups,
                        c.capacity, out.data());
  return out;
}

// The smallest FP8 values are far below what the largest relative error of a normal one says.
double tolerance(DType type, double amax, double x) {
  const double relative = type == DType::e4m3 ? 0x1p-4 : 0x1p-3;
  const double subnormal = type == DType::e4m3 ? 0x1p-10 / 448 : 0x1p-17 / 57344;
  return 1.001 * (std::abs(x) * relative + 2 * amax * subnormal);
}

void check_near_input(const QuantizeCase& c, const Bytes& got) {
  const std::int64_t columns = c.shape.out_columns;
  for (std::int64_t row = 0; row < c.shape.rows; ++row) {
    if (!c.exists(row)) {
      REQUIRE(is_canary(got, static_cast<std::size_t>(row * columns) * 4, static_cast<std::size_t>(columns) * 4));
      continue;
    }
    for (std::int64_t column = 0; column < columns; ++column) {
      const double x = element(c.in, DType::f32, row * columns + column);
      const double y = element(got, DType::f32, row * columns + column);
      REQUIRE(std::abs(x - y) <= tolerance(c.problem.out->type, 32, x));
    }
  }
}

Problem conversion(const QuantizeCase& c, ScaleLayout from, ScaleLayout to, Direction dir) {
  Problem problem = c.problem;
  problem.op = Operation::convert;
  problem.in.reset();
  problem.a = problem.out;
  problem.a->scale_layout = from;
  problem.out->scale_layout = to;
  problem.dir = dir;
  return problem;
}

// Converting what was quantized with one layout gives, bit for bit, what is quantized with the other.
void check_conversion(const TokenLayout& layout, const std::string& recipe, ScaleLayout x, ScaleLayout y) {
  QuantizeCase c = quantize_case(layout, recipe);
  for (auto [from, to] : {std::pair{x, y}, {y, x}, {x, x}}) {
    c.problem.out->scale_layout = from;
    c.shape = quantize_shape(c.problem, c.capacity);
    const QuantizeBuffers source = c.run();
    c.problem.out->scale_layout = to;
    c.shape = quantize_shape(c.problem, c.capacity);
    const QuantizeBuffers want = c.run();
    QuantizeBuffers got(c.shape);
    CAPTURE(layout.text, recipe, to_string(from), to_string(to));
    reference::convert(conversion(c, from, to, Direction::row), source.data.data(), source.sf.data(), c.groups,
                       c.capacity, got.data.data(), got.sf.data());
    reference::convert(conversion(c, from, to, Direction::col), source.data_col.data(), source.sf_col.data(), c.groups,
                       c.capacity, got.data_col.data(), got.sf_col.data());
    CHECK((got.data == want.data && got.data_col == want.data_col));
    CHECK((got.sf == want.sf && got.sf_col == want.sf_col));
  }
}

}  // namespace

TEST_CASE("reference: both directions dequantize to the input, rows of no group are left") {
  for (const TokenLayout* layout : {&kPacked, &kPadded, &kMasked, &kUniform, &kDense}) {
    for (const char* recipe : {"e4m3:tensor", "e5m2:row", "e4m3:1x128", "e4m3:1x128:pow2@k_major", "e5m2:128x128",
                               "e4m3:1x32", "e5m2:1x32@swizzled"}) {
      const QuantizeCase c = quantize_case(*layout, recipe);
      const QuantizeBuffers quantized = c.run();
      CAPTURE(c.problem.to_string());
      check_near_input(c, dequantized(c, quantized, Direction::row, DType::f32));
      check_near_input(c, dequantized(c, quantized, Direction::col, DType::f32));
    }
  }
  for (const char* recipe : {"e4m3:128x128@block2d_t", "e4m3:32x32"}) {
    const QuantizeCase c = quantize_case(kUniform, recipe);
    const QuantizeBuffers quantized = c.run();
    check_near_input(c, dequantized(c, quantized, Direction::row, DType::f32));
    check_near_input(c, dequantized(c, quantized, Direction::col, DType::f32));
  }
}

TEST_CASE("reference: a dequantized value is rounded once from f32") {
  const QuantizeCase c = quantize_case(kPacked, "e4m3:1x128");
  const QuantizeBuffers quantized = c.run();
  const Bytes wide = dequantized(c, quantized, Direction::row, DType::f32);
  for (DType type : {DType::bf16, DType::fp16}) {
    const Bytes narrow = dequantized(c, quantized, Direction::row, type);
    for (std::int64_t i = 0; i < 184 * 202; ++i)
      REQUIRE(element(narrow, type, i) == reference::round_to(type, element(wide, DType::f32, i)));
  }
}

TEST_CASE("A04: E8M0 byte 0 dequantizes to 2^-127, byte 255 to NaN") {
  const Problem problem = Problem::parse("dequantize.packed g1 c32 a=e4m3:1x32 d=f32");
  const Bytes data(32, 0x38);
  for (int byte : {0, 127, 254, 255}) {
    const Bytes sf(4, static_cast<std::uint8_t>(byte));
    std::vector<float> d(32);
    reference::dequantize(problem, data.data(), sf.data(), reference::extents({1}), 1, d.data());
    for (float value : d) CHECK((byte == 255 ? std::isnan(value) : value == std::ldexp(1.0f, byte - 127)));
  }
}

TEST_CASE("reference: converted scales are those of the other layout, data and padding with them") {
  for (const TokenLayout* layout : {&kPacked, &kPadded, &kMasked, &kUniform, &kDense}) {
    check_conversion(*layout, "e4m3:1x128", ScaleLayout::mn_major, ScaleLayout::k_major);
    check_conversion(*layout, "e5m2:1x32", ScaleLayout::mx_compact, ScaleLayout::swizzled);
    check_conversion(*layout, "e4m3:128x128", ScaleLayout::block2d, ScaleLayout::block2d);
    check_conversion(*layout, "e4m3:row", ScaleLayout::per_row, ScaleLayout::per_row);
    check_conversion(*layout, "e4m3:tensor", ScaleLayout::per_group, ScaleLayout::per_group);
  }
  check_conversion(kUniform, "e4m3:128x128", ScaleLayout::block2d, ScaleLayout::block2d_t);
  check_conversion(kUniform, "e4m3:32x32", ScaleLayout::mx_32x32, ScaleLayout::mx_32x32);
}

TEST_CASE("reference: data and scales convert by themselves") {
  const QuantizeCase c = quantize_case(kPacked, "e4m3:1x32");
  const QuantizeBuffers source = c.run();
  const Problem problem = conversion(c, ScaleLayout::mx_compact, ScaleLayout::mx_compact, Direction::col);
  QuantizeBuffers data(c.shape), scales(c.shape);
  reference::convert(problem, source.data_col.data(), nullptr, c.groups, c.capacity, data.data_col.data(), nullptr);
  reference::convert(problem, nullptr, source.sf_col.data(), c.groups, c.capacity, nullptr, scales.sf_col.data());
  CHECK(data.data_col == source.data_col);
  CHECK(scales.sf_col == source.sf_col);
  CHECK_NOTHROW(reference::convert(problem, nullptr, nullptr, c.groups, c.capacity, nullptr, nullptr));
  CHECK_THROWS_WITH(
      reference::convert(problem, source.data_col.data(), nullptr, c.groups, c.capacity, nullptr, nullptr),
      Catch::Contains("out_data is null"));
}

TEST_CASE("reference: converters and dequantizers refuse what does not go together") {
  const auto groups = reference::extents({1});
  Bytes bytes(4096);
  const auto convert = [&](const char* text) {
    reference::convert(Problem::parse(text), bytes.data(), bytes.data(), groups, 1, bytes.data(), bytes.data());
  };
  CHECK_THROWS_WITH(convert("convert.packed g1 c32 a=e4m3:1x128 out=e5m2:1x128"), Catch::Contains("arrangement alone"));
  CHECK_THROWS_WITH(convert("convert.packed g1 c32 a=e4m3:1x128 out=e4m3:1x32"), Catch::Contains("arrangement alone"));
  CHECK_THROWS_WITH(convert("convert.packed g1 c32 a=e4m3:1x128 out=e4m3:1x128 to=deepgemm"),
                    Catch::Contains("add dir=col"));
  CHECK_THROWS_WITH(convert("convert.packed g1 c32 a=e4m3:1x32 out=e4m3:1x32 dir=col from=deepgemm"),
                    Catch::Contains("1x128 scales"));
  CHECK_THROWS_WITH(convert("convert.packed g1 c32 a=e4m3:1x128 out=e4m3:1x128 dir=col from=te"),
                    Catch::Contains("1x32 scales"));
  CHECK_THROWS_WITH(convert("convert.packed g1 c32 a=e4m3:1x128 out=e4m3:1x128 dir=row,col"),
                    Catch::Contains("one direction"));
  const auto dequantize = [&](const char* text) {
    reference::dequantize(Problem::parse(text), bytes.data(), bytes.data(), groups, 1, bytes.data());
  };
  CHECK_THROWS_WITH(dequantize("dequantize.packed g1 c32 a=e4m3:1x128 d=e4m3"), Catch::Contains("d=e4m3"));
  CHECK_THROWS_WITH(dequantize("dequantize.packed g1 c32 a=e4m3:1x128 d=bf16 dir=row,col"),
                    Catch::Contains("one direction"));
}
