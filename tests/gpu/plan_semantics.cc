// What plans promise, bit for bit, on the GPU; tests/unit/plan_semantics.cc asks the same of the reference.
#include <algorithm>
#include <cmath>

#include "octet/explain.h"
#include "tests/gpu/plan_case.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

// Rows [0, rows) of an output of tokens, all of another one.
std::vector<std::uint8_t> live_bytes(const DevicePlan& plan, const PlanBuffer& buffer, std::int64_t rows) {
  std::vector<std::uint8_t> bytes = plan.read(buffer.name);
  if (buffer.rows == 0) bytes.resize(static_cast<std::size_t>(rows * buffer.columns * size_bytes(buffer.type)));
  return bytes;
}

bool all_finite(const PlanBuffer& buffer, const std::vector<std::uint8_t>& bytes) {
  for (std::size_t i = 0; i < bytes.size() / static_cast<std::size_t>(size_bytes(buffer.type)); ++i) {
    if (!std::isfinite(plan_element(bytes, buffer.type, static_cast<std::int64_t>(i)))) return false;
  }
  return true;
}

// "" where one group in a roomy buffer gives the bits of the buffer that it fills.
std::string roomy_fault(const std::string& line, float fill) {
  const PlanData exact(line, {512}, 512);
  PlanData roomy(line, {512}, 768);
  for (const char* name : {"x", "dy", "probs"}) {
    if (!exact.has(name)) continue;
    std::copy(exact.at(name).begin(), exact.at(name).end(), roomy.at(name).begin());
    roomy.fill_tail(name, fill);
  }
  const DevicePlan one(exact), other(roomy);
  one.run();
  other.run();
  if (!other.guards_intact()) return "a launch wrote outside its buffers";
  for (const PlanBuffer& buffer : exact.plan.buffers) {
    if (buffer.role != PlanRole::output) continue;
    const std::vector<std::uint8_t> got = live_bytes(other, buffer, 512);
    if (got != live_bytes(one, buffer, 512)) return buffer.name + " differs";
    if (!all_finite(buffer, got)) return buffer.name + " is not finite";
  }
  return "";
}

