// Choices without a workspace.
#include <algorithm>
#include <string>

#include "octet/explain.h"
#include "runtime/workspace.h"
#include "tests/support/catch.h"

namespace {

using octet::Candidate;
using octet::MxConfig;
using octet::Problem;
using octet::Spec;

const Problem kMx = Problem::parse("gemm.dense g1 n8192 k8192 a=e4m3:1x32 b=e4m3:1x32 d=bf16");

std::int64_t bytes(const Spec& spec, std::int64_t capacity) {
  return octet::workspace_bytes(spec.problem, spec.config, capacity);
}

}  // namespace

TEST_CASE("workspace: MXFP8 has A as bf16 there, directly nothing") {
  CHECK(bytes({kMx, MxConfig{128, 256, 5, 2}}, 100) == 100 * 8192 * 2);
  CHECK(bytes({kMx, MxConfig{128, 256, 4, 2, 3}}, 100) == 0);
}

TEST_CASE("workspace: without one every kernel that needs it is refused, and only such") {
  for (const char* text :
       {"gemm.dense g1 n8192 k8192 a=e4m3:1x32 b=e4m3:1x32 d=bf16",
        "wgrad.masked g8 m512 n4096 k2048 a=e4m3:1x32 b=e4m3:1x32 d=f32",
        "gemm.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=bf16 w=pointers",
        "gemm.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
        "quantize.packed g8 c2048 in=bf16 out=e4m3:tensor", "quantize.packed g8 c2048 in=bf16 out=e4m3:1x128",
        "dequantize.packed g8 c2048 a=e4m3:1x128 d=bf16"}) {
    const Problem problem = Problem::parse(text);
    const octet::Explanation with = octet::explain(problem), without = octet::explain(problem, {}, 0, true);
    CHECK_FALSE(with.no_workspace);
    CHECK(without.no_workspace);
    REQUIRE(with.candidates.size() == without.candidates.size());
    for (std::size_t i = 0; i < with.candidates.size(); ++i) {
      const Candidate& candidate = with.candidates[i];
      INFO(candidate.spec.name());
      if (candidate.refused) {
        CHECK(without.candidates[i].refused->rule == candidate.refused->rule);
        continue;
      }
      CHECK(without.candidates[i].refused.has_value() == (bytes(candidate.spec, 1000) > 0));
      if (without.candidates[i].refused) CHECK(without.candidates[i].refused->rule == "config.no-workspace");
    }
  }
}

TEST_CASE("workspace: MXFP8 without one selects from the closed set, of many rows a direct kernel") {
  const std::vector<Spec> all = octet::variants(kMx, 16384, {}, true);
  for (const std::int64_t m : {0, 1, 20, 64, 100, 1000, 4096, 8192, 16384}) {
    INFO(m);
    const Spec spec = octet::select(kMx, {}, m, true);
    CHECK(bytes(spec, 1000) == 0);
    if (m >= 1000) {  // with fewer rows a portable kernel may be cheaper
      REQUIRE(std::holds_alternative<MxConfig>(spec.config));
      CHECK(std::get<MxConfig>(spec.config).direct > 0);
    }
    CHECK(std::find(all.begin(), all.end(), spec) != all.end());
  }
  for (const Spec& spec : all) CHECK(bytes(spec, 1000) == 0);
  CHECK(std::get<MxConfig>(octet::select(kMx, {}, 8192).config).direct == 0);  // with one, the pass pays
}

TEST_CASE("workspace: a problem that no kernel does without one says so by the rule's name") {
  const Problem current = Problem::parse("quantize.packed g8 c2048 in=bf16 out=e4m3:tensor");
  try {
    octet::select(current, {}, 0, true);
    FAIL("accepted");
  } catch (const octet::Error& error) {
    CHECK(error.code() == octet::ErrorCode::no_kernel);
    CHECK(std::string(error.what()).find("config.no-workspace") != std::string::npos);
  }
  CHECK_THROWS_AS(octet::variants(current, 128, {}, true), octet::Error);
  CHECK(octet::explain(current, {}, 0, true).chosen == -1);
}
