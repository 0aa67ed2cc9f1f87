// Selection as a whole: a closed, small set of specs for all M, and an explanation that leaves nothing out.
#include <algorithm>
#include <set>

#include "octet/explain.h"
#include "runtime/candidates.h"
#include "runtime/cost.h"
#include "tests/support/catch.h"

namespace {

using octet::Explanation;
using octet::GemmConfig;
using octet::Problem;
using octet::Spec;

const std::string kPair = " a=e4m3:1x128 b=e4m3:128x128 d=bf16";

// Both GEMMs of the models' experts: G, hidden, intermediate.
std::vector<Problem> model_problems() {
  struct Shape {
    int g, hidden, intermediate;
  };
  std::vector<Problem> problems;
  for (const Shape& s : {Shape{8, 7168, 2048},
                         {256, 7168, 2048},
                         {64, 2048, 1408},
                         {128, 4096, 1536},
                         {128, 2048, 768},
                         {8, 4096, 14336},
                         {8, 6144, 16384},
                         {128, 2880, 2880},
                         {1, 2880, 360},
                         {160, 5120, 1536},
                         {16, 4096, 6400},
                         {1, 5120, 8192}}) {
    for (const auto& [n, k] : {std::pair{2 * s.intermediate, s.hidden}, {s.hidden, s.intermediate}}) {
      octet::GemmProblem problem;
      problem.groups = s.g;
      problem.n = n;
      problem.k = k / 16 * 16;  // 360 = 2880 / 8 is no K: tensor parallelism pads it
      problems.push_back(problem.to_problem());
    }
  }
  return problems;
}

bool contains(const std::vector<Spec>& specs, const Spec& spec) {
  return std::find(specs.begin(), specs.end(), spec) != specs.end();
}

// The breakpoint that an M falls under.
std::string chosen_by_breakpoints(const Explanation& explanation, std::int64_t m) {
  std::string name;
  for (const auto& breakpoint : explanation.breakpoints) {
    if (breakpoint.from <= m) name = breakpoint.spec_name;
  }
  return name;
}

}  // namespace

TEST_CASE("every M selects a member of the closed set, for every M of an engine's sweep") {
  const Problem problem = Problem::parse("gemm.packed g8 n7168 k2048" + kPair);
  const std::vector<Spec> all = octet::variants(problem, 16384);
  const Explanation explanation = octet::explain(problem);
  std::set<std::string> selected;
  for (std::int64_t m = 1; m <= 16384; ++m) {
    const Spec spec = octet::select(problem, {}, m);
    REQUIRE(contains(all, spec));
    REQUIRE(spec.name() == chosen_by_breakpoints(explanation, m));
    selected.insert(spec.name());
  }
  CHECK(selected.size() == all.size());  // and no member is there for nothing
}

TEST_CASE("the set of a model's shape is closed for any max_m, small, and without repetition") {
  for (const Problem& problem : model_problems()) {
    INFO(problem.to_string());
    for (const std::int64_t max_m : {1, 64, 65, 100, 1000, 4096, 16384}) {
      const std::vector<Spec> specs = octet::variants(problem, max_m);
      std::set<std::string> names;
      for (const Spec& spec : specs) CHECK(names.insert(spec.name()).second);
      CHECK(specs.size() <= octet::gemm_candidates().size());
      for (const Spec& spec : specs) CHECK(std::holds_alternative<GemmConfig>(spec.config));  // made for sm_90a
      CHECK(contains(specs, octet::select(problem)));                                         // M not said
      for (std::int64_t m = 1; m <= max_m; m += 31) {
        REQUIRE(contains(specs, octet::select(problem, {}, m)));
      }
      REQUIRE(contains(specs, octet::select(problem, {}, max_m)));
    }
    CHECK(octet::explain(problem).breakpoints.size() <= 20);
  }
}

TEST_CASE("max_m must be a number of rows") {
  const Problem problem = Problem::parse("gemm.packed g8 n7168 k2048" + kPair);
  for (const std::int64_t max_m : {0, -1}) {
    try {
      octet::variants(problem, max_m);
      FAIL("accepted");
    } catch (const octet::Error& error) {
      CHECK(error.code() == octet::ErrorCode::invalid_argument);
    }
  }
}

TEST_CASE("a quantizer has one spec for all M") {
  for (const char* text :
       {"quantize.packed g8 c2048 in=bf16 out=e4m3:1x128",
        "quantize.padded g8 c2048 al64 in=bf16 out=e4m3:1x128 splits=i64",
        "quantize.uniform g8 n7168 k2048 in=bf16 out=e4m3:128x128", "quantize.packed g8 c2048 in=bf16 out=e4m3:tensor",
        "quantize.masked g8 m512 c2048 in=f32 act=swiglu out=e4m3:1x32 dir=row,col",
        "quantize.packed g8 c2048 in=bf16 act=swiglu out=e4m3:1x128 dir=row,col +grad +dbias",
        "activation.packed g8 c2048 d=bf16 in=bf16 act=swiglu", "dequantize.packed g8 c2048 a=e4m3:1x128 d=bf16",
        "convert.packed g8 c2048 a=e4m3:1x32 out=e4m3:1x32@swizzled"}) {
    INFO(text);
    const Problem problem = Problem::parse(text);
    const std::vector<Spec> specs = octet::variants(problem, 16384);
    REQUIRE(specs.size() == 1);
    CHECK(std::holds_alternative<octet::QuantizeConfig>(specs[0].config));
    CHECK(specs[0].problem == problem);
    CHECK(octet::select(problem, {}, 1) == specs[0]);
  }
}

