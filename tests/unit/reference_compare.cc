// The sampled comparison: what it must find, and that it does not cry wolf.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "octet/error.h"
#include "octet/layout.h"
#include "octet/reference.h"
#include "runtime/reference/elements.h"
#include "tests/support/catch.h"

using namespace octet;
using octet::reference::GroupError;
using octet::reference::within_bounds;

namespace {

// Three groups, one of them empty, through the reference's own path from bf16 to D.
struct Result {
  GemmProblem problem;
  reference::GroupExtents groups = reference::extents({40, 0, 25});
  std::int64_t capacity = 70;
  std::vector<std::uint8_t> a, b;
  std::vector<float> sfa, sfb;
  std::vector<std::uint16_t> d;  // NaN in the tail

  Result() {
    problem.groups = 3;
    problem.n = 136;
    problem.k = 272;
    quantize();
    std::vector<double> exact(capacity * problem.n, std::numeric_limits<double>::quiet_NaN());
    reference::gemm(problem.to_problem(), inputs(), groups, capacity, exact.data());
    for (double value : exact) d.push_back(reference::to_bf16(static_cast<float>(value)));
  }
  void quantize() {
    QuantizeProblem tokens;
    tokens.groups = problem.groups;
    tokens.columns = problem.k;
    const auto x = reference::random_tokens(capacity, problem.k, 1);
    quantize(tokens, x, groups, a, sfa);
    QuantizeProblem weights = tokens;
    weights.layout = Layout::uniform;
    weights.rows_per_group = problem.n;
    weights.out = problem.b;
    const auto w = reference::random_weights(problem.groups, problem.n, problem.k, 2);
    quantize(weights, w, reference::uniform_extents(problem.groups, problem.n), b, sfb);
  }
  void quantize(const QuantizeProblem& what, const std::vector<std::uint16_t>& in,
                const reference::GroupExtents& extents, std::vector<std::uint8_t>& data, std::vector<float>& sf) {
    const QuantizedBytes bytes = quantize_shape(what.to_problem(), capacity).row;
    data.resize(bytes.data);
    sf.resize(bytes.sf / sizeof(float));
    reference::QuantizeInputs inputs;
    inputs.in = in.data();
    reference::QuantizeOutputs outputs;
    outputs.data = data.data();
    outputs.sf = sf.data();
    reference::quantize(what.to_problem(), inputs, extents, capacity, outputs);
  }
  reference::GemmInputs inputs() const { return {a.data(), sfa.data(), b.data(), sfb.data()}; }
  std::uint16_t& at(std::int64_t row, std::int64_t n) { return d[row * problem.n + n]; }
  std::vector<GroupError> compare(std::int64_t samples, int threads = 1) const {
    return reference::compare_gemm(problem.to_problem(), inputs(), groups, capacity, d.data(), nullptr, samples, 1,
                                   threads);
  }
};

constexpr std::int64_t kAll = 1 << 20;

}  // namespace

TEST_CASE("reference: a right result is within bounds, group by group") {
  const Result result;
  for (std::int64_t samples : {std::int64_t{100}, kAll}) {
    const auto errors = result.compare(samples);
    REQUIRE(errors.size() == 3);
    CHECK(errors[0].rows == 40);
    CHECK(errors[1].rows == 0);
    CHECK(errors[1].samples == 0);
    CHECK(errors[2].samples == std::min<std::int64_t>(samples, 25 * 136));
    for (const GroupError& error : errors) CHECK(within_bounds(error, DType::bf16));
    CHECK(errors[0].frobenius > 5e-4);  // the rounding to bf16 is seen
  }
}

TEST_CASE("B27: one wrong group does not hide behind right ones") {
  Result result;
  for (std::int64_t row = 40; row < 65; ++row)
    for (std::int64_t n = 0; n < 136; ++n) result.at(row, n) = 0;
  const auto errors = result.compare(200);
  CHECK(within_bounds(errors[0], DType::bf16));
  CHECK_FALSE(within_bounds(errors[2], DType::bf16));
  CHECK(errors[2].frobenius == Approx(1.0));
  CHECK(errors[2].metric == Approx(1.0));
}

TEST_CASE("reference: the first and the last element of a group are always compared") {
  for (auto [row, n] : {std::pair{0, 0}, {39, 135}, {40, 0}, {64, 135}}) {
    Result result;
    result.at(row, n) = 0x7FC0;
    CAPTURE(row, n);
    const auto errors = result.compare(2);
    CHECK(errors[row < 40 ? 0 : 2].frobenius == std::numeric_limits<double>::infinity());
    CHECK(errors[row < 40 ? 2 : 0].frobenius < 0.01);
  }
}

