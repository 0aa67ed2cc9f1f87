// Each rule of problems refuses what it is there for, by name, with what to do next; what is implemented passes.
#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "octet/explain.h"
#include "runtime/rules.h"
#include "tests/support/catch.h"

namespace {

using octet::ErrorCode;
using octet::Problem;

struct Case {
  std::string problem, rule;
  ErrorCode code;
  std::string message;
};

constexpr ErrorCode illegal = ErrorCode::invalid_problem, unsupported = ErrorCode::no_kernel;
const std::string kPair = " a=e4m3:1x128 b=e4m3:128x128 d=bf16";
const std::string kTokens = " in=bf16 out=e4m3:1x128";
const std::string kBlocks = " in=bf16 out=e4m3:128x128";

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"wgrad.packed g16 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32", "operation.implemented", unsupported, "wgrad"},
      {"activation.dense c64", "operation.implemented", unsupported, "use gemm or quantize"},
      {"gemm.masked g32 m4096 n4096 k7168" + kPair, "layout.implemented", unsupported, "use packed or padded"},
      {"gemm.dense n4096 k7168" + kPair, "layout.implemented", unsupported, "gemm.dense"},
      {"gemm.uniform g2 n4096 k7168" + kPair, "layout.implemented", unsupported, "gemm.uniform"},
      {"quantize.masked g2 m64 c64" + kTokens, "layout.implemented", unsupported, "use packed or padded or uniform"},
      {"gemm.packed g8 n64 k64" + kPair + " +acc +bias", "flag.implemented", unsupported, "+bias +acc"},
      {"quantize.packed g8 c64" + kTokens + " +noop", "flag.implemented", unsupported, "+noop"},
      {"quantize.packed g8 c64 act=swiglu" + kTokens, "activation.implemented", unsupported, "act=swiglu"},
      {"gemm.packed g8 n64 k64 act=relu" + kPair, "activation.implemented", unsupported, "act=relu"},
      {"gemm.packed g8 n64 k64 out=e4m3:1x128" + kPair, "epilogue.implemented", unsupported, "out=e4m3:1x128"},
      {"quantize.packed g8 c64 dir=col" + kTokens, "direction.implemented", unsupported, "dir=col"},
      {"quantize.packed g8 c64 dir=row,col" + kTokens, "direction.implemented", unsupported, "dir=row,col"},
      {"gemm.packed g8 n64 k64 w=pointers" + kPair, "weights.implemented", unsupported, "[G, N, K]"},

      {"gemm.packed n64 k64" + kPair, "problem.missing-item", illegal, "add g<number>"},
      {"gemm.packed g8 k64" + kPair, "problem.missing-item", illegal, "add n<number>"},
      {"gemm.packed g8 n64" + kPair, "problem.missing-item", illegal, "add k<number>"},
      {"gemm.packed g8 n64 k64 b=e4m3:128x128 d=bf16", "problem.missing-item", illegal, "add a=<type>:<recipe>"},
      {"gemm.packed g8 n64 k64 a=e4m3:1x128 d=bf16", "problem.missing-item", illegal, "add b=<type>:<recipe>"},
      {"gemm.packed g8 n64 k64 a=e4m3:1x128 b=e4m3:128x128", "problem.missing-item", illegal, "add d=<type>"},
      {"gemm.packed g8 n64", "problem.missing-item", illegal,
       "add k<number> and a=<type>:<recipe> and b=<type>:<recipe> and d=<type>"},
      {"gemm.padded g8 n64 k64" + kPair, "problem.missing-item", illegal, "add al<number>"},
      {"quantize.packed g8" + kTokens, "problem.missing-item", illegal, "add c<number>"},
      {"quantize.packed g8 c64 out=e4m3:1x128", "problem.missing-item", illegal, "add in=<type>"},
      {"quantize.packed g8 c64 in=bf16", "problem.missing-item", illegal, "add out=<type>:<recipe>"},
      {"quantize.padded g8 c64" + kTokens, "problem.missing-item", illegal, "add al<number>"},
      {"quantize.uniform g8 k64" + kBlocks, "problem.missing-item", illegal, "add n<number>"},
      {"gemm.packed g8 n64 k64 c64" + kPair, "problem.unused-item", illegal, "does not take c<number>"},
      {"gemm.packed g8 n64 k64 m64" + kPair, "problem.unused-item", illegal, "does not take m<number>"},
      {"gemm.packed g8 n64 k64 al64" + kPair, "problem.unused-item", illegal, "does not take al<number>"},
      {"gemm.packed g8 n64 k64 in=bf16" + kPair, "problem.unused-item", illegal, "does not take in=<type>"},
      {"gemm.packed g8 n64 k64 gate=second" + kPair, "problem.unused-item", illegal, "does not take gate="},
      {"gemm.packed g8 n64 k64 il=8" + kPair, "problem.unused-item", illegal, "does not take il="},
      {"gemm.packed g8 n64 k64 dir=col" + kPair, "problem.unused-item", illegal, "does not take dir="},
      {"quantize.packed g8 n64 c64" + kTokens, "problem.unused-item", illegal, "does not take n<number>"},
      {"quantize.packed g8 c64 a=e4m3:1x128" + kTokens, "problem.unused-item", illegal, "does not take a="},
      {"quantize.packed g8 c64 w=pointers" + kTokens, "problem.unused-item", illegal, "does not take w="},
      {"quantize.uniform g8 n64 k64 splits=i64" + kBlocks, "problem.unused-item", illegal, "does not take splits="},

      {"gemm.packed g8 n64 k64 a=e4m3:1x128 b=e4m3:1x128 d=bf16", "recipe.pair", unsupported, "b=e4m3:1x128"},
      {"gemm.packed g8 n64 k64 a=e5m2:1x128 b=e4m3:128x128 d=bf16", "recipe.pair", unsupported, "a=e5m2:1x128"},
      {"gemm.packed g8 n64 k64 a=e4m3:1x32 b=e4m3:1x32 d=bf16", "recipe.pair", unsupported, "use a=e4m3:1x128"},
      {"quantize.packed g8 c64 in=bf16 out=e4m3:128x128", "recipe.of-layout", unsupported, "use out=e4m3:1x128"},
      {"quantize.uniform g8 n64 k64 in=bf16 out=e4m3:1x128", "recipe.of-layout", unsupported, "use out=e4m3:128x128"},
      {"quantize.packed g8 c64 in=bf16 out=e5m2:1x128", "recipe.of-layout", unsupported, "out=e5m2:1x128"},
      {"quantize.packed g8 c64 in=bf16 out=e4m3:1x128:pow2", "recipe.power-of-two", unsupported, ":pow2"},
      {"gemm.packed g8 n64 k64 a=e4m3:1x128 b=e4m3:128x128:pow2 d=bf16", "recipe.power-of-two", unsupported, ":pow2"},
      {"gemm.packed g8 n64 k64 a=e4m3:1x128@k_major b=e4m3:128x128 d=bf16", "scale-layout.implemented", unsupported,
       "use @mn_major"},
      {"gemm.packed g8 n64 k64 a=e4m3:1x128 b=e4m3:128x128@block2d_t d=bf16", "scale-layout.implemented", unsupported,
       "use @block2d"},
      {"quantize.packed g8 c64 in=bf16 out=e4m3:1x128@k_major", "scale-layout.implemented", unsupported, "@k_major"},
      {"gemm.packed g8 n64 k64 a=e4m3:1x128 b=e4m3:128x128 d=f32", "type.of-output", unsupported, "d=f32"},
      {"quantize.packed g8 c64 in=fp16 out=e4m3:1x128", "type.of-input", unsupported, "in=fp16"},
      {"gemm.padded g8 n64 k64 al64 splits=i64/starts" + kPair, "splits.starts-of-padded", illegal, "splits=i64/ends"},
      {"quantize.padded g8 c64 al64 splits=i32/starts" + kTokens, "splits.starts-of-padded", illegal,
       "splits=i32/ends"},

      {"gemm.packed g1025 n64 k64" + kPair, "groups.at-most-1024", illegal, "G=1025: more than 1024"},
      {"quantize.uniform g2000 n64 k64" + kBlocks, "groups.at-most-1024", illegal, "G=2000"},
      {"gemm.padded g8 n64 k64 al1048577" + kPair, "padded.alignment-at-most-1048576", illegal, "al=1048577"},
      {"gemm.packed g8 n7164 k64" + kPair, "gemm.n-multiple-of-8", illegal, "pad N to 7168"},
      {"gemm.packed g8 n7168 k7100" + kPair, "gemm.k-multiple-of-16", illegal,
       "K=7100: not a multiple of 16 (rule gemm.k-multiple-of-16); pad K to 7104"},
      {"gemm.packed g8 n64 k8" + kPair, "gemm.k-multiple-of-16", illegal, "pad K to 16"},
      {"gemm.packed g8 n64 k262160" + kPair, "gemm.k-at-most-262144", illegal, "K=262160"},
      {"quantize.packed g8 c2056" + kTokens, "quantize.columns-multiple-of-16", illegal, "pad C to 2064"},
      {"quantize.uniform g8 n64 k2056" + kBlocks, "quantize.columns-multiple-of-16", illegal, "pad K to 2064"},
      {"quantize.packed g8 c16777232" + kTokens, "quantize.columns-at-most-16777216", illegal, "C=16777232"},
      {"gemm.packed g1024 n2097152 k64" + kPair, "weights.rows-fit-32-bit", illegal, "G=1024 N=2097152"},
      {"quantize.uniform g1024 n2000000 k16777216" + kBlocks, "weights.scales-fit-32-bit", illegal, "scales"},
  };
  return all;
}

}  // namespace

