// What a plan chooses: its steps, buffers and kernels, and what it refuses.
#include <algorithm>
#include <limits>
#include <set>

#include "octet/error.h"
#include "octet/explain.h"
#include "octet/layout.h"
#include "octet/plan.h"
#include "runtime/plan_agreement.h"
#include "runtime/plan_rules.h"
#include "tests/support/catch.h"

using namespace octet;

namespace {

Plan plan_of(const std::string& line) { return make_plan(PlanFacts::parse(line)); }

std::vector<std::string> lines_of(const Plan& plan, PlanPass pass) {
  std::vector<std::string> lines;
  for (const PlanStep& step : plan.steps(pass)) lines.push_back(step.problem.to_string());
  return lines;
}

const PlanBuffer& buffer_of(const Plan& plan, const std::string& name) {
  const auto found = std::find_if(plan.buffers.begin(), plan.buffers.end(),
                                  [&](const PlanBuffer& buffer) { return buffer.name == name; });
  REQUIRE(found != plan.buffers.end());
  return *found;
}

bool has(const Plan& plan, const std::string& name) {
  return std::any_of(plan.buffers.begin(), plan.buffers.end(),
                     [&](const PlanBuffer& buffer) { return buffer.name == name; });
}

struct Refused {
  std::string rule, message;
};
Refused refusal_of(const std::string& line) {
  const PlanFacts facts = PlanFacts::parse(line);
  if (const auto refused = refuse(facts)) return {refused->rule, refused->message};
  try {
    make_plan(facts);
  } catch (const Error& error) {
    const std::string message = error.what();
    const std::size_t at = message.find("(rule ");
    REQUIRE(at != std::string::npos);
    REQUIRE(message.find(facts.to_string()) != std::string::npos);
    return {message.substr(at + 6, message.find(')', at) - at - 6), message};
  }
  return {"", ""};
}

constexpr const char* kMlp = "mlp.packed g8 h7168 i2048 act=swiglu +bias +probs +acc";

}  // namespace

TEST_CASE("plan: an MLP's passes are these problems", "[plan]") {
  const Plan plan = plan_of(kMlp);
  CHECK(lines_of(plan, PlanPass::quantize_weights) ==
        std::vector<std::string>{"quantize.uniform g8 n4096 k7168 in=bf16 out=e4m3:128x128 dir=row,col",
                                 "quantize.uniform g8 n7168 k2048 in=bf16 out=e4m3:128x128 dir=row,col"});
  CHECK(lines_of(plan, PlanPass::forward) ==
        std::vector<std::string>{"quantize.packed g8 c7168 in=bf16 out=e4m3:1x128 dir=row,col",
                                 "gemm.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=bf16 +bias",
                                 "quantize.packed g8 c2048 in=bf16 act=swiglu out=e4m3:1x128 dir=row,col +probs",
                                 "gemm.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128 d=bf16 +bias"});
  CHECK(lines_of(plan, PlanPass::backward_data) ==
        std::vector<std::string>{
            "quantize.packed g8 c7168 in=bf16 out=e4m3:1x128 dir=row,col +grad +dbias",
            "gemm.packed g8 n2048 k7168 a=e4m3:1x128 b=e4m3:128x128 d=bf16 dir=col",
            "quantize.packed g8 c2048 in=bf16 act=swiglu out=e4m3:1x128 dir=row,col +probs +grad +dbias",
            "gemm.packed g8 n7168 k4096 a=e4m3:1x128 b=e4m3:128x128 d=bf16 dir=col"});
  CHECK(lines_of(plan, PlanPass::backward_weights) ==
        std::vector<std::string>{"wgrad.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc",
                                 "wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc"});
}

