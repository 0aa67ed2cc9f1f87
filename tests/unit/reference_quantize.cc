// Quantization of large buffers against digests of an independent source, and what it must not touch.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "octet/error.h"
#include "tests/support/catch.h"
#include "tests/unit/reference_case.h"

using namespace octet;
using namespace octet::test;

namespace {

std::vector<Words> lines_of(const std::vector<Words>& lines, const std::string& kind) {
  std::vector<Words> found;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(found), [&](const Words& w) { return w[0] == kind; });
  return found;
}

Bytes bytes_of(const std::vector<std::uint16_t>& elements) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(elements.data());
  return {first, first + elements.size() * 2};
}

// Checks the "data" and "sf" lines of one recipe; returns how many there were.
int check_digests(const std::vector<Words>& lines, const Recipe& recipe, const QuantizeBuffers& out,
                  std::int64_t data_row_bytes, std::int64_t sf_row_count) {
  int checked = 0;
  for (const Words& line : lines) {
    if ((line[0] != "data" && line[0] != "sf") || line[1] != to_string(recipe.type)) continue;
    if (line[2] != (recipe.power_of_two ? "1" : "0")) continue;
    CAPTURE(line[0], line[1], line[2], line[3]);
    const std::int64_t row = number(line[3]);
    if (line[0] == "data")
      CHECK(digest(out.data.data() + row * data_row_bytes, data_row_bytes) == hex(line[4]));
    else
      CHECK(digest(as<float>(out.sf) + row * sf_row_count, sf_row_count * sizeof(float)) == hex(line[4]));
    ++checked;
  }
  return checked;
}

}  // namespace

TEST_CASE("reference: 1x128 of 130 x 2880 tokens with special values, bit for bit") {
  const auto lines = golden_lines("quantize_tokens.txt");
  const Words size = lines_of(lines, "problem").at(0);
  const std::int64_t rows = number(size[1]), columns = number(size[2]);
  QuantizeCase c("quantize.packed g4 c2880 in=bf16 out=e4m3:1x128", {50, 0, 79, 1}, rows);
  c.in = bytes_of(reference::random_tokens(rows, columns, number(size[3])));
  for (const Words& line : lines_of(lines, "input"))
    REQUIRE(digest(c.in.data() + number(line[1]) * columns * 2, columns * 2) == hex(line[2]));
  for (const Words& line : lines_of(lines, "set"))
    for (std::int64_t i = 0; i < number(line[3]); ++i)
      c.set(number(line[1]), number(line[2]) + i, reference::from_bf16(static_cast<std::uint16_t>(hex(line[4]))));

  int checked = 0;
  for (auto [type, pow2] : {std::pair{DType::e4m3, false}, {DType::e4m3, true}, {DType::e5m2, false}}) {
    c.problem.out->type = type;
    c.problem.out->power_of_two = pow2;
    checked += check_digests(lines, *c.problem.out, c.run(), columns, 132);
  }
  CHECK(checked == 3 * (130 + 23));
}

TEST_CASE("reference: 128x128 of 2 x 130 x 2880 weights, bit for bit") {
  const auto lines = golden_lines("quantize_weights.txt");
  const Words size = lines_of(lines, "problem").at(0);
  QuantizeCase c("quantize.uniform g2 n130 k2880 in=bf16 out=e4m3:128x128", {}, 0);
  c.in = bytes_of(reference::random_weights(c.problem.g, c.problem.n, c.problem.k, number(size[4])));
  for (const Words& line : lines_of(lines, "input"))
    REQUIRE(digest(c.in.data() + number(line[1]) * c.problem.k * 2, c.problem.k * 2) == hex(line[2]));

  int checked = 0;
  for (bool pow2 : {false, true}) {
    c.problem.out->power_of_two = pow2;
    checked += check_digests(lines, *c.problem.out, c.run(), c.problem.k, 23);
  }
  CHECK(checked == 2 * (260 + 4));
}

TEST_CASE("A16: rows outside every group are neither read into a scale nor written") {
  for (const char* layout : {"packed g4", "padded g4 al8"}) {
    QuantizeCase c("quantize." + std::string(layout) + " c144 in=bf16 out=e4m3:1x128", {3, 0, 9, 1}, 37);
    const QuantizeBuffers poisoned = c.run();  // rows of no group are NaN
    for (std::int64_t row = 0; row < 37; ++row)
      for (std::int64_t column = 0; column < 144 && !c.exists(row); ++column) c.set(row, column, 1.0f);
    const QuantizeBuffers clean = c.run();
    CHECK(poisoned.data == clean.data);
    CHECK(poisoned.sf == clean.sf);
    CAPTURE(layout);
    for (std::int64_t row = 0; row < 37; ++row) {
      CAPTURE(row);
      CHECK(is_canary(clean.data, static_cast<std::size_t>(row * 144), 144) != c.exists(row));
      for (std::int64_t block : {0, 1})
        CHECK(is_canary(clean.sf, static_cast<std::size_t>(block * 40 + row) * 4, 4) != c.exists(row));
    }
  }
}

