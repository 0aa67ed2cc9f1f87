// Octet's quantizers feed octet's GEMM: producer and consumer agree on layouts, extents and scales.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "tests/gpu/elements.h"
#include "tests/gpu/gemm_case.h"
#include "tests/gpu/quantize_case.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

struct Pair {
  QuantizeCase tokens, weights;
  GemmProblem gemm;
};

Pair ordinary_pair(const GemmProblem& gemm, const Sizes& sizes, std::int64_t spare_rows, Random& random) {
  Pair pair;
  pair.gemm = gemm;
  Problem tokens = token_problem(gemm.groups, gemm.k);
  tokens.layout = gemm.layout;
  tokens.al = gemm.alignment;
  tokens.splits = gemm.splits;
  pair.tokens = ordinary_case(tokens, sizes, spare_rows, random);
  pair.weights = ordinary_case(weight_problem(gemm.groups, gemm.n, gemm.k), {}, 0, random);
  return pair;
}

struct PairResult {
  Results a, b;  // as the quantizers left them
  Bf16 d;
};

// Quantizers and GEMM on one stream, with no copy and no wait between them.
PairResult run(const Pair& pair) {
  const Quantize quantize_a = runtime().prepare_quantize(pair.tokens.problem),
                 quantize_b = runtime().prepare_quantize(pair.weights.problem);
  const Gemm gemm = runtime().prepare(pair.gemm);
  QuantizeBuffers a(pair.tokens), b(pair.weights);
  const QuantizeArgs a_args = a.args(quantize_a), b_args = b.args(quantize_b);
  const Buffer d(static_cast<std::size_t>(pair.tokens.capacity * pair.gemm.n * 2));
  const OwnedStream stream;
  quantize_b.launch(b_args, stream);
  quantize_a.launch(a_args, stream);
  gemm.launch({a_args.out, b_args.out, d.at(), a_args.splits, pair.tokens.capacity, nullptr}, stream);
  stream.synchronize();
  if (!d.guards_intact()) throw std::runtime_error("the launch wrote outside D");
  return {a.read(), b.read(), d.values<std::uint16_t>()};
}

std::vector<float> as_floats(const Bytes& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

GemmData gemm_data(const Pair& pair, const Results& a, const Results& b) {
  GemmData data;
  data.problem = pair.gemm;
  data.groups = pair.tokens.groups;
  data.capacity = pair.tokens.capacity;
  data.a = a.data;
  data.sfa = as_floats(a.sf);
  data.b = b.data;
  data.sfb = as_floats(b.sf);
  return data;
}

// DeepGEMM's metric against the product of the unquantized operands, over some elements of one group.
double unquantized_metric(const Pair& pair, const Bf16& d, std::size_t group, Random& random) {
  const std::int64_t k = pair.gemm.k, n = pair.gemm.n;
  double difference = 0, sum = 0;
  for (int sample = 0; sample < 500; ++sample) {
    const std::int64_t row = random.integer(pair.tokens.groups.begin[group], pair.tokens.groups.end[group] - 1);
    const std::int64_t column = random.integer(0, n - 1);
    const std::int64_t a = row * k, b = (static_cast<std::int64_t>(group) * n + column) * k;
    double exact = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      exact += element_value(DType::bf16, pair.tokens.in.data(), a + i) *
               element_value(DType::bf16, pair.weights.in.data(), b + i);
    }
    const double got = reference::from_bf16(d[static_cast<std::size_t>(row * n + column)]);
    difference += (exact - got) * (exact - got);
    sum += exact * exact + got * got;
  }
  return difference / sum;
}

std::string pair_fault(const Pair& pair, Random& random) {
  const PairResult result = run(pair);
  const Results a = expected(pair.tokens), b = expected(pair.weights);
  for (const std::string& text :
       {difference(a, result.a), difference(b, result.b), fault(gemm_data(pair, a, b), result.d, random)}) {
    if (!text.empty()) return text;
  }
  for (std::size_t g = 0; g < pair.tokens.groups.begin.size(); ++g) {
    // The bound holds for averages: the rounding errors of a few rows alone may exceed it.
    constexpr std::int64_t kRowsToAverage = 32;
    if (pair.tokens.groups.end[g] - pair.tokens.groups.begin[g] < kRowsToAverage) continue;
    const double metric = unquantized_metric(pair, result.d, g, random);
    if (!(metric < 1e-3)) return fmt::format("group {}: metric {:.3g} against the unquantized product", g, metric);
  }
  return "";
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "producer-consumer-pairs: quantized operands go straight into the GEMM", "[named]") {
  INFO(random.note());
  REQUIRE(pair_fault(ordinary_pair(packed_gemm(8, 576, 512), {0, 1, 127, 128, 129, 0, 40, 300}, 77, random), random) ==
          "");
  REQUIRE(pair_fault(ordinary_pair(packed_gemm(4, 2112, 2880), {33, 0, 129, 2}, 5, random), random) == "");
  REQUIRE(pair_fault(ordinary_pair(padded_gemm(4, 576, 1152, 128), {1, 0, 130, 64}, 128, random), random) == "");
  // One group, with and without room past its rows.
  for (const std::int64_t spare_rows : {0, 1, 131}) {
    CAPTURE(spare_rows);
    REQUIRE(pair_fault(ordinary_pair(packed_gemm(1, 576, 512), {201}, spare_rows, random), random) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "g1-padded-buffer: quantizer and GEMM agree when one group does not fill the buffer",
                 "[named]") {
  INFO(random.note());
  const Pair exact = ordinary_pair(packed_gemm(1, 576, 512), {201}, 0, random);
  Pair roomy = ordinary_pair(packed_gemm(1, 576, 512), {201}, 311, random);
  std::copy(exact.tokens.in.begin(), exact.tokens.in.end(), roomy.tokens.in.begin());
  roomy.weights = exact.weights;
  const Bf16 wanted = run(exact).d;
  Bf16 got = run(roomy).d;
  got.resize(wanted.size());
  REQUIRE(got == wanted);
}

TEST_CASE_METHOD(GpuTest, "A01: a block of zeros has a finite scale and gives no NaN") {
  INFO(random.note());
  Pair pair = ordinary_pair(packed_gemm(2, 576, 512), {128, 128}, 0, random);
  for (std::int64_t row = 0; row < 128; ++row) {
    std::fill_n(pair.tokens.in.begin() + (row * 512 + 128) * 2, 256, std::uint8_t{0});
  }
  const PairResult result = run(pair);
  const std::vector<float> scales = as_floats(result.a.sf);
  for (std::size_t row = 0; row < 128; ++row) {
    CAPTURE(row);
    const auto block = result.a.data.begin() + static_cast<std::ptrdiff_t>(row * 512 + 128);
    REQUIRE(std::count(block, block + 128, 0) == 128);
    const float scale = scales[256 + row];
    REQUIRE((std::isfinite(scale) && scale > 0));
  }
  REQUIRE(pair_fault(pair, random) == "");
}

TEST_CASE_METHOD(GpuTest, "pair: one small problem from bf16 to D", "[sanitizer]") {
  INFO(random.note());
  REQUIRE(pair_fault(ordinary_pair(packed_gemm(2, 136, 144), {3, 0}, 2, random), random) == "");
}

}  // namespace octet::test