TEST_CASE("plan: inference has no backward, keeps nothing and quantizes along rows alone", "[plan]") {
  const Plan plan = plan_of("mlp.masked g4 m64 h512 i256 act=srelu recipe=mxfp8 +inference");
  CHECK(plan.steps(PlanPass::backward_data).empty());
  CHECK(plan.steps(PlanPass::backward_weights).empty());
  CHECK(lines_of(plan, PlanPass::forward)[0] == "quantize.masked g4 m64 c512 in=bf16 out=e4m3:1x32");
  CHECK(plan.bytes(PlanRole::saved, 256) == 0);
  CHECK(plan.bytes(PlanRole::deferred, 256) == 0);
  CHECK(buffer_of(plan, "h").role == PlanRole::scratch);
  CHECK_FALSE(has(plan, "x.col"));
  CHECK_FALSE(has(plan, "dx"));
}

TEST_CASE("plan: primary weights are the caller's, and no step quantizes them", "[plan]") {
  const Plan plan = plan_of("linear.packed g4 n256 k512 +primary");
  CHECK(plan.steps(PlanPass::quantize_weights).empty());
  CHECK(plan.bytes(PlanRole::quantized_weights, 0) == 0);
  CHECK(buffer_of(plan, "w.row").role == PlanRole::weight);
  CHECK(to_string(buffer_of(plan, "w.col").layout) == "uniform/col/block2d");
  CHECK_FALSE(has(plan, "w"));
}

TEST_CASE("plan: weights by pointer are quantized one group at a time", "[plan]") {
  const Plan plan = plan_of("linear.packed g4 n256 k512 w=pointers");
  CHECK(lines_of(plan, PlanPass::quantize_weights)[0] ==
        "quantize.uniform g1 n256 k512 in=bf16 out=e4m3:128x128 dir=row,col");
  CHECK(lines_of(plan, PlanPass::forward)[1] ==
        "gemm.packed g4 n256 k512 a=e4m3:1x128 b=e4m3:128x128 d=bf16 w=pointers");
  CHECK(buffer_of(plan, "w").tensors == 4);
  CHECK(buffer_of(plan, "dw").tensors == 4);
}

TEST_CASE("plan: buffers take the bytes of their shapes", "[plan]") {
  const Plan plan = plan_of(kMlp);
  const std::int64_t rows = 1000;
  CHECK(plan.bytes(buffer_of(plan, "x"), rows).data == rows * 7168 * 2);
  CHECK(plan.bytes(buffer_of(plan, "h"), rows).data == rows * 4096 * 2);
  CHECK(plan.bytes(buffer_of(plan, "probs"), rows).data == rows * 4);
  CHECK(plan.bytes(buffer_of(plan, "bias1"), rows).data == 8 * 4096 * 2);
  CHECK(plan.bytes(buffer_of(plan, "dw2"), rows).data == 8LL * 7168 * 2048 * 4);
  CHECK(plan.bytes(buffer_of(plan, "x.row"), rows).data == rows * 7168);
  CHECK(plan.bytes(buffer_of(plan, "x.row"), rows).sf == 56 * rows * 4);
  CHECK(plan.bytes(buffer_of(plan, "x.col"), rows).data == 7168 * (1024 + 128 * 8));
  CHECK(plan.bytes(buffer_of(plan, "w1.row"), 0).sf == 8 * 32 * 56 * 4);
}

TEST_CASE("plan: variants are those of every step, and depend on the largest M alone", "[plan]") {
  const Plan plan = plan_of(kMlp);
  std::set<std::string> wanted, got;
  for (const PlanPass pass : kPlanPasses) {
    for (const std::string& line : lines_of(plan, pass)) {
      for (const Spec& spec : variants(Problem::parse(line), 4096)) wanted.insert(spec.name());
    }
  }
  const std::vector<Spec> specs = variants(plan, 4096);
  for (const Spec& spec : specs) got.insert(spec.name());
  CHECK(got == wanted);
  CHECK(got.size() == specs.size());
}

TEST_CASE("plan: scratch has room for any kernel's workspace", "[plan]") {
  const Plan plan = plan_of("linear.packed g4 n256 k512 recipe=mxfp8");
  // The MXFP8 kernel keeps tokens as bf16 beside the copy along rows.
  const PlanBytes row = plan.bytes(buffer_of(plan, "x.row"), 1000);
  CHECK(plan.bytes(PlanRole::scratch, 1000) >= row.data + row.sf + 1000 * 512 * 2);
}