TEST_CASE("reference: the padding of a row of scales is written, the tail is not") {
  const QuantizeBuffers out = QuantizeCase("quantize.packed g1 c144 in=bf16 out=e4m3:1x128", {1}, 5).run();
  for (std::size_t block : {0, 1}) {
    CHECK(is_canary(out.sf, (block * 8 + 4) * 4, 4));
    for (std::size_t slot : {5, 6, 7}) CHECK(as<float>(out.sf)[block * 8 + slot] == 1.0f);
  }
}

TEST_CASE("reference: masked columnwise data of rows past the count are zeros, their blocks' scales neutral") {
  const std::vector<std::int64_t> counts = {2, 0};
  for (const char* recipe : {"1x128", "1x32"}) {
    const std::string text = std::string("quantize.masked g2 c16 m160 in=bf16 dir=row,col out=e4m3:") + recipe;
    const QuantizeBuffers out = QuantizeCase(text, counts, 320).run();
    const std::size_t ld = 384 + 256;
    for (std::size_t column = 0; column < 16; ++column) {
      for (std::size_t row = 2; row < 512; ++row) REQUIRE(out.data_col[column * ld + row] == 0);
      CHECK(is_canary(out.data_col, column * ld + 512, ld - 512));
    }
    if (recipe[2] == '3') {
      for (std::size_t i = 128; i < 10 * 128; ++i) REQUIRE(out.sf_col[i] == 0);
    } else {
      for (std::size_t i = 16; i < 4 * 16; ++i) REQUIRE(as<float>(out.sf_col)[i] == 1.0f);
    }
    CHECK(is_canary(out.data, 2 * 16, (320 - 2) * 16));
  }
}

TEST_CASE("reference: a raised noop flag leaves everything as it was") {
  QuantizeCase c(
      "quantize.packed g2 c40 in=bf16 act=swiglu out=e4m3:tensor dir=row,col +probs +grad +dbias +amax +noop", {3, 2},
      6);
  c.noop = true;
  const QuantizeBuffers out = c.run();
  for (const Bytes* bytes : {&out.data, &out.sf, &out.data_col, &out.sf_col, &out.amax, &out.dprobs, &out.dbias}) {
    CHECK(!bytes->empty());
    CHECK(is_canary(*bytes, 0, bytes->size()));
  }
  c.noop = false;
  CHECK(!is_canary(c.run().data, 0, 1));
}

TEST_CASE("reference: empty groups have neutral scales and zero sums") {
  QuantizeCase c("quantize.packed g3 c8 in=bf16 out=e4m3:tensor dir=row,col +dbias +amax +grad", {0, 2, 0}, 2);
  const QuantizeBuffers out = c.run();
  for (std::size_t g : {0, 2}) {
    CHECK(as<float>(out.sf)[g] == 1.0f);
    CHECK(as<float>(out.amax)[g] == 0.0f);
    for (std::size_t f = 0; f < 8; ++f) CHECK(as<float>(out.dbias)[g * 8 + f] == 0.0f);
  }
  CHECK(as<float>(out.sf)[1] == as<float>(out.amax)[1] / 448.0f);
}

TEST_CASE("reference: nothing to quantize needs no memory") {
  for (const char* recipe : {"1x128", "row", "1x32", "1x32@swizzled", "128x128"}) {
    QuantizeCase c("quantize.packed g3 c256 in=bf16 dir=row out=e4m3:" + std::string(recipe), {0, 0, 0}, 8);
    CHECK_NOTHROW(reference::quantize(c.problem, {}, c.groups, 0, {}));
    CHECK_NOTHROW(reference::quantize(c.problem, {}, c.groups, 8, {}));
    c.groups = reference::extents({0, 1, 0});
    CHECK_THROWS_WITH(reference::quantize(c.problem, {}, c.groups, 8, {}), Catch::Contains("in is null"));
  }
}

