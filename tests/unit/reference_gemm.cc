// The grouped GEMM against exact rational arithmetic, and what it must not touch.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "octet/error.h"
#include "octet/reference.h"
#include "runtime/reference/random.h"
#include "tests/support/catch.h"
#include "tests/support/golden.h"

using namespace octet;
using octet::reference::random_word;
using octet::test::hex;
using octet::test::number;
using octet::test::Words;

namespace {

constexpr std::uint8_t kOne = 0x38;  // 1.0 in e4m3
// A term of a sum over three blocks of K passes through at most 128 roundings in its block and 2 per block after it,
// each of 2^-53; 2^8 of them bound that, with room for the error of the magnitude itself.
constexpr double kSumError = 0x1p-45;
const double kCanary = std::bit_cast<double>(std::uint64_t{0xFFF5A5A5A5A5A5A5u});

bool same_bits(double x, double y) { return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y); }

// Low bytes of random words, with NaN and infinity replaced by 0; as tests/support/golden/make_golden.py does.
std::vector<std::uint8_t> random_bytes(std::uint64_t seed, std::int64_t count, DType type) {
  std::vector<std::uint8_t> bytes;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto byte = static_cast<std::uint8_t>(random_word(seed, i));
    bytes.push_back(std::isfinite(reference::from_fp8(byte, type)) ? byte : 0);
  }
  return bytes;
}

// In [2^-4, 2^4): exponent from the top three bits of a word, mantissa from its low 23.
std::vector<float> random_scales(std::uint64_t seed, std::int64_t count, bool power_of_two) {
  std::vector<float> scales;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t word = random_word(seed, i);
    const auto exponent = static_cast<std::uint32_t>(word >> 61) + 123;
    const auto mantissa = power_of_two ? 0 : static_cast<std::uint32_t>(word & 0x7FFFFF);
    scales.push_back(std::bit_cast<float>(exponent << 23 | mantissa));
  }
  return scales;
}

struct Case {
  GemmProblem problem;
  reference::GroupExtents groups;
  std::int64_t capacity;
  std::vector<std::uint8_t> a, b;
  std::vector<float> sfa, sfb;

  Case(const std::vector<std::int64_t>& sizes, std::int64_t alignment, std::int64_t rows, std::int64_t n,
       std::int64_t k)
      : groups(reference::extents(sizes, alignment)), capacity(rows) {
    problem.layout = alignment == 0 ? Layout::packed : Layout::padded;
    problem.alignment = alignment;
    problem.groups = static_cast<std::int64_t>(sizes.size());
    problem.n = n;
    problem.k = k;
  }
  std::int64_t k_blocks() const { return (problem.k + 127) / 128; }
  std::int64_t ld() const { return (capacity + 3) / 4 * 4; }
  std::int64_t weight_scales() const { return problem.groups * ((problem.n + 127) / 128) * k_blocks(); }