TEST_CASE("plan: facts that do not go together are refused by name", "[plan]") {
  CHECK(refusal_of("mlp.uniform g8 h512 i256 act=silu").rule == "plan.layout-of-tokens");
  CHECK(refusal_of("mlp.packed g8 i256").rule == "plan.missing-item");
  CHECK(refusal_of("mlp.packed g8 i256").message.find("h<number>, act=<name>") != std::string::npos);
  const Refused none = refusal_of("mlp.packed g8 h512 i256 act=none");
  CHECK(none.rule == "plan.missing-item");
  CHECK(none.message.find("act=none is no activation") != std::string::npos);
  CHECK(refusal_of("mlp.packed g8 i256 act=silu").message.find("act=none") == std::string::npos);
  CHECK(refusal_of("linear.padded g8 n64 k64").rule == "plan.missing-item");
  CHECK(refusal_of("linear.masked g8 n64 k64").rule == "plan.missing-item");
  for (const char* item : {"h64", "act=silu", "+probs", "al8", "m8"}) {
    CHECK(refusal_of(std::string("linear.packed g8 n64 k64 ") + item).rule == "plan.unused-item");
  }
  CHECK(refusal_of("mlp.packed g8 h512 i256 act=silu n64").rule == "plan.unused-item");
  CHECK(refusal_of("linear.dense g1 n64 k64 splits=i64").rule == "plan.unused-item");
  CHECK(refusal_of("linear.packed g8 n64 k64 +primary +noop").rule == "plan.unused-item");
  for (const char* item : {"+acc", "dw=bf16", "dy=e5m2:1x128"}) {
    CHECK(refusal_of(std::string("linear.packed g8 n64 k64 +inference ") + item).rule == "plan.unused-item");
  }
}

TEST_CASE("plan: sizes that no text can say are refused by name, those that no kernel takes by a step's rule",
          "[plan]") {
  for (const std::int64_t size : {std::int64_t{-8}, std::int64_t{1} << 31, std::numeric_limits<std::int64_t>::max()}) {
    for (auto member : {&PlanFacts::groups, &PlanFacts::n, &PlanFacts::k, &PlanFacts::alignment}) {
      PlanFacts facts = PlanFacts::parse("linear.padded g8 n64 k64 al8");
      facts.*member = size;
      const auto refused = refuse(facts);
      REQUIRE(refused);
      CHECK(refused->rule == "plan.sizes-in-range");
      CHECK(refused->message.find(std::to_string(size)) != std::string::npos);
    }
  }
  CHECK(refusal_of("linear.packed g2147483647 n2147483632 k2147483632").rule == "groups.at-most-1024");
}

TEST_CASE("plan: bytes are refused for a capacity that no launch takes", "[plan]") {
  const Plan training = plan_of("linear.packed g8 n64 k64"), inference = plan_of("linear.packed g8 n64 k64 +inference");
  // up(capacity, 128) + 128 G, the row length of columnwise data, is at most 2^31 - 513.
  constexpr std::int64_t kMost = 2147482624, kMostTrained = 2147481984;
  const auto code_of = [](const auto& job) {
    try {
      job();
    } catch (const Error& error) {
      return std::string(to_string(error.code()));
    }
    return std::string();
  };
  for (const PlanRole role : {PlanRole::quantized_weights, PlanRole::saved, PlanRole::deferred, PlanRole::scratch}) {
    CHECK(code_of([&] { training.bytes(role, -1); }) == "invalid_argument");
    CHECK(code_of([&] { training.bytes(role, kMostTrained + 1); }) == "invalid_argument");
    CHECK(code_of([&] { training.bytes(role, kMostTrained); }).empty());
    CHECK(code_of([&] { inference.bytes(role, kMost); }).empty());
    CHECK(code_of([&] { inference.bytes(role, kMost + 1); }) == "invalid_argument");
  }
  CHECK(code_of([&] { training.bytes(buffer_of(training, "x"), -1); }) == "invalid_argument");
}