// Whether every step of one plan takes the config of the other's: only then do bits have to agree.
bool same_configs(const Plan& x, const Plan& y) {
  for (const PlanPass pass : {PlanPass::forward, PlanPass::backward_data, PlanPass::backward_weights}) {
    for (std::size_t i = 0; i < x.steps(pass).size(); ++i) {
      const DeviceFacts facts = Runtime::device_facts();
      if (!(select(x.steps(pass)[i].problem, facts).config == select(y.steps(pass)[i].problem, facts).config))
        return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "g1-padded-buffer: A13: a whole plan's results do not depend on the tail of one group",
                 "[plan][named]") {
  for (const char* act :
       {"srelu", "swiglu", "geglu", "qgeglu", "reglu", "sreglu", "glu", "clamped_swiglu", "situ_glu"}) {
    for (const float fill : {0.0f, 3.0f, NAN}) {
      const std::string line = std::string("mlp.packed g1 h256 i128 act=") + act + " +bias +probs";
      CAPTURE(line, fill);
      REQUIRE(roomy_fault(line, fill) == "");
    }
  }
  for (const char* recipe : {"mxfp8 x=e4m3:1x32@swizzled dy=e4m3:1x32@swizzled", "mxfp8", "tensor", "row"}) {
    for (const float fill : {0.0f, 3.0f, NAN}) {
      const std::string line = std::string("mlp.packed g1 h256 i128 act=srelu recipe=") + recipe;
      CAPTURE(line, fill);
      REQUIRE(roomy_fault(line, fill) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "single-weight-equals-discrete: a whole plan gives the same bits by pointer",
                 "[plan][named]") {
  std::size_t compared = 0;
  for (const char* recipe : {"", " recipe=row", " recipe=tensor", " weights=e4m3:1x128", " recipe=mxfp8"}) {
    const std::string line = std::string("mlp.packed g3 h272 i144 act=swiglu") + recipe;
    CAPTURE(line);
    const PlanData single(line, {5, 0, 130}, 150), discrete(line + " w=pointers", {5, 0, 130}, 150);
    if (!same_configs(single.plan, discrete.plan)) continue;
    ++compared;
    const DevicePlan one(single), other(discrete);
    one.run();
    other.run();
    for (const PlanBuffer& buffer : single.plan.buffers) {
      if (buffer.role != PlanRole::output) continue;
      CAPTURE(buffer.name);
      // A tensor's bytes are a multiple of 256 here, so that discrete ones lie as the single one does.
      const bool same = one.read(buffer.name) == other.read(buffer.name);
      REQUIRE(same);
    }
  }
  REQUIRE(compared >= 1);
}

TEST_CASE_METHOD(GpuTest, "plan: primary weights, and weights made after the plan", "[plan]") {
  const std::string line = "mlp.packed g3 h272 i144 act=swiglu";
  const PlanData own(line, {5, 0, 130}, 150);
  PlanData primary(line + " +primary", {5, 0, 130}, 150);
  const DevicePlan one(own);
  DevicePlan other(primary);  // prepared and bound before its weights hold anything
  one.run();
  const std::vector<std::uint8_t> quantized = one.read_block(PlanRole::quantized_weights);
  std::size_t offset = 0;
  for (const char* name : {"w1.row", "w1.col", "w2.row", "w2.col"}) {
    Buffer& buffer = other.buffer(name);
    buffer.upload(quantized.data() + offset, buffer.bytes());
    offset += buffer.bytes();
  }
  REQUIRE(offset == quantized.size());
  other.run();
  const bool same = one.outputs() == other.outputs();
  REQUIRE(same);
}

TEST_CASE_METHOD(GpuTest, "plan: groups without rows, and nothing but such", "[plan]") {
  for (const char* layout : {"packed g3", "padded g3 al8", "masked g3 m8"}) {
    const std::string line = std::string("mlp.") + layout + " h144 i80 act=swiglu +bias +probs";
    for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{{0, 3, 0}, {0, 0, 0}}) {
      CAPTURE(line, sizes);
      REQUIRE(plan_fault(line, sizes, 24) == "");  // the reference's gradients of empty groups are exactly 0
    }
  }
  REQUIRE(plan_fault("mlp.packed g3 h144 i80 act=swiglu +acc", {0, 0, 0}, 5) == "");
  REQUIRE(plan_fault("mlp.packed g3 h144 i80 act=swiglu +bias", {0, 0, 0}, 0) == "");
}

TEST_CASE_METHOD(GpuTest, "plan: noop keeps quantized weights across microbatches", "[plan]") {
  const PlanData data("mlp.packed g3 h144 i80 act=swiglu +noop", {5, 0, 130}, 150);
  DevicePlan plan(data);
  plan.run();
  const std::vector<std::uint8_t> quantized = plan.read_block(PlanRole::quantized_weights);
  const std::vector<std::vector<std::uint8_t>> first = plan.outputs();
  for (const char* name : {"w1", "w2"}) plan.buffer(name).poison();
  const std::uint32_t set = 1;
  plan.buffer("noop").upload(&set, sizeof set);
  plan.run();
  const bool kept = plan.read_block(PlanRole::quantized_weights) == quantized && plan.outputs() == first;
  REQUIRE(kept);
}

TEST_CASE_METHOD(GpuTest, "plan: weight gradients made later are those made at once", "[plan]") {
  const PlanData data("mlp.packed g3 h272 i144 act=swiglu", {5, 0, 130}, 150);
  const DevicePlan at_once(data);
  at_once.run();
  DevicePlan later(data);
  const OwnedStream stream;
  for (const PlanPass pass : {PlanPass::quantize_weights, PlanPass::forward, PlanPass::backward_data}) {
    later.launch(pass, stream);
  }
  stream.synchronize();
  later.poison_scratch();
  later.launch(PlanPass::backward_weights, stream);
  stream.synchronize();
  const bool same = at_once.outputs() == later.outputs();
  REQUIRE(same);
}

}  // namespace octet::test
