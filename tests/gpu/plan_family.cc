// Whole plans on the GPU against the reference executor, which tests/golden/plans.txt proves.
#include <fmt/format.h>

#include "tests/gpu/plan_case.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

const std::vector<std::int64_t> kRagged = {50, 0, 133, 1};

struct Case {
  const char* line;
  std::vector<std::int64_t> sizes;
  std::int64_t capacity;
};

}  // namespace

TEST_CASE_METHOD(GpuTest, "plan: forward and backward of every recipe are near the reference", "[plan]") {
  const std::vector<Case> cases = {
      {"mlp.packed g4 h272 i144 act=swiglu +bias +probs +acc", kRagged, 189},
      {"mlp.packed g4 h272 i144 act=swiglu dy=e5m2:1x128 +probs", kRagged, 300},
      {"mlp.packed g4 h272 i144 act=srelu recipe=mxfp8 dw=bf16", kRagged, 189},
      {"mlp.packed g4 h272 i144 act=geglu gate=second recipe=tensor +probs", kRagged, 189},
      {"mlp.packed g4 h272 i144 act=reglu recipe=row +bias +acc", kRagged, 189},
      {"mlp.packed g4 h272 i144 act=silu x=e4m3:1x128:pow2 weights=e4m3:128x128:pow2 dy=e4m3:1x128:pow2", kRagged, 189},
      {"mlp.packed g4 h272 i144 act=glu weights=e4m3:1x128", kRagged, 189},
      {"mlp.packed g4 h272 i144 act=swiglu recipe=mxfp8 weights=e4m3:32x32 +inference", kRagged, 189},
      {"mlp.packed g4 h1152 i640 act=swiglu +bias +probs", {300, 1, 0, 600}, 1024},
  };
  for (const Case& c : cases) {
    CAPTURE(c.line);
    REQUIRE(plan_fault(c.line, c.sizes, c.capacity) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "plan: every layout and form of splits is near the reference", "[plan]") {
  const std::vector<Case> cases = {
      {"mlp.padded g4 h272 i144 al32 act=clamped_swiglu il=1 splits=i64/ends +bias", kRagged, 230},
      {"mlp.masked g3 m70 h272 i144 act=srelu +probs", {70, 0, 33}, 210},
      {"mlp.dense g1 h272 i144 act=silu +bias", {150}, 150},
      {"mlp.packed g4 h272 i144 act=swiglu splits=i32/starts", kRagged, 200},
      {"linear.packed g4 n144 k272 +bias +acc splits=i64", kRagged, 189},
      {"linear.masked g3 m70 n144 k272 weights=e4m3:128x128@block2d_t", {70, 0, 33}, 210},
      {"linear.dense g1 n144 k272 recipe=mxfp8 x=e4m3:1x32@swizzled weights=e4m3:32x32 dw=bf16", {150}, 150},
      {"linear.padded g4 n144 k272 al128 recipe=row +inference", kRagged, 640},
  };
  for (const Case& c : cases) {
    CAPTURE(c.line);
    REQUIRE(plan_fault(c.line, c.sizes, c.capacity) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "plan: weights by pointer are near the reference", "[plan]") {
  for (const char* recipe : {"", " recipe=row", " recipe=tensor", " weights=e4m3:1x128", " recipe=mxfp8"}) {
    const std::string line = std::string("mlp.packed g4 h272 i144 act=swiglu w=pointers +acc") + recipe;
    CAPTURE(line);
    REQUIRE(plan_fault(line, kRagged, 189) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "producer-consumer-pairs: plans of block scales in every layout", "[plan][named]") {
  for (const char* x : {"1x128", "1x128@k_major"}) {
    for (const char* weights : {"1x128", "1x128@k_major", "128x128", "128x128@block2d_t"}) {
      const auto line = fmt::format("linear.packed g4 n144 k272 x=e4m3:{} weights=e4m3:{} dy=e5m2:{}", x, weights, x);
      CAPTURE(line);
      REQUIRE(plan_fault(line, kRagged, 189) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "producer-consumer-pairs: plans of MX scales in every layout", "[plan][named]") {
  for (const char* x : {"1x32", "1x32@swizzled"}) {
    for (const char* weights : {"1x32", "1x32@swizzled", "32x32"}) {
      const auto line = fmt::format("linear.packed g4 n144 k272 x=e4m3:{} weights=e4m3:{} dy=e5m2:{}", x, weights, x);
      CAPTURE(line);
      REQUIRE(plan_fault(line, kRagged, 189) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "plan: one small MLP, forward and backward", "[plan][sanitizer]") {
  REQUIRE(plan_fault("mlp.packed g2 h144 i80 act=swiglu +bias +probs", {3, 0}, 5) == "");
}

}  // namespace octet::test