TEST_CASE("every refusal names its rule, says what was got and what to do") {
  for (const Case& c : cases()) {
    INFO(c.problem);
    const octet::Explanation explanation = octet::explain(Problem::parse(c.problem));
    REQUIRE(explanation.refused.has_value());
    CHECK(explanation.refused->rule == c.rule);
    CHECK(explanation.refused->code == c.code);
    CHECK(explanation.refused->message.find("(rule " + c.rule + "); ") != std::string::npos);
    INFO(explanation.refused->message);
    CHECK(explanation.refused->message.find(c.message) != std::string::npos);
    CHECK(explanation.candidates.empty());
    CHECK(explanation.breakpoints.empty());
    CHECK(explanation.chosen == -1);
  }
}

TEST_CASE("select and variants refuse with the rule's message and the command that explains it") {
  for (const Case& c : cases()) {
    INFO(c.problem);
    const Problem problem = Problem::parse(c.problem);
    const std::string expected =
        octet::explain(problem).refused->message + ", or run: octet explain '" + problem.to_string() + "'";
    try {
      octet::select(problem);
      FAIL("accepted");
    } catch (const octet::Error& error) {
      CHECK(error.code() == c.code);
      CHECK(error.what() == expected);
    }
    CHECK_THROWS_WITH(octet::variants(problem, 128), expected);
  }
}