TEST_CASE("plan: what no kernel does is refused with the step and its rule", "[plan]") {
  const Refused pair = refusal_of("linear.packed g8 n64 k64 recipe=mxfp8 dy=e4m3:1x128");
  CHECK(pair.rule == "recipe.pair");
  CHECK(pair.message.find("step dgrad 'gemm.packed") != std::string::npos);
  CHECK(refusal_of("linear.dense g2 n64 k64").rule == "dense.one-group");
  CHECK(refusal_of("linear.packed g8 n64 k72").rule == "quantize.columns-multiple-of-16");
  CHECK(refusal_of("mlp.packed g8 h512 i256 act=silu gate=second").rule == "activation.gate-of-gated");
  CHECK(refusal_of("linear.packed g8 n64 k64 +fastacc").rule == "flag.fastacc-of-whole-scales");
  CHECK_FALSE(refuse(PlanFacts::parse("linear.packed g8 n64 k64 recipe=tensor +fastacc")));
  // Weights whose rows are no multiple of 128 have kernels, those of 8 and not of 16 have none in a backward.
  CHECK(refusal_of("linear.packed g8 n144 k272").rule.empty());
  CHECK(refusal_of("linear.packed g8 n136 k272").rule == "quantize.weight-rows-multiple-of-16");
  CHECK(refusal_of("linear.packed g8 n136 k272 +inference").rule.empty());
  const PlanFacts facts = PlanFacts::parse("linear.packed g8 n64 k64");
  CHECK_THROWS_AS(make_plan(facts, DeviceFacts::for_arch("sm_100")), Error);
}

TEST_CASE("plan: a buffer that its two ends see differently is refused by name", "[plan]") {
  const auto spoiled = [](const char* step_name, auto change) {
    Plan plan = plan_of("mlp.padded g4 h512 i256 al32 act=swiglu +probs");
    for (auto& steps : plan.passes) {
      for (PlanStep& step : steps) {
        if (step.name == step_name) change(step.problem);
      }
    }
    const auto refused = refuse(plan, {});
    REQUIRE(refused);
    CHECK(refused->rule == "plan.producer-feeds-consumer");
    return refused->message;
  };
  CHECK(first_disagreement(plan_of(kMlp)).empty());
  // The row extent, the alignment, the scales' layout, their rounding and the columns of one end alone.
  CHECK(spoiled("wgrad1", [](Problem& p) { p.layout = Layout::packed, p.al = 0; }).find("dh.col") != std::string::npos);
  CHECK(spoiled("gemm1", [](Problem& p) { p.al = 64; }).find("x.row") != std::string::npos);
  CHECK(spoiled("gemm2", [](Problem& p) { p.a->scale_layout = ScaleLayout::k_major; }).find("k_major") !=
        std::string::npos);
  CHECK(spoiled("dgrad2", [](Problem& p) { p.b->power_of_two = true; }).find("w2.col") != std::string::npos);
  CHECK(spoiled("quantize_dh", [](Problem& p) { p.out->type = DType::e5m2; }).find("dh.row") != std::string::npos);
  CHECK(spoiled("quantize_a", [](Problem& p) { p.c = 128; }).find("takes h as in") != std::string::npos);
  CHECK(spoiled("gemm1", [](Problem& p) { p.d = DType::fp16; }).find("takes h as d") != std::string::npos);
  CHECK(spoiled("wgrad2", [](Problem& p) { p.splits.is_i64 = true; }).find("dy.col") != std::string::npos);
}

TEST_CASE("plan: every rule of plans is in the table, and only there once", "[plan]") {
  std::set<std::string> listed;
  for (const RuleDescription& rule : rule_descriptions()) {
    if (rule.scope == "plan") CHECK(listed.insert(rule.id).second);
  }
  CHECK(listed == std::set<std::string>{"plan.layout-of-tokens", "plan.sizes-in-range", "plan.missing-item",
                                        "plan.unused-item", "plan.producer-feeds-consumer"});
}
