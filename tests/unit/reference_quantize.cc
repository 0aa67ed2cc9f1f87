// Quantization of whole buffers against digests of an independent source, and what it must not touch.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "octet/error.h"
#include "octet/reference.h"
#include "tests/support/catch.h"
#include "tests/support/golden.h"

using namespace octet;
using octet::test::digest;
using octet::test::hex;
using octet::test::number;
using octet::test::Words;

namespace {

constexpr std::uint16_t kNaN = 0x7FC0, kInf = 0x7F80;
constexpr std::uint8_t kCanaryByte = 0xA5;
const float kCanary = std::bit_cast<float>(0xFFA5A5A5u);  // a NaN with a payload

bool is_canary(float value) { return std::bit_cast<std::uint32_t>(value) == std::bit_cast<std::uint32_t>(kCanary); }

struct Output {
  std::vector<std::uint8_t> data;
  std::vector<float> sf;
};

// Tokens with outputs full of canaries.
struct Tokens {
  QuantizeProblem problem;
  reference::GroupExtents groups;
  std::int64_t capacity;
  std::vector<std::uint16_t> in;

  Tokens(const std::vector<std::int64_t>& sizes, std::int64_t alignment, std::int64_t rows, std::int64_t columns)
      : groups(reference::extents(sizes, alignment)), capacity(rows), in(reference::random_tokens(rows, columns, 3)) {
    problem.layout = alignment == 0 ? Layout::packed : Layout::padded;
    problem.alignment = alignment;
    problem.groups = static_cast<std::int64_t>(sizes.size());
    problem.columns = columns;
  }
  std::uint16_t& at(std::int64_t row, std::int64_t column) { return in[row * problem.columns + column]; }
  bool valid(std::int64_t row) const {
    for (std::size_t g = 0; g < groups.begin.size(); ++g)
      if (groups.begin[g] <= row && row < groups.end[g]) return true;
    return false;
  }
  Output run() const {
    Output out{std::vector<std::uint8_t>(in.size(), kCanaryByte),
               std::vector<float>(reference::scale_count(problem, capacity), kCanary)};
    reference::quantize_rows(problem, in.data(), groups, capacity, out.data.data(), out.sf.data());
    return out;
  }
};

std::vector<Words> lines_of(const std::vector<Words>& lines, const std::string& kind) {
  std::vector<Words> found;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(found), [&](const Words& w) { return w[0] == kind; });
  return found;
}

// Checks the "data" and "sf" lines of one recipe; returns how many there were.
int check_digests(const std::vector<Words>& lines, const Recipe& recipe, const Output& out, std::int64_t data_row_bytes,
                  std::int64_t sf_row_count) {
  int checked = 0;
  for (const Words& line : lines) {
    if ((line[0] != "data" && line[0] != "sf") || line[1] != to_string(recipe.type)) continue;
    if (line[2] != (recipe.power_of_two ? "1" : "0")) continue;
    CAPTURE(line[0], line[1], line[2], line[3]);
    const std::int64_t row = number(line[3]);
    if (line[0] == "data")
      CHECK(digest(out.data.data() + row * data_row_bytes, data_row_bytes) == hex(line[4]));
    else
      CHECK(digest(out.sf.data() + row * sf_row_count, sf_row_count * sizeof(float)) == hex(line[4]));
    ++checked;
  }
  return checked;
}

}  // namespace

TEST_CASE("reference: 1x128 of 130 x 2880 tokens with special values, bit for bit") {
  const auto lines = octet::test::golden_lines("quantize_tokens.txt");
  const Words size = lines_of(lines, "problem").at(0);
  const std::int64_t rows = number(size[1]), columns = number(size[2]);
  Tokens tokens({50, 0, 79, 1}, 0, rows, columns);
  tokens.in = reference::random_tokens(rows, columns, number(size[3]));
  for (const Words& line : lines_of(lines, "input"))
    REQUIRE(digest(&tokens.at(number(line[1]), 0), columns * 2) == hex(line[2]));
  for (const Words& line : lines_of(lines, "set"))
    std::fill_n(&tokens.at(number(line[1]), number(line[2])), number(line[3]),
                static_cast<std::uint16_t>(hex(line[4])));

  int checked = 0;
  for (auto [type, pow2] : {std::pair{DType::e4m3, false}, {DType::e4m3, true}, {DType::e5m2, false}}) {
    tokens.problem.out.type = type;
    tokens.problem.out.power_of_two = pow2;
    checked += check_digests(lines, tokens.problem.out, tokens.run(), columns, 132);
  }
  CHECK(checked == 3 * (130 + 23));
}

TEST_CASE("reference: 128x128 of 2 x 130 x 2880 weights, bit for bit") {
  const auto lines = octet::test::golden_lines("quantize_weights.txt");
  const Words size = lines_of(lines, "problem").at(0);
  QuantizeProblem problem;
  problem.layout = Layout::uniform;
  problem.groups = number(size[1]);
  problem.rows_per_group = number(size[2]);
  problem.columns = number(size[3]);
  problem.out = e4m3_128x128();
  const auto in = reference::random_weights(problem.groups, problem.rows_per_group, problem.columns, number(size[4]));
  for (const Words& line : lines_of(lines, "input"))
    REQUIRE(digest(in.data() + number(line[1]) * problem.columns, problem.columns * 2) == hex(line[2]));

  int checked = 0;
  for (bool pow2 : {false, true}) {
    problem.out.power_of_two = pow2;
    Output out{std::vector<std::uint8_t>(in.size(), kCanaryByte),
               std::vector<float>(reference::scale_count(problem), kCanary)};
    reference::quantize_blocks(problem, in.data(), out.data.data(), out.sf.data());
    checked += check_digests(lines, problem.out, out, problem.columns, 23);
  }
  CHECK(checked == 2 * (260 + 4));
}