TEST_CASE("a device without kernels is refused by rule") {
  octet::DeviceFacts device;
  device.arch = "sm_100a";
  const Problem problem = Problem::parse("gemm.packed g8 n64 k64" + kPair);
  const auto refused = octet::explain(problem, device).refused;
  REQUIRE(refused);
  CHECK(refused->rule == "arch.implemented");
  CHECK(refused->code == ErrorCode::no_kernel);
  CHECK(refused->message.find("sm_100a") != std::string::npos);
  CHECK(octet::refuse(octet::Spec{problem, octet::GemmConfig{}, "sm_100a"}, {})->rule == "arch.implemented");
}

TEST_CASE("sizes of a problem that was filled by hand are checked too") {
  octet::GemmProblem gemm;
  gemm.groups = 8;
  gemm.n = 64;
  gemm.k = 64;
  CHECK_FALSE(octet::explain(gemm.to_problem()).refused);
  for (std::int64_t octet::GemmProblem::*size :
       {&octet::GemmProblem::groups, &octet::GemmProblem::n, &octet::GemmProblem::k}) {
    octet::GemmProblem bad = gemm;
    bad.*size = 0;
    CHECK(octet::explain(bad.to_problem()).refused->rule == "problem.missing-item");
    bad.*size = -16;
    CHECK(octet::explain(bad.to_problem()).refused->rule == "problem.size-positive");
    bad.*size = std::int64_t{1} << 62;
    CHECK(octet::explain(bad.to_problem()).refused.has_value());
  }
  gemm.layout = octet::Layout::padded;
  gemm.alignment = -1;
  CHECK(octet::explain(gemm.to_problem()).refused->rule == "problem.size-positive");

  octet::QuantizeProblem tokens;
  tokens.groups = 8;
  tokens.columns = 64;
  tokens.rows_per_group = 5;
  CHECK(octet::explain(tokens.to_problem()).refused->rule == "problem.unused-item");
}

