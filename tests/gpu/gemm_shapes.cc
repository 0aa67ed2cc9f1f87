// Sizes of N and K, forms of the splits, paddings, every config, and what long sums keep.
#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/gpu/gemm_case.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

using Sizes = std::vector<std::int64_t>;

std::vector<Spec> legal_specs(const GemmProblem& problem) {
  std::vector<Spec> specs;
  for (const Candidate& candidate : explain(problem.to_problem(), Runtime::device_facts(0)).candidates) {
    if (!candidate.refused) specs.push_back(candidate.spec);
  }
  return specs;
}

// Every product is a * b, with unit scales.
GemmData constant_gemm(std::int64_t k, float a, float b, Random& random) {
  GemmData data = random_gemm(packed_gemm(2, 128, k), {1, 65}, 0, random);
  std::fill(data.a.begin(), data.a.end(), reference::to_fp8(a, DType::e4m3));
  std::fill(data.b.begin(), data.b.end(), reference::to_fp8(b, DType::e4m3));
  std::fill(data.sfa.begin(), data.sfa.end(), 1.0F);
  std::fill(data.sfb.begin(), data.sfb.end(), 1.0F);
  return data;
}

double worst_relative_error(const Bf16& d, double exact) {
  double worst = 0;
  for (const std::uint16_t bits : d) worst = std::max(worst, std::abs(reference::from_bf16(bits) / exact - 1));
  return worst;
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "gemm: every N with every K") {
  INFO(random.note());
  std::vector<GemmProblem> problems;
  for (const std::int64_t n : {8, 64, 136, 576, 2112, 7168}) {
    for (const std::int64_t k : {16, 128, 512, 1152, 2880, 7168}) problems.push_back(packed_gemm(3, n, k));
  }
  std::vector<Spec> specs;
  for (const GemmProblem& problem : problems) specs.push_back(select(problem.to_problem(), Runtime::device_facts(0)));
  const std::vector<Gemm> kernels = prepare_all(specs);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    CAPTURE(problems[i].n, problems[i].k);
    const GemmData data = random_gemm(problems[i], {129, 0, 70}, 11, random);
    REQUIRE(fault(kernels[i], data, random) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "gemm: every config is right") {
  INFO(random.note());
  // N that no block divides with a K of partial blocks, and a deep K that turns the ring of stages around often.
  const GemmProblem ragged = packed_gemm(5, 712, 912), deep = packed_gemm(5, 512, 2048);
  for (const GemmProblem& problem : {ragged, deep}) {
    const std::vector<Spec> specs = legal_specs(problem);
    REQUIRE(!specs.empty());
    const std::vector<Gemm> kernels = prepare_all(specs);
    const GemmData data = random_gemm(problem, {257, 0, 1, 128, 191}, 40, random);
    GemmBuffers buffers(data);
    for (const Gemm& gemm : kernels) {
      CAPTURE(gemm.spec().name());
      const Bf16 d = buffers.run(gemm);
      REQUIRE(fault(data, d, random) == "");
      const bool same = buffers.run(gemm) == d;
      REQUIRE(same);
    }
  }
}

TEST_CASE_METHOD(GpuTest, "gemm: splits as sizes, ends and starts, i32 and i64") {
  INFO(random.note());
  for (const SplitsForm form : {SplitsForm::sizes, SplitsForm::ends, SplitsForm::starts}) {
    for (const bool is_i64 : {false, true}) {
      CAPTURE(static_cast<int>(form), is_i64);
      GemmProblem problem = packed_gemm(6, 256, 256);
      problem.splits = {is_i64, form};
      REQUIRE(fault(random_gemm(problem, {0, 100, 1, 0, 129, 64}, 10, random), random) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "gemm: padded groups with gaps of NaN") {
  INFO(random.note());
  for (const std::int64_t alignment : {8, 128}) {
    CAPTURE(alignment);
    const GemmProblem problem = padded_gemm(6, 576, 512, alignment);
    REQUIRE(fault(random_gemm(problem, {1, 0, 127, 128, 129, 9}, 3 * alignment, random), random) == "");
    REQUIRE(fault(random_gemm(problem, {0, 0, 0, 0, 0, 5}, 0, random), random) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "A12: a long sum of equal products keeps its value") {
  INFO(random.note());
  const GemmData data = constant_gemm(16384, 0.4375F, 1, random);
  const Bf16 d = GemmBuffers(data).run(runtime().prepare(data.problem));
  REQUIRE(worst_relative_error(d, 7168) <= 0.005);
}

TEST_CASE_METHOD(GpuTest, "A12: a large first product does not swallow the rest") {
  INFO(random.note());
  GemmData data = constant_gemm(65536, 1, 1, random);
  const std::uint8_t large = reference::to_fp8(448, DType::e4m3);
  for (std::int64_t row = 0; row < data.capacity; ++row) data.a[static_cast<std::size_t>(row * data.problem.k)] = large;
  for (std::int64_t n = 0; n < 2 * data.problem.n; ++n) data.b[static_cast<std::size_t>(n * data.problem.k)] = large;
  const Bf16 d = GemmBuffers(data).run(runtime().prepare(data.problem));
  REQUIRE(worst_relative_error(d, 448.0 * 448 + 65535) <= 0.005);
}

TEST_CASE_METHOD(GpuTest, "B14: tiles wider than N and blocks longer than K stay inside") {
  INFO(random.note());
  for (const auto& [n, k] : {std::pair{64, 96}, {96, 160}, {128, 96}, {160, 208}, {200, 160}}) {
    CAPTURE(n, k);
    REQUIRE(fault(random_gemm(packed_gemm(2, n, k), {65, 130}, 2, random), random) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "B14: a K that TMA cannot address is refused by name") {
  REQUIRE(refusal_fault([] { runtime().prepare(packed_gemm(2, 64, 200)); }, ErrorCode::invalid_problem,
                        {"200", "gemm.k-multiple-of-16"}) == "");
  INFO(random.note());
  REQUIRE(fault(random_gemm(packed_gemm(2, 64, 96), {65, 130}, 2, random), random) == "");
}

TEST_CASE_METHOD(GpuTest, "B21: the last rows of a group that no tile divides") {
  INFO(random.note());
  for (const std::int64_t n : {2048, 2112}) {
    CAPTURE(n);
    const GemmData data = random_gemm(packed_gemm(1, n, 2048), {1088}, 0, random);
    const Bf16 d = GemmBuffers(data).run(runtime().prepare(data.problem));
    REQUIRE(fault(data, d, random) == "");

    // Rows 1024 … 1087 judged alone.
    GemmData last = data;
    last.groups.begin[0] = 1024;
    Bf16 last_d = d;
    std::fill(last_d.begin(), last_d.begin() + 1024 * n, std::uint16_t{0xFFFF});
    REQUIRE(fault(last, last_d, random) == "");
  }
}

}  // namespace octet::test