TEST_CASE("an explanation has every candidate, with a reason or a cost") {
  for (const Problem& problem : model_problems()) {
    INFO(problem.to_string());
    for (const std::int64_t m : {0, 1, 300, 5000}) {
      const Explanation explanation = octet::explain(problem, {}, m);
      CHECK(explanation.problem == problem);
      CHECK(explanation.expected_m == m);
      const std::size_t made_for_arch = octet::gemm_candidates().size();
      REQUIRE(explanation.candidates.size() == made_for_arch + octet::portable_candidates().size());
      double cheapest = 1e300;
      for (std::size_t i = 0; i < explanation.candidates.size(); ++i) {
        const octet::Candidate& candidate = explanation.candidates[i];
        CHECK(candidate.spec.config == (i < made_for_arch
                                            ? octet::Config(octet::gemm_candidates()[i].config)
                                            : octet::Config(octet::portable_candidates()[i - made_for_arch].config)));
        CHECK(candidate.spec.problem == problem);
        CHECK(candidate.refused.has_value() != (candidate.cost_us > 0));
        if (!candidate.refused) cheapest = std::min(cheapest, candidate.cost_us);
      }
      REQUIRE(explanation.chosen >= 0);
      const octet::Candidate& chosen = explanation.candidates[static_cast<std::size_t>(explanation.chosen)];
      CHECK_FALSE(chosen.refused);
      CHECK(chosen.spec == octet::select(problem, {}, m));
      CHECK(chosen.cost_us <= 1.02 * cheapest);  // the cheapest, or as good for fewer switches
    }
  }
}

TEST_CASE("breakpoints start at 1, rise, and each is a change") {
  for (const Problem& problem : model_problems()) {
    INFO(problem.to_string());
    const Explanation explanation = octet::explain(problem);
    REQUIRE_FALSE(explanation.breakpoints.empty());
    CHECK(explanation.breakpoints[0].from == 1);
    for (std::size_t i = 0; i < explanation.breakpoints.size(); ++i) {
      const auto& breakpoint = explanation.breakpoints[i];
      CHECK(octet::select(problem, {}, breakpoint.from).name() == breakpoint.spec_name);
      if (i == 0) continue;
      CHECK(breakpoint.from > explanation.breakpoints[i - 1].from);
      CHECK(breakpoint.spec_name != explanation.breakpoints[i - 1].spec_name);
      CHECK(octet::select(problem, {}, breakpoint.from - 1).name() == explanation.breakpoints[i - 1].spec_name);
    }
  }
}

TEST_CASE("few rows in one group take short blocks, many rows tall ones") {
  const Problem problem = Problem::parse("gemm.packed g1 n4096 k7168" + kPair);
  CHECK(std::get<GemmConfig>(octet::select(problem, {}, 20).config).block_m == 64);
  CHECK(std::get<GemmConfig>(octet::select(problem, {}, 4096).config).block_m >= 128);
}

TEST_CASE("the ragged table's groups take a tile that was measured among the fastest") {
  // On an H200: 64x256 746 us against 768 for 128x256 and 754 for 192x128; 128x256 369 us against 383 and 394.
  struct Row {
    const char* sizes;
    int block_m;
  };
  for (const Row& row : {Row{"n6144 k7168", 64}, Row{"n7168 k3072", 128}}) {
    const Problem problem = Problem::parse(std::string("gemm.packed g32 ") + row.sizes + kPair);
    const auto config = std::get<GemmConfig>(octet::select(problem, {}, 256).config);
    INFO(row.sizes);
    CHECK(config.block_m == row.block_m);
    CHECK(config.block_n == 256);  // with a cluster or without: what they cost is within 2 %
  }
}

TEST_CASE("the choice knows its arguments alone") {
  const Problem problem = Problem::parse("gemm.packed g8 n7168 k2048" + kPair);
  const Spec before = octet::select(problem, {}, 300);
  octet::select(Problem::parse("gemm.packed g1 n128 k128" + kPair), {}, 1);
  octet::variants(problem, 4096);
  CHECK(octet::select(problem, {}, 300) == before);
  octet::DeviceFacts half;
  half.sm_count = 66;
  CHECK(octet::explain(problem, half, 300).candidates[0].cost_us >
        1.5 * octet::explain(problem, {}, 300).candidates[0].cost_us);
}
