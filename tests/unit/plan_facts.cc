#include "octet/plan_facts.h"

#include "octet/error.h"
#include "tests/support/catch.h"

using octet::Activation;
using octet::DType;
using octet::Granularity;
using octet::PlanFacts;

namespace {

std::string message_of(const char* text) {
  try {
    PlanFacts::parse(text);
  } catch (const octet::Error& error) {
    CHECK(error.code() == octet::ErrorCode::invalid_problem);
    return error.what();
  }
  return "parsed";
}

}  // namespace

TEST_CASE("plan: facts print as they are written", "[plan]") {
  for (const char* text :
       {"mlp.packed g8 h7168 i2048 act=swiglu", "mlp.packed g8 h7168 i2048 act=swiglu +bias +probs +acc",
        "mlp.masked g32 m128 h4096 i1536 act=clamped_swiglu gate=second il=1 recipe=mxfp8 +inference",
        "mlp.padded g4 h512 i256 al32 act=srelu recipe=tensor x=e4m3:tensor weights=e4m3:tensor dy=e5m2:tensor d=fp16 "
        "dw=bf16 splits=i64/ends w=pointers +noop +fastacc",
        "linear.dense g1 n4096 k7168 recipe=row +primary"}) {
    CAPTURE(text);
    CHECK(PlanFacts::parse(text).to_string() == text);
  }
}

TEST_CASE("plan: items come in any order, defaults are not printed", "[plan]") {
  CHECK(PlanFacts::parse(" mlp.packed +acc d=bf16 i2048 recipe=block_fp8 dw=f32 act=swiglu h7168  g8").to_string() ==
        "mlp.packed g8 h7168 i2048 act=swiglu +acc");
}

TEST_CASE("plan: facts made in code equal the text's", "[plan]") {
  PlanFacts facts;
  facts.groups = 8;
  facts.hidden = 7168;
  facts.intermediate = 2048;
  facts.activation = Activation::swiglu;
  facts.probs = true;
  CHECK(PlanFacts::parse("mlp.packed g8 h7168 i2048 act=swiglu +probs") == facts);
  facts.dw = DType::bf16;
  CHECK(PlanFacts::parse("mlp.packed g8 h7168 i2048 act=swiglu +probs") != facts);
}

TEST_CASE("plan: presets give the recipes of all passes, and a tensor's own one replaces its part", "[plan]") {
  const PlanFacts block = PlanFacts::parse("linear.packed g8 n64 k64 dy=e5m2:1x128:pow2");
  CHECK(to_string(block.x_recipe()) == "e4m3:1x128");
  CHECK(to_string(block.weight_recipe()) == "e4m3:128x128");
  CHECK(to_string(block.dy_recipe()) == "e5m2:1x128:pow2");
  for (const auto& [preset, granularity] : {std::pair{"tensor", "tensor"}, {"row", "row"}, {"mxfp8", "1x32"}}) {
    const PlanFacts facts = PlanFacts::parse(std::string("linear.packed g8 n64 k64 recipe=") + preset);
    for (const octet::Recipe& recipe : {facts.x_recipe(), facts.weight_recipe(), facts.dy_recipe()}) {
      CHECK(to_string(recipe) == std::string("e4m3:") + granularity);
    }
  }
}

TEST_CASE("plan: a text that says nothing is refused with the nearest word", "[plan]") {
  CHECK(message_of("").find("mlp.packed g8") != std::string::npos);
  CHECK(message_of("mpl.packed g8").find("did you mean 'mlp'") != std::string::npos);
  CHECK(message_of("mlp g8").find("mlp.packed") != std::string::npos);
  CHECK(message_of("mlp.paked g8").find("did you mean 'packed'") != std::string::npos);
  CHECK(message_of("mlp.packed g8 +bais").find("did you mean +bias") != std::string::npos);
  CHECK(message_of("mlp.packed g8 g9").find("given twice") != std::string::npos);
  CHECK(message_of("mlp.packed g0").find("'0' is not a number") != std::string::npos);
  CHECK(message_of("mlp.packed g8 recipe=mxfp").find("did you mean 'mxfp8'") != std::string::npos);
}

TEST_CASE("plan: a problem taken for a plan, and a plan for a problem, are told apart by name", "[plan][problem]") {
  CHECK(message_of("gemm.packed g8 n64 k64").find("starts a problem, not a plan; octet explain") != std::string::npos);
  try {
    octet::Problem::parse("mlp.packed g8 h64 i64 act=silu");
    FAIL("parsed");
  } catch (const octet::Error& error) {
    CHECK(error.code() == octet::ErrorCode::invalid_problem);
    CHECK(std::string(error.what()).find("starts a plan, not a problem; octet plan") != std::string::npos);
  }
}

TEST_CASE("plan: a text tells whether it is a plan's", "[plan]") {
  CHECK(octet::is_plan_text(" mlp.packed g8"));
  CHECK(octet::is_plan_text("linear.dense"));
  CHECK_FALSE(octet::is_plan_text("gemm.packed g8"));
  CHECK_FALSE(octet::is_plan_text(""));
}