TEST_CASE("reference: what there is to read and to write must be there") {
  QuantizeCase c("quantize.packed g2 c8 in=bf16 act=swiglu out=e4m3:tensor dir=row,col +probs +grad +dbias +amax +bias",
                 {1, 1}, 2);
  QuantizeBuffers buffers(c.shape);
  const auto run = [&](auto remove) {
    reference::QuantizeInputs in = c.inputs();
    reference::QuantizeOutputs out = buffers.pointers();
    remove(in, out);
    reference::quantize(c.problem, in, c.groups, c.capacity, out);
  };
  CHECK_NOTHROW(run([](auto&, auto&) {}));
  CHECK_THROWS_WITH(run([](auto& in, auto&) { in.pre = nullptr; }), Catch::Contains("pre is null"));
  CHECK_THROWS_WITH(run([](auto& in, auto&) { in.bias = nullptr; }), Catch::Contains("bias is null"));
  CHECK_THROWS_WITH(run([](auto& in, auto&) { in.probs = nullptr; }), Catch::Contains("probs is null"));
  CHECK_THROWS_WITH(run([](auto&, auto& out) { out.data = nullptr; }), Catch::Contains("data is null"));
  CHECK_THROWS_WITH(run([](auto&, auto& out) { out.sf_col = nullptr; }), Catch::Contains("sf_col is null"));
  CHECK_THROWS_WITH(run([](auto&, auto& out) { out.amax = nullptr; }), Catch::Contains("amax is null"));
  CHECK_THROWS_WITH(run([](auto&, auto& out) { out.dbias = nullptr; }), Catch::Contains("dbias is null"));
  CHECK_THROWS_WITH(run([](auto&, auto& out) { out.dprobs = nullptr; }), Catch::Contains("dprobs is null"));
}

TEST_CASE("reference: quantize refuses what does not go together") {
  const auto run = [](const std::string& text, const std::vector<std::int64_t>& sizes, std::int64_t rows) {
    QuantizeCase(text, sizes, rows).run();
  };
  CHECK_THROWS_WITH(run("quantize.packed g1 c128 in=bf16 out=e4m3:1x128", {5}, 4),
                    Catch::Contains("rows [0, 5)") && Catch::Contains("capacity of 4"));
  CHECK_THROWS_WITH(run("quantize.packed g2 c128 in=bf16 out=e4m3:1x128", {4}, 4), Catch::Contains("2 groups"));
  CHECK_THROWS_WITH(run("quantize.dense g1 c128 in=bf16 out=e4m3:1x128", {3}, 4), Catch::Contains("fills the buffer"));
  CHECK_THROWS_WITH(run("quantize.packed g1 c128 in=bf16 out=e4m3:128x128@block2d_t", {4}, 4),
                    Catch::Contains("block2d_t of packed groups"));
  CHECK_THROWS_WITH(run("quantize.packed g1 c128 in=bf16 out=e4m3:1x128@block2d", {4}, 4),
                    Catch::Contains("rowwise scales in block2d"));
  CHECK_THROWS_WITH(run("quantize.packed g1 c128 in=bf16 out=e4m3:32x32", {4}, 4), Catch::Contains("32x32"));
  CHECK_THROWS_WITH(run("quantize.packed g1 c128 in=bf16 out=bf16:1x128", {4}, 4), Catch::Contains("not an FP8 type"));
  CHECK_THROWS_WITH(run("quantize.packed g1 c128 in=bf16 out=e4m3:1x128 +given", {4}, 4), Catch::Contains("+given"));
  CHECK_THROWS_WITH(run("quantize.packed g1 c128 in=bf16 act=swiglu il=24 out=e4m3:1x128", {4}, 4),
                    Catch::Contains("il=24"));
  CHECK_THROWS_WITH(run("quantize.packed g1 c128 in=bf16 act=silu out=e4m3:1x128 +dbias", {4}, 4),
                    Catch::Contains("add +grad"));
  QuantizeCase narrow("quantize.packed g1 c128 in=bf16 out=e4m3:1x128", {4}, 4);
  narrow.problem.in = DType::e4m3;
  CHECK_THROWS_WITH(narrow.run(), Catch::Contains("in=e4m3"));
}

TEST_CASE("reference: test data spread over magnitudes, the same for a seed") {
  const auto values = reference::random_tokens(64, 300, 1);
  CHECK(values == reference::random_tokens(64, 300, 1));
  CHECK(values != reference::random_tokens(64, 300, 2));
  double largest = 0, sum = 0, squares = 0;
  for (std::uint16_t bits : values) {
    const double x = reference::from_bf16(bits);
    largest = std::max(largest, std::abs(x));
    sum += x;
    squares += x * x;
  }
  const double count = static_cast<double>(values.size());
  CHECK(largest <= 32);
  CHECK(std::abs(sum / count) < 0.1);
  // 4/3 times the mean of 4^e over e = -4..3.
  CHECK(squares / count == Approx(4.0 / 3.0 * 10.667).epsilon(0.25));
  CHECK(reference::random_weights(0, 128, 128, 1).empty());
  CHECK_THROWS_AS(reference::random_tokens(-1, 1, 1), Error);
}