TEST_CASE("reference: a NaN or an infinity where the reference has a number is an infinite error") {
  for (std::uint16_t special : {0x7FC0, 0x7F80, 0xFF80}) {
    Result result;
    result.at(17, 100) = special;
    const GroupError error = result.compare(kAll)[0];
    CHECK(error.frobenius == std::numeric_limits<double>::infinity());
    CHECK(error.metric == std::numeric_limits<double>::infinity());
    CHECK_FALSE(within_bounds(error, DType::bf16));
  }
}

TEST_CASE("reference: NaN where the reference has NaN is right, a number there is not") {
  Result result;
  result.a[17 * 272] = 0x7F;
  CHECK_FALSE(within_bounds(result.compare(kAll)[0], DType::bf16));
  for (std::int64_t n = 0; n < 136; ++n) result.at(17, n) = 0x7FFF;
  CHECK(within_bounds(result.compare(kAll)[0], DType::bf16));
}

TEST_CASE("reference: a scale read from a neighbour's place is far outside the bounds") {
  Result result;
  const auto right = result.sfa;
  for (std::size_t i = 0; i + 1 < right.size(); ++i) result.sfa[i] = right[i + 1];
  for (std::size_t g : {0, 2}) CHECK(result.compare(kAll)[g].frobenius > 0.1);
}

TEST_CASE("reference: where the reference is all zero only zero is right") {
  Result result;
  std::fill(result.a.begin(), result.a.end(), std::uint8_t{0});
  CHECK(result.compare(kAll)[0].frobenius == std::numeric_limits<double>::infinity());
  std::fill(result.d.begin(), result.d.end(), std::uint16_t{0});
  CHECK(within_bounds(result.compare(kAll)[0], DType::bf16));
}

TEST_CASE("reference: samples are fixed by the seed, not by the threads") {
  const Result result;
  const auto one = result.compare(100, 1), many = result.compare(100, 5);
  for (std::size_t g = 0; g < 3; ++g) {
    CHECK(one[g].frobenius == many[g].frobenius);
    CHECK(one[g].metric == many[g].metric);
  }
}

TEST_CASE("reference: results are read as their type, and f32 and fp16 judged more strictly") {
  Result result;
  result.problem.d = DType::f32;
  std::vector<double> exact(result.capacity * result.problem.n);
  reference::gemm(result.problem.to_problem(), result.inputs(), result.groups, result.capacity, exact.data());
  for (DType type : {DType::f32, DType::fp16}) {
    result.problem.d = type;
    std::vector<float> d(exact.size());  // room for either type
    for (std::size_t i = 0; i < exact.size(); ++i)
      reference::store_element(d.data(), type, static_cast<std::int64_t>(i), static_cast<float>(exact[i]));
    const auto errors = reference::compare_gemm(result.problem.to_problem(), result.inputs(), result.groups,
                                                result.capacity, d.data(), nullptr, 500);
    for (const GroupError& error : errors) CHECK(error.frobenius < (type == DType::f32 ? 1e-6 : 4e-4));
    for (const GroupError& error : errors) CHECK(within_bounds(error, type));
    CHECK_FALSE(within_bounds({1, 1, 2e-3, 0}, type));
  }
  CHECK(within_bounds({1, 1, 2e-3, 0}, DType::bf16));
  CHECK_FALSE(within_bounds({1, 1, 0, 2e-5}, DType::bf16));
}

TEST_CASE("reference: what D held before counts with +acc, and is needed") {
  Result result;
  result.problem.flags = static_cast<std::uint32_t>(Flag::acc);
  const std::vector<std::uint16_t> old(result.d.size(), reference::to_bf16(512.0f));
  reference::GemmInputs inputs = result.inputs();
  inputs.beta = -0.5f;
  std::vector<double> exact(result.d.size(), 512.0);
  reference::gemm(result.problem.to_problem(), inputs, result.groups, result.capacity, exact.data());
  for (std::size_t i = 0; i < exact.size(); ++i) result.d[i] = reference::to_bf16(static_cast<float>(exact[i]));
  const auto compare = [&](const void* before) {
    return reference::compare_gemm(result.problem.to_problem(), inputs, result.groups, result.capacity, result.d.data(),
                                   before, kAll);
  };
  for (const GroupError& error : compare(old.data())) CHECK(within_bounds(error, DType::bf16));
  inputs.beta = 1;
  CHECK_FALSE(within_bounds(compare(old.data())[0], DType::bf16));
  CHECK_THROWS_WITH(compare(nullptr), Catch::Contains("old_d is null"));
}

TEST_CASE("reference: a comparison refuses what it cannot read") {
  Result result;
  CHECK_THROWS_WITH(result.compare(1), Catch::Contains("1 samples"));
  CHECK_THROWS_WITH(result.compare(10, 0), Catch::Contains("threads=0"));
  result.problem.d = DType::e4m3;
  CHECK_THROWS_WITH(result.compare(10), Catch::Contains("d=e4m3"));
}
