// Scenarios that broke other systems, by their ids.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "tests/gpu/awkward.h"
#include "tests/gpu/elements.h"
#include "tests/gpu/quantize_judge.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

Problem parse(const std::string& line) { return Problem::parse(line); }

Results run(const QuantizeCase& quantize) {
  return QuantizeBuffers(quantize).run(runtime().prepare_quantize(quantize.problem));
}

void fill(QuantizeCase& quantize, std::int64_t first, std::int64_t count, float value) {
  for (std::int64_t i = first; i < first + count; ++i) {
    set_element_bits(*quantize.problem.in, quantize.in.data(), i, rough_bits(*quantize.problem.in, value));
  }
}

std::vector<float> as_floats(const Bytes& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

bool is_nan_code(std::uint8_t byte) { return (byte & 0x7F) == 0x7F; }  // of e4m3

}  // namespace

TEST_CASE_METHOD(GpuTest, "A01: a zero block of any recipe is zero with a finite scale above 0") {
  INFO(random.note());
  for (const char* recipe : {"tensor", "row", "1x128", "1x128:pow2", "128x128"}) {
    for (const char* direction : {"row", "col", "row,col"}) {
      CAPTURE(recipe, direction);
      const Problem problem =
          parse(fmt::format("quantize.packed g2 c512 in=bf16 out=e4m3:{} dir={}", recipe, direction));
      QuantizeCase quantize = ordinary_case(problem, {128, 128}, 0, random);
      for (std::int64_t row = 0; row < 128; ++row) fill(quantize, row * 512 + 128, 128, 0);
      fill(quantize, 128 * 512, 128 * 512, 0);  // and a whole group
      REQUIRE(fault(quantize) == "");
      const Results got = run(quantize);
      REQUIRE(std::none_of(got.data.begin(), got.data.end(), is_nan_code));
      // The groups fill 256 of the columnwise data's columns; what lies behind them is nobody's.
      for (std::size_t i = 0; i < got.data_col.size(); ++i) {
        if (i % static_cast<std::size_t>(quantize.shape().ld_col) < 256) REQUIRE(!is_nan_code(got.data_col[i]));
      }
    }
  }
}

TEST_CASE_METHOD(GpuTest, "A02: an amax so small that 448/amax overflows keeps finite scales") {
  INFO(random.note());
  for (const char* recipe : {"tensor", "row", "1x128", "128x128"}) {
    for (const float amax : {1e-40F, 1.3e-36F, 1.4e-36F}) {
      CAPTURE(recipe, amax);
      const Problem problem = parse(fmt::format("quantize.packed g2 c256 in=f32 out=e4m3:{} dir=row,col", recipe));
      QuantizeCase quantize = ordinary_case(problem, {64, 70}, 0, random);
      fill(quantize, 0, 134 * 256, amax);
      REQUIRE(fault(quantize) == "");
      const Results got = run(quantize);
      for (const float scale : as_floats(got.sf)) {
        const bool usable = std::isfinite(scale) && scale > 0;
        CAPTURE(scale);
        REQUIRE((usable || std::isnan(scale)));  // NaN: the poison of slots that no row owns
      }
      REQUIRE(std::none_of(got.data.begin(), got.data.end(), is_nan_code));
    }
  }
}

TEST_CASE_METHOD(GpuTest, "A05: one infinity in MX data changes its own block alone") {
  INFO(random.note());
  for (const char* layout : {"", "@swizzled"}) {
    CAPTURE(layout);
    const Problem problem = parse(fmt::format("quantize.packed g3 c160 in=bf16 out=e4m3:1x32{}", layout));
    const QuantizeCase clean = ordinary_case(problem, {40, 33, 5}, 3, random);
    QuantizeCase infinite = clean;
    const std::int64_t row = 40 + 3, first = row * 160 + 64;
    set_element_bits(DType::bf16, infinite.in.data(), first + 5, 0x7F80);
    REQUIRE(fault(infinite) == "");
    const Results before = run(clean), after = run(infinite);
    for (std::size_t i = 0; i < before.data.size(); ++i) {
      const bool in_block = static_cast<std::int64_t>(i) >= first && static_cast<std::int64_t>(i) < first + 32;
      if (!in_block) REQUIRE(before.data[i] == after.data[i]);
    }
    std::vector<std::uint8_t> changed;
    for (std::size_t i = 0; i < before.sf.size(); ++i) {
      if (before.sf[i] != after.sf[i]) changed.push_back(after.sf[i]);
    }
    REQUIRE(changed == std::vector<std::uint8_t>{254});
  }
}