  void fill_random(std::uint64_t seed, bool power_of_two) {
    a = random_bytes(seed, capacity * problem.k, problem.a.type);
    b = random_bytes(seed + 1, problem.groups * problem.n * problem.k, problem.b.type);
    sfa = random_scales(seed + 2, k_blocks() * ld(), power_of_two);
    sfb = random_scales(seed + 3, weight_scales(), power_of_two);
  }
  void fill_constant(std::uint8_t a_byte, std::uint8_t b_byte) {
    a.assign(capacity * problem.k, a_byte);
    b.assign(problem.groups * problem.n * problem.k, b_byte);
    sfa.assign(k_blocks() * ld(), 1.0f);
    sfb.assign(weight_scales(), 1.0f);
  }
  bool valid(std::int64_t row) const {
    for (std::size_t g = 0; g < groups.begin.size(); ++g)
      if (groups.begin[g] <= row && row < groups.end[g]) return true;
    return false;
  }
  // Everything that belongs to a row outside every group becomes NaN.
  void poison_tail() {
    for (std::int64_t row = 0; row < ld(); ++row) {
      if (valid(row)) continue;
      if (row < capacity) std::fill_n(a.begin() + row * problem.k, problem.k, std::uint8_t{0x7F});
      for (std::int64_t block = 0; block < k_blocks(); ++block)
        sfa[block * ld() + row] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  reference::GemmInputs inputs() const { return {a.data(), sfa.data(), b.data(), sfb.data()}; }
  std::vector<double> run(int threads = 1) const {
    std::vector<double> d(capacity * problem.n, kCanary);
    reference::gemm(problem.to_problem(), inputs(), groups, capacity, d.data(), threads);
    return d;
  }
  // The sum of the absolute values of an element's terms: what its rounding errors are relative to.
  double magnitude(std::int64_t group, std::int64_t row, std::int64_t n) const {
    double sum = 0;
    for (std::int64_t k = 0; k < problem.k; ++k) {
      const double x = reference::from_fp8(a[row * problem.k + k], problem.a.type);
      const double y = reference::from_fp8(b[(group * problem.n + n) * problem.k + k], problem.b.type);
      const std::int64_t n_blocks = (problem.n + 127) / 128;
      const double scale_a = sfa[k / 128 * ld() + row];
      const double scale_b = sfb[(group * n_blocks + n / 128) * k_blocks() + k / 128];
      sum += std::abs(x * y * scale_a * scale_b);
    }
    return sum;
  }
  double element(std::int64_t group, std::int64_t row, std::int64_t n) const {
    return reference::gemm_element(problem.to_problem(), inputs(), groups, capacity, group, row, n);
  }
};

bool same_bits(const std::vector<double>& x, const std::vector<double>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](double p, double q) { return same_bits(p, q); });
}

}  // namespace

TEST_CASE("reference: a grouped GEMM against exact arithmetic") {
  const auto lines = octet::test::golden_lines("gemm.txt");
  const Words size = lines.at(0);
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 1; i < lines.at(1).size(); ++i) sizes.push_back(number(lines[1][i]));
  Case gemm(sizes, 0, number(size[2]), number(size[3]), number(size[4]));
  std::vector<double> d;
  bool exact = false;
  std::int64_t elements = 0;
  for (const Words& line : lines) {
    if (line[0] == "case") {
      gemm.problem.a.type = octet::test::dtype(line[1]);
      gemm.problem.b.type = octet::test::dtype(line[2]);
      exact = line[3] == "1";  // with power-of-two scales no sum needs more than 53 bits
      gemm.fill_random(number(line[4]), exact);
      gemm.poison_tail();
      d = gemm.run();
    }
    if (line[0] != "row") continue;
    const std::int64_t group = number(line[1]), row = number(line[2]);
    for (std::int64_t n = 0; n < gemm.problem.n; ++n) {
      const double want = std::bit_cast<double>(hex(line[3 + n])), got = d[row * gemm.problem.n + n];
      CAPTURE(row, n, exact);
      if (exact)
        REQUIRE(got == want);
      else
        REQUIRE(std::abs(got - want) <= kSumError * gemm.magnitude(group, row, n));
      REQUIRE(same_bits(gemm.element(group, row, n), got));
      ++elements;
    }
  }
  CHECK(elements == 3 * 5 * 136);
}

TEST_CASE("A12: long sums do not drift") {
  SECTION("0.4375 over K = 16384") {
    Case gemm({2}, 0, 2, 8, 16384);
    gemm.fill_constant(0x2E, kOne);
    REQUIRE(reference::from_fp8(0x2E, DType::e4m3) == 0.4375f);
    for (double value : gemm.run()) CHECK(value == 7168.0);
  }
  SECTION("one large product, then ones") {
    Case gemm({1}, 0, 1, 8, 65536);
    gemm.fill_constant(kOne, kOne);
    gemm.a[0] = 0x7E;
    for (std::int64_t n = 0; n < 8; ++n) gemm.b[n * 65536] = 0x7E;
    for (double value : gemm.run()) CHECK(value == 266239.0);
  }
}