TEST_CASE("A01: a block of zeros becomes zero bytes and a finite, positive scale") {
  Tokens tokens({128, 128}, 0, 256, 512);
  for (std::int64_t row = 0; row < 128; ++row) std::fill_n(&tokens.at(row, 128), 128, std::uint16_t{0});
  const Output out = tokens.run();
  for (std::int64_t row = 0; row < 128; ++row) {
    CHECK(out.sf[256 + row] == 1.0f);
    CHECK(std::all_of(&out.data[row * 512 + 128], &out.data[row * 512 + 256], [](int byte) { return byte == 0; }));
  }
}

TEST_CASE("A05: special elements change their own block alone") {
  const Tokens plain({3, 2}, 0, 5, 300);
  const Output want = plain.run();
  struct Case {
    std::uint16_t element;
    std::uint8_t byte;
    bool unit_scale;
  };
  for (const Case& special : {Case{kInf, 0x7E, true}, Case{0xFF80, 0xFE, true}, Case{kNaN, 0x7F, false}}) {
    Tokens tokens = plain;
    tokens.at(3, 200) = special.element;
    const Output got = tokens.run();
    CAPTURE(special.element);
    CHECK(got.data[3 * 300 + 200] == special.byte);
    for (std::int64_t row = 0; row < 5; ++row) {
      for (std::int64_t column = 0; column < 300; ++column) {
        if (row == 3 && column / 128 == 1) continue;
        REQUIRE(got.data[row * 300 + column] == want.data[row * 300 + column]);
        REQUIRE(got.sf[column / 128 * 8 + row] == want.sf[column / 128 * 8 + row]);
      }
    }
    CHECK((got.sf[8 + 3] == 1.0f) == special.unit_scale);
  }
}

TEST_CASE("reference: a NaN element does not reach its block's scale") {
  Tokens tokens({1}, 0, 1, 128);
  std::fill_n(&tokens.at(0, 0), 128, std::uint16_t{0x3F80});  // 1.0
  tokens.at(0, 7) = kNaN;
  const Output out = tokens.run();
  CHECK(out.sf[0] == 1.0f / 448.0f);
  for (std::int64_t column = 0; column < 128; ++column) CHECK(out.data[column] == (column == 7 ? 0x7F : 0x7E));
}

TEST_CASE("A16: rows outside every group are neither read into a scale nor written") {
  for (std::int64_t alignment : {0, 8}) {
    Tokens tokens({3, 0, 9, 1}, alignment, 37, 144);
    const Output clean = tokens.run();
    for (std::int64_t row = 0; row < tokens.capacity; ++row)
      if (!tokens.valid(row)) std::fill_n(&tokens.at(row, 0), 144, kNaN);
    const Output out = tokens.run();
    CAPTURE(alignment);
    for (std::int64_t row = 0; row < tokens.capacity; ++row) {
      const auto* bytes = &out.data[row * 144];
      CAPTURE(row);
      if (tokens.valid(row)) {
        CHECK(std::equal(bytes, bytes + 144, &clean.data[row * 144]));
        for (int block : {0, 1}) CHECK(out.sf[block * 40 + row] == clean.sf[block * 40 + row]);
      } else {
        CHECK(std::all_of(bytes, bytes + 144, [](int byte) { return byte == kCanaryByte; }));
        for (int block : {0, 1}) CHECK(is_canary(out.sf[block * 40 + row]));
      }
    }
  }
}

TEST_CASE("reference: the padding of a row of scales is written") {
  const Output out = Tokens({1}, 0, 5, 144).run();
  for (int block : {0, 1}) {
    CHECK(is_canary(out.sf[block * 8 + 4]));  // a tail row is not padding
    for (int slot : {5, 6, 7}) CHECK(out.sf[block * 8 + slot] == 1.0f);
  }
}

TEST_CASE("reference: nothing to quantize needs no memory") {
  QuantizeProblem problem;
  problem.columns = 256;
  problem.groups = 3;
  CHECK_NOTHROW(reference::quantize_rows(problem, nullptr, reference::extents({0, 0, 0}), 0, nullptr, nullptr));
  CHECK_NOTHROW(reference::quantize_rows(problem, nullptr, reference::extents({0, 0, 0}), 8, nullptr, nullptr));
  CHECK_THROWS_WITH(reference::quantize_rows(problem, nullptr, reference::extents({0, 1, 0}), 8, nullptr, nullptr),
                    Catch::Contains("in is null"));
}

TEST_CASE("reference: quantize refuses what it does not implement") {
  Tokens tokens({4}, 0, 4, 128);
  SECTION("a group past the capacity") {
    tokens.groups.end[0] = 5;
    CHECK_THROWS_WITH(tokens.run(), Catch::Contains("rows [0, 5)") && Catch::Contains("capacity of 4"));
  }
  SECTION("extents of another number of groups") {
    tokens.problem.groups = 2;
    CHECK_THROWS_WITH(tokens.run(), Catch::Contains("2 groups"));
  }
  SECTION("another recipe") {
    tokens.problem.out = e4m3_128x128();
    CHECK_THROWS_WITH(tokens.run(), Catch::Contains("1x128"));
  }
  SECTION("another input type") {
    tokens.problem.in = DType::f32;
    CHECK_THROWS_WITH(tokens.run(), Catch::Contains("in=f32"));
  }
  SECTION("weights as tokens") {
    tokens.problem.layout = Layout::uniform;
    CHECK_THROWS_AS(tokens.run(), Error);
  }
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