TEST_CASE_METHOD(GpuTest, "A07: MX scales are rounded up: the largest of a block never saturates") {
  INFO(random.note());
  const Problem problem = parse("quantize.packed g1 c512 in=f32 out=e4m3:1x32");
  QuantizeCase quantize = ordinary_case(problem, {64}, 0, random);
  for (std::int64_t block = 0; block < 1024; ++block) {
    // Half of them just above a power of two times 448.
    const float power = std::ldexp(448.0F, static_cast<int>(random.integer(-60, 60)));
    const float amax = block % 2 == 0 ? std::nextafter(power, INFINITY) : random.uniform(1, 2) * power;
    for (std::int64_t i = 0; i < 32; ++i) fill(quantize, block * 32 + i, 1, amax * random.uniform(-0.9F, 0.9F));
    fill(quantize, block * 32 + random.integer(0, 31), 1, amax);
  }
  REQUIRE(fault(quantize) == "");
  const Results got = run(quantize);
  for (std::int64_t i = 0; i < 64 * 512; ++i) {
    const double x = element_value(DType::f32, quantize.in.data(), i);
    const std::uint8_t byte = got.sf[static_cast<std::size_t>(i / 512 * 16 + i % 512 / 32)];
    const double scale = reference::from_e8m0(byte);
    const double back = scale * reference::from_fp8(got.data[static_cast<std::size_t>(i)], DType::e4m3);
    CAPTURE(i, x, scale, back);
    REQUIRE(std::abs(x) <= 448 * scale);
    // Subnormal codes of small elements keep an absolute step instead.
    REQUIRE(std::abs(back - x) <= std::max(0.0625 * std::abs(x), scale * 0x1p-10));
  }
}

TEST_CASE_METHOD(GpuTest, "A10: overflow saturates alike in every recipe") {
  INFO(random.note());
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {448, 464, 465, 1000, -1000, kInfinity, -kInfinity, NAN};
  const Bytes wanted = {0x7E, 0x7E, 0x7E, 0x7E, 0xFE, 0x7E, 0xFE, 0x7F};
  for (const char* direction : {"row", "row,col"}) {
    CAPTURE(direction);
    const Problem problem =
        parse(fmt::format("quantize.packed g1 c16 in=f32 out=e4m3:tensor dir={} +given", direction));
    QuantizeCase quantize = ordinary_case(problem, {3}, 0, random);
    quantize.given = {1};
    for (std::size_t i = 0; i < values.size(); ++i) fill(quantize, static_cast<std::int64_t>(i), 1, values[i]);
    REQUIRE(fault(quantize) == "");
    const Results got = run(quantize);
    REQUIRE(Bytes(got.data.begin(), got.data.begin() + 8) == wanted);
  }
  // With an infinity in the block, its scale is 1 too.
  for (const char* recipe : {"1x128", "row", "tensor", "128x128"}) {
    CAPTURE(recipe);
    QuantizeCase quantize =
        ordinary_case(parse(fmt::format("quantize.packed g1 c16 in=f32 out=e4m3:{}", recipe)), {1}, 0, random);
    for (std::size_t i = 0; i < values.size(); ++i) fill(quantize, static_cast<std::int64_t>(i), 1, values[i]);
    REQUIRE(fault(quantize) == "");
    const Results got = run(quantize);
    REQUIRE(Bytes(got.data.begin(), got.data.begin() + 8) == wanted);
  }
}