TEST_CASE("A01: a zero block quantized and multiplied gives no NaN") {
  Case gemm({100, 156}, 0, 256, 40, 512);
  auto tokens = reference::random_tokens(256, 512, 1);
  for (std::int64_t row = 0; row < 128; ++row) std::fill_n(&tokens[row * 512 + 128], 128, std::uint16_t{0});
  QuantizeProblem quantize;
  quantize.groups = 2;
  quantize.columns = 512;
  gemm.fill_random(1, false);
  reference::QuantizeInputs inputs;
  inputs.in = tokens.data();
  reference::QuantizeOutputs outputs;
  outputs.data = gemm.a.data();
  outputs.sf = gemm.sfa.data();
  reference::quantize(quantize.to_problem(), inputs, gemm.groups, 256, outputs);
  const auto d = gemm.run();
  CHECK(std::none_of(d.begin(), d.end(), [](double x) { return std::isnan(x); }));

  // The zero block adds nothing, whatever the weights under it: without it the sums are the same.
  Case without = gemm;
  for (std::int64_t i = 0; i < 2 * 40; ++i) std::fill_n(&without.b[i * 512 + 128], 128, std::uint8_t{0});
  const auto want = without.run();
  for (std::int64_t i = 0; i < 128 * 40; ++i) REQUIRE(d[i] == want[i]);
}

TEST_CASE("A13: NaN in tail rows and their scales reach no valid row") {
  for (std::int64_t alignment : {0, 32}) {
    Case gemm({1, 33, 64, 0, 5}, alignment, 200, 24, 160);
    gemm.fill_random(7, false);
    const auto clean = gemm.run();
    gemm.poison_tail();
    const auto poisoned = gemm.run();
    CHECK(same_bits(clean, poisoned));
    CHECK(std::none_of(&poisoned[0], &poisoned[24], [](double x) { return std::isnan(x); }));
  }
}

TEST_CASE("A16: rows of D outside every group are left as they were") {
  for (std::int64_t alignment : {0, 16}) {
    Case gemm({3, 0, 17, 1}, alignment, 70, 24, 144);
    gemm.fill_random(8, false);
    const auto d = gemm.run(3);
    for (std::int64_t row = 0; row < gemm.capacity; ++row) {
      for (std::int64_t n = 0; n < 24; ++n) {
        CAPTURE(alignment, row, n);
        REQUIRE(same_bits(d[row * 24 + n], kCanary) == !gemm.valid(row));
      }
    }
  }
}

TEST_CASE("reference: the result does not depend on the number of threads") {
  Case gemm({5, 0, 70, 1, 33}, 0, 120, 40, 300);
  gemm.fill_random(9, false);
  const auto one = gemm.run(1);
  for (int threads : {2, 3, 16, 500}) {
    CAPTURE(threads);
    CHECK(same_bits(gemm.run(threads), one));
  }
}

TEST_CASE("reference: a group alone equals the same group among others") {
  Case all({4, 9, 2}, 0, 15, 24, 272);
  all.fill_random(10, false);
  const auto among = all.run();
  Case alone({9}, 0, 9, 24, 272);
  alone.fill_constant(0, 0);
  std::copy_n(&all.a[4 * 272], 9 * 272, alone.a.begin());
  std::copy_n(&all.b[24 * 272], 24 * 272, alone.b.begin());
  for (std::int64_t block = 0; block < 3; ++block) {
    std::copy_n(&all.sfa[block * all.ld() + 4], 9, &alone.sfa[block * alone.ld()]);
    alone.sfb[block] = all.sfb[3 + block];
  }
  CHECK(same_bits(alone.run(), std::vector<double>(&among[4 * 24], &among[13 * 24])));
}

TEST_CASE("reference: empty groups alone need no memory") {
  Case gemm({0, 0, 0}, 0, 16, 24, 144);
  gemm.fill_random(11, false);
  for (double value : gemm.run(2)) CHECK(same_bits(value, kCanary));
  CHECK_NOTHROW(reference::gemm(gemm.problem.to_problem(), {}, gemm.groups, 0, nullptr));
}

TEST_CASE("reference: a NaN element reaches its row of D alone") {
  Case gemm({3, 3}, 0, 6, 24, 144);
  gemm.fill_random(12, false);
  const auto clean = gemm.run();
  gemm.a[2 * 144 + 140] = 0x7F;
  const auto d = gemm.run();
  for (std::int64_t row = 0; row < 6; ++row) {
    for (std::int64_t n = 0; n < 24; ++n) {
      if (row == 2)
        CHECK(std::isnan(d[row * 24 + n]));
      else
        CHECK(same_bits(d[row * 24 + n], clean[row * 24 + n]));
    }
  }
}