TEST_CASE("no rule of problems is without a case above") {
  std::set<std::string> covered = {"arch.implemented", "problem.size-positive"};
  for (const Case& c : cases()) covered.insert(c.rule);
  std::set<std::string> listed;
  for (const octet::RuleDescription& rule : octet::rule_descriptions()) {
    CHECK_FALSE(rule.why.empty());
    if (rule.scope == "problem") listed.insert(rule.id);
  }
  CHECK(listed == covered);
}

TEST_CASE("rule ids are unique words") {
  std::set<std::string> ids;
  for (const octet::RuleDescription& rule : octet::rule_descriptions()) {
    INFO(rule.id);
    CHECK(ids.insert(rule.id).second);
    CHECK(rule.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") == std::string::npos);
    CHECK((rule.scope == "problem" || rule.scope == "config"));
  }
}

TEST_CASE("B13 B14: what is implemented is accepted up to its limits, and then has a kernel") {
  for (const std::string& text : {
           "gemm.packed g1 n8 k16" + kPair,
           "gemm.packed g1024 n8 k262144" + kPair,
           "gemm.packed g1024 n2097144 k16" + kPair,
           "gemm.packed g1 n2147483128 k64" + kPair,
           "gemm.packed g257 n160 k208" + kPair,
           "gemm.packed g32 n2880 k2880 splits=i64/starts" + kPair,
           "gemm.packed g8 n200 k160 splits=i32/ends" + kPair,
           "gemm.padded g8 n64 k64 al1" + kPair,
           "gemm.padded g8 n64 k64 al1048576 splits=i64/ends" + kPair,
           "quantize.packed g1024 c16777216" + kTokens,
           "quantize.packed g1 c16 splits=i64/starts" + kTokens,
           "quantize.padded g8 c2880 al128" + kTokens,
           "quantize.uniform g1 n1 k16" + kBlocks,
           "quantize.uniform g384 n4096 k7168" + kBlocks,
       }) {
    INFO(text);
    const Problem problem = Problem::parse(text);
    CHECK_FALSE(octet::explain(problem).refused);
    CHECK_NOTHROW(octet::select(problem));
    CHECK_FALSE(octet::variants(problem, 16384).empty());
  }
}

TEST_CASE("B22: a row stride that the copy engine cannot take is refused by name") {
  // Rows have no gaps, so the stride of A and B is K bytes and that of D is 2 N bytes.
  const Problem wide = Problem::parse("gemm.packed g8 n7168 k2064" + kPair);
  CHECK_FALSE(octet::refuse(wide, {}));
  CHECK(octet::refuse(Problem::parse("gemm.packed g8 n7168 k2056" + kPair), {})->rule == "gemm.k-multiple-of-16");
  CHECK(octet::refuse(Problem::parse("gemm.packed g8 n7164 k2048" + kPair), {})->rule == "gemm.n-multiple-of-8");
}