TEST_CASE_METHOD(GpuTest, "A15: every padded scale byte of a grouped MX quantization is written") {
  INFO(random.note());
  for (const char* recipe : {"1x32", "1x32@swizzled"}) {
    CAPTURE(recipe);
    const Problem problem = parse(fmt::format("quantize.packed g4 c144 in=bf16 out=e4m3:{} dir=row,col", recipe));
    const QuantizeCase quantize = ordinary_case(problem, {32, 96, 0, 160}, 0, random);
    REQUIRE(fault(quantize) == "");
  }
  // In whole blocks nothing but the bound's slack past the last group stays as it was.
  const QuantizeCase whole = ordinary_case(parse("quantize.packed g4 c128 in=bf16 out=e4m3:1x32@swizzled dir=row,col"),
                                           {32, 96, 0, 160}, 0, random);
  const Results got = run(whole);
  const std::size_t used = (128 + 128 + 256) * 4;
  REQUIRE(std::count(got.sf.begin(), got.sf.begin() + used, 0xFF) == 0);
  REQUIRE(std::count(got.sf_col.begin(), got.sf_col.begin() + 128 * (4 + 4 + 8), 0xFF) == 0);
}

TEST_CASE_METHOD(GpuTest, "A16: rows past the last group stay as they were and enter no amax") {
  INFO(random.note());
  for (const char* rest :
       {"act=swiglu out=e4m3:1x128 dir=row,col", "act=swiglu out=e4m3:tensor +amax", "act=swiglu out=e4m3:row dir=col",
        "act=gelu out=e4m3:1x32@swizzled dir=row,col", "out=e4m3:128x128 dir=row,col"}) {
    CAPTURE(rest);
    const Problem problem = parse(std::string("quantize.packed g4 c256 in=bf16 ") + rest);
    REQUIRE(fault(ordinary_case(problem, {300, 0, 211, 129}, 384, random)) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "B01: groups of no rows anywhere, MX") {
  INFO(random.note());
  for (const Sizes& sizes : std::vector<Sizes>{{0, 128, 256}, {128, 0, 256}, {128, 256, 0}, {0, 0, 128}}) {
    for (const char* recipe : {"1x32", "1x32@swizzled"}) {
      for (const char* direction : {"row", "col", "row,col"}) {
        CAPTURE(sizes, recipe, direction);
        const Problem problem =
            parse(fmt::format("quantize.packed g3 c160 in=bf16 out=e4m3:{} dir={}", recipe, direction));
        REQUIRE(fault(awkward_case(problem, sizes, 7, random)) == "");
      }
    }
  }
}

TEST_CASE_METHOD(GpuTest, "B11: MX groups that are no multiple of 32 or 128") {
  INFO(random.note());
  for (const Sizes& sizes : std::vector<Sizes>{{33, 31, 64}, {32, 32, 64}, {128, 96, 32}, {1, 2, 3}}) {
    for (const char* rest : {"out=e4m3:1x32 dir=row,col", "out=e4m3:1x32@swizzled dir=row,col",
                             "act=swiglu out=e4m3:1x32@swizzled dir=row,col +grad"}) {
      CAPTURE(sizes, rest);
      const Problem problem = parse(std::string("quantize.packed g3 c144 in=bf16 ") + rest);
      REQUIRE(fault(awkward_case(problem, sizes, 7, random)) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "quantize: 1024 groups of one row, each with padding of its own") {
  INFO(random.note());
  Sizes ones(1024, 1);
  for (const char* rest : {"out=e4m3:1x128 dir=row,col", "out=e4m3:1x32@swizzled dir=row,col"}) {
    CAPTURE(rest);
    const Problem problem = parse(std::string("quantize.packed g1024 c272 in=bf16 ") + rest);
    REQUIRE(fault(ordinary_case(problem, ones, 0, random)) == "");
  }
}

}  // namespace octet::test