TEST_CASE("reference: gemm refuses what it does not implement") {
  Case gemm({3}, 0, 3, 24, 144);
  gemm.fill_random(13, false);
  SECTION("no threads") { CHECK_THROWS_WITH(gemm.run(0), Catch::Contains("threads=0")); }
  SECTION("no K") {
    gemm.problem.k = 0;
    CHECK_THROWS_WITH(gemm.run(), Catch::Contains("k=0"));
  }
  SECTION("operands that are not FP8") {
    gemm.problem.b = make_recipe(DType::bf16, Granularity::block_128x128);
    CHECK_THROWS_WITH(gemm.run(), Catch::Contains("bf16 is not an FP8 type"));
  }
  SECTION("scales that the operand cannot have") {
    gemm.problem.a.scale_layout = ScaleLayout::block2d;
    CHECK_THROWS_WITH(gemm.run(), Catch::Contains("e4m3:1x128@block2d") && Catch::Contains("packed"));
  }
  SECTION("tokens of uniform groups") {
    gemm.problem.layout = Layout::uniform;
    CHECK_THROWS_WITH(gemm.run(), Catch::Contains("uniform"));
  }
  SECTION("masked without max_m") {
    gemm.problem.layout = Layout::masked;
    CHECK_THROWS_WITH(gemm.run(), Catch::Contains("without m"));
  }
  SECTION("dense that does not fill the buffer") {
    gemm.problem.layout = Layout::dense;
    gemm.capacity = 4;
    CHECK_THROWS_WITH(gemm.run(), Catch::Contains("dense is one group"));
  }
  SECTION("both copies of the weights") {
    gemm.problem.dir = Direction::row_col;
    CHECK_THROWS_WITH(gemm.run(), Catch::Contains("dir=row,col"));
  }
  SECTION("a quantizer") {
    Problem problem = gemm.problem.to_problem();
    problem.op = Operation::quantize;
    CHECK_THROWS_WITH(reference::gemm(problem, gemm.inputs(), gemm.groups, 3, nullptr), Catch::Contains("quantize"));
  }
  SECTION("no recipe") {
    Problem problem = gemm.problem.to_problem();
    problem.b.reset();
    CHECK_THROWS_WITH(reference::gemm(problem, gemm.inputs(), gemm.groups, 3, nullptr),
                      Catch::Contains("b= is missing"));
  }
  SECTION("bias of a wgrad") {
    gemm.problem.op = Operation::wgrad;
    gemm.problem.flags = static_cast<std::uint32_t>(Flag::bias);
    CHECK_THROWS_WITH(gemm.run(), Catch::Contains("+bias"));
  }
  SECTION("a negative capacity") {
    gemm.groups = reference::extents({0});
    CHECK_THROWS_WITH(reference::gemm(gemm.problem.to_problem(), gemm.inputs(), gemm.groups, -1, nullptr),
                      Catch::Contains("capacity is -1"));
  }
  SECTION("overlapping groups") {
    gemm.problem.groups = 2;
    gemm.groups = {{0, 1}, {2, 3}};
    CHECK_THROWS_WITH(gemm.run(), Catch::Contains("group 1 is rows [1, 3)"));
  }
  SECTION("an element outside") {
    CHECK_THROWS_WITH(gemm.element(0, 3, 0), Catch::Contains("i=3: must be in [0, 3)"));
    CHECK_THROWS_WITH(gemm.element(1, 0, 0), Catch::Contains("group=1"));
    CHECK_THROWS_WITH(gemm.element(0, 0, -1), Catch::Contains("j=-1"));
  }
  SECTION("null") {
    reference::GemmInputs inputs = gemm.inputs();
    std::vector<double> d(3 * 24);
    CHECK_THROWS_WITH(reference::gemm(gemm.problem.to_problem(), inputs, gemm.groups, 3, nullptr),
                      Catch::Contains("d is null"));
    gemm.problem.flags = static_cast<std::uint32_t>(Flag::bias);
    CHECK_THROWS_WITH(reference::gemm(gemm.problem.to_problem(), inputs, gemm.groups, 3, d.data()),
                      Catch::Contains("bias is null"));
    inputs.b_sf = nullptr;
    CHECK_THROWS_WITH(reference::gemm(gemm.problem.to_problem(), inputs, gemm.groups, 3, d.data()),
                      Catch::Contains("b_sf is null"));
  }
}
