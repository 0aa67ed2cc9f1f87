// What plans promise, on the reference executor; tests/gpu/plan_semantics.cc asks the same of the GPU.
#include <cmath>

#include "octet/error.h"
#include "tests/support/catch.h"
#include "tests/support/plan_binding.h"
#include "tests/unit/plan_case.h"

using namespace octet;
using namespace octet::test;

namespace {

const std::vector<std::string> kOutputs = {"y", "dx", "dw1", "dw2", "dbias1", "dbias2", "dprobs"};

void check_finite(const PlanCase& c, const std::string& name) {
  std::size_t faults = 0;
  for (const double value : c.values(name)) faults += !std::isfinite(value);
  CAPTURE(name);
  CHECK(faults == 0);
}

// Rows [0, rows) of an output of tokens, all of another one.
std::vector<std::uint8_t> live_bytes(const PlanCase& c, const std::string& name, std::int64_t rows) {
  const PlanBuffer& buffer = c.data.plan.buffers[c.data.index(name)];
  std::vector<std::uint8_t> bytes = c.data.at(name);
  if (buffer.rows == 0) bytes.resize(static_cast<std::size_t>(rows * buffer.columns * size_bytes(buffer.type)));
  return bytes;
}

void copy_live(const PlanCase& from, PlanCase& to) {
  for (const char* name : {"x", "dy", "probs"}) {
    if (from.data.has(name)) std::copy(from.data.at(name).begin(), from.data.at(name).end(), to.data.at(name).begin());
  }
}

}  // namespace

TEST_CASE("g1-padded-buffer: A13: one group in a roomy buffer equals the buffer that it fills, whatever the tail holds",
          "[plan]") {
  for (const char* act :
       {"srelu", "swiglu", "geglu", "qgeglu", "reglu", "sreglu", "glu", "clamped_swiglu", "situ_glu"}) {
    const std::string recipe =
        act == std::string("srelu") ? " recipe=mxfp8 x=e4m3:1x32@swizzled dy=e4m3:1x32@swizzled" : "";
    const std::string line = std::string("mlp.packed g1 h64 i32 act=") + act + recipe + " +bias +probs";
    CAPTURE(line);
    PlanCase exact(line, {512}, 512);
    exact.run();
    for (const float fill : {0.0f, 3.0f, NAN}) {
      CAPTURE(fill);
      PlanCase roomy(line, {512}, 768);
      copy_live(exact, roomy);
      for (const char* name : {"x", "dy", "probs"}) roomy.data.fill_tail(name, fill);
      roomy.run();
      for (const std::string& name : kOutputs) {
        CAPTURE(name);
        const bool same = live_bytes(roomy, name, 512) == live_bytes(exact, name, 512);
        CHECK(same);
      }
      for (const char* name : {"dw1", "dw2", "dbias1", "dbias2"}) check_finite(roomy, name);
    }
  }
}

TEST_CASE("single-weight-equals-discrete: one grouped weight gives the bits of one tensor per group", "[plan]") {
  for (const char* recipe : {"", " recipe=row", " recipe=tensor", " weights=e4m3:1x128", " recipe=mxfp8"}) {
    const std::string line = std::string("mlp.packed g3 h144 i80 act=swiglu") + recipe;
    CAPTURE(line);
    PlanCase single(line, {5, 0, 130}, 150), discrete(line + " w=pointers", {5, 0, 130}, 150);
    single.run();
    discrete.run();
    for (const char* name : {"y", "dx", "dw1", "dw2"}) {
      CAPTURE(name);
      const bool same = single.values(name) == discrete.values(name);
      CHECK(same);
    }
  }
}

TEST_CASE("plan: primary weights, quantized by the caller, give the bits of the plan's own", "[plan]") {
  for (const char* w : {"", " w=pointers"}) {
    const std::string line = std::string("mlp.packed g3 h144 i80 act=swiglu") + w;
    CAPTURE(line);
    PlanCase own(line, {5, 0, 130}, 150), primary(line + " +primary", {5, 0, 130}, 150);
    own.run();
    // Both lay their tensors out alike: the block of quantized weights, buffer by buffer.
    std::size_t offset = 0;
    for (const char* name : {"w1.row", "w1.col", "w2.row", "w2.col"}) {
      std::vector<std::uint8_t>& bytes = primary.data.at(name);
      std::copy_n(own.quantized_weights.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
      offset += bytes.size();
    }
    REQUIRE(offset == own.quantized_weights.size());
    primary.run();
    for (const char* name : {"y", "dx", "dw1", "dw2"}) {
      CAPTURE(name);
      const bool same = own.values(name) == primary.values(name);
      CHECK(same);
    }
  }
}

TEST_CASE("plan: a primary weight of another layout is refused with both names", "[plan]") {
  const Plan plan = make_plan(PlanFacts::parse("linear.packed g2 n64 k64 +primary"));
  LinearTensors tensors;
  std::vector<char> memory(1 << 20);
  const std::int32_t sizes[2] = {1, 2};
  tensors.rows = {sizes, 4, 0};
  tensors.memory = {nullptr, memory.data(), memory.data(), memory.data()};
  tensors.x = tensors.w.row.data = tensors.w.row.sf = memory.data();
  tensors.y = memory.data();
  tensors.w.row.layout = {Layout::uniform, ScaleLayout::block2d_t, 0, false};
  try {
    reference::run(plan, PlanPass::forward, tensors);
    FAIL("accepted");
  } catch (const Error& error) {
    const std::string message = error.what();
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(message.find("w.row has layout uniform/block2d_t, the plan reads uniform/block2d") != std::string::npos);
  }
}

TEST_CASE("plan: bias gradients of empty groups are 0, and their weight gradients 0 or unchanged", "[plan]") {
  PlanCase c("mlp.packed g3 h64 i32 act=silu +bias", {0, 3, 0}, 5);
  c.run();
  for (const char* name : {"dbias1", "dbias2", "dw1", "dw2"}) {
    CAPTURE(name);
    const std::vector<double> values = c.values(name);
    const std::size_t each = values.size() / 3;
    for (std::size_t i = 0; i < each; ++i) {
      if (values[i] != 0 || values[2 * each + i] != 0) FAIL_CHECK("not 0 at " << i);
    }
  }
  PlanCase accumulating("mlp.packed g3 h64 i32 act=silu +acc", {0, 0, 0}, 5);
  const std::vector<std::uint8_t> before = accumulating.data.at("dw1");
  accumulating.run();
  const bool unchanged = accumulating.data.at("dw1") == before;
  CHECK(unchanged);
}

TEST_CASE("plan: zero work anywhere writes what has no rows and nothing else", "[plan]") {
  for (const char* layout : {"packed g2", "padded g2 al8", "masked g2 m4"}) {
    const std::string line = std::string("mlp.") + layout + " h64 i32 act=swiglu +bias +probs";
    CAPTURE(line);
    const std::int64_t room = layout[0] == 'm' ? 8 : 16;
    PlanCase c(line, {0, 0}, room);
    c.run();
    for (const char* name : {"y", "dx", "dprobs"}) {
      const std::vector<std::uint8_t>& bytes = c.data.at(name);
      CHECK(std::count(bytes.begin(), bytes.end(), 0xA5) == static_cast<std::ptrdiff_t>(bytes.size()));
    }
    for (const char* name : {"dw1", "dw2", "dbias1", "dbias2"}) {
      for (const double value : c.values(name)) REQUIRE(value == 0);
    }
  }
  PlanCase nothing("mlp.packed g2 h64 i32 act=swiglu", {0, 0}, 0);
  nothing.run();
  for (const double value : nothing.values("dw1")) REQUIRE(value == 0);
}

TEST_CASE("plan: tail rows of outputs stay as they were", "[plan]") {
  PlanCase c("mlp.padded g2 h64 i32 al32 act=swiglu +probs", {3, 5}, 50);
  c.run();
  const std::vector<bool> in_group = c.data.rows_in_groups();
  for (const char* name : {"y", "dx", "dprobs"}) {
    CAPTURE(name);
    const std::vector<std::uint8_t>& bytes = c.data.at(name);
    const std::size_t row_bytes = bytes.size() / 50;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (!in_group[i / row_bytes]) REQUIRE(bytes[i] == 0xA5);
    }
  }
}

TEST_CASE("plan: while noop is set quantized weights stay, and a forward reads them", "[plan]") {
  PlanCase c("linear.packed g2 n64 k64 +noop", {3, 5}, 8);
  c.run();
  const std::vector<double> first = c.values("y");
  std::fill(c.data.at("w").begin(), c.data.at("w").end(), std::uint8_t{0});
  c.data.at("noop")[0] = 1;
  c.run();
  const bool kept = c.values("y") == first;
  CHECK(kept);
  c.data.at("noop")[0] = 0;
  c.run();
  for (const double value : c.values("y")) REQUIRE(value == 0);
}

TEST_CASE("plan: weight gradients made later are those made at once", "[plan]") {
  const std::string line = "mlp.packed g2 h64 i32 act=swiglu";
  PlanCase at_once(line, {3, 130}, 140), later(line, {3, 130}, 140);
  at_once.run();
  for (const PlanPass pass : {PlanPass::quantize_weights, PlanPass::forward, PlanPass::backward_data}) later.run(pass);
  // Other tokens pass through the same scratch and weights meanwhile.
  PlanCase others(line, {70, 1}, 140);
  others.run();
  std::fill(later.scratch.begin(), later.scratch.end(), std::uint8_t{0xFF});
  std::fill(later.quantized_weights.begin(), later.quantized_weights.end(), std::uint8_t{0xFF});
  later.run(PlanPass::backward_weights);
  for (const char* name : {"dw1", "dw2"}) {
    const bool same = at_once.data.at(name) == later.data.at(name);
    CHECK(same);
  }
}

TEST_CASE("plan: a capacity whose columns no wgrad could read is refused by the forward already", "[plan]") {
  const std::int32_t sizes[8] = {};
  LinearTensors tensors;
  tensors.rows = {sizes, 2147482624, 0};
  const auto refused = [&](const char* line) -> std::string {
    try {
      reference::run(make_plan(PlanFacts::parse(line)), PlanPass::forward, tensors);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refused("linear.packed g8 n64 k64").find("more than 2147483135; split the call by groups") !=
        std::string::npos);
  CHECK(refused("linear.packed g8 n64 k64 +inference").find("x is null") != std::string::npos);
}

TEST_CASE("plan: tensors of another kind of plan are refused", "[plan]") {
  const auto refused = [](const char* line, const auto& tensors) {
    try {
      reference::run(make_plan(PlanFacts::parse(line)), PlanPass::forward, tensors);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused("linear.packed g2 n64 k64", MlpTensors{}).find("MlpTensors are those of a mlp plan") !=
        std::string::npos);
  CHECK(refused("mlp.packed g2 h64 i32 act=silu", LinearTensors{}).find("LinearTensors are those of a linear plan") !=
        std::string::npos);
}

TEST_CASE("plan: a buffer that is missing is named before anything is written", "[plan]") {
  const Plan plan = make_plan(PlanFacts::parse("linear.packed g2 n64 k64"));
  const std::int32_t sizes[2] = {1, 2}, negative[2] = {1, -2}, many[2] = {3, 2};
  std::vector<char> memory(1 << 20), x(512), y(512);  // 4 rows of 64
  const auto message_of = [&](const auto& change) -> std::string {
    LinearTensors tensors;
    tensors.rows = {sizes, 4, 0};
    tensors.memory = {memory.data(), memory.data(), memory.data(), memory.data()};
    tensors.x = x.data();
    tensors.y = y.data();
    change(tensors);
    try {
      reference::run(plan, PlanPass::forward, tensors);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      return error.what();
    }
    return "";
  };
  const auto names = [](const std::string& message, const char* what) {
    CAPTURE(message);
    return message.find(what) != std::string::npos;
  };
  CHECK(names(message_of([](LinearTensors& t) { t.x = nullptr; }), "x is null; pass 512 bytes"));
  CHECK(names(message_of([](LinearTensors& t) { t.y = nullptr; }), "y is null"));
  CHECK(names(message_of([](LinearTensors& t) { t.memory.saved = nullptr; }), "memory.saved is null"));
  CHECK(names(message_of([](LinearTensors& t) { t.memory.quantized_weights = nullptr; }), "memory.quantized_weights"));
  // As much as any pass needs, whichever noticed.
  const std::string scratch =
      "memory.scratch is null; pass " + std::to_string(plan.bytes(PlanRole::scratch, 4)) + " bytes, which is bytes(";
  CHECK(names(message_of([](LinearTensors& t) { t.memory.scratch = nullptr; }), scratch.c_str()));
  CHECK(names(message_of([](LinearTensors& t) { t.rows.splits = nullptr; }), "splits is null; pass the groups' sizes"));
  CHECK(names(message_of([](LinearTensors& t) { t.rows.capacity = -1; }), "capacity is -1"));
  CHECK(names(message_of([&](LinearTensors& t) { t.rows.splits = negative; }), "splits[1] is -2"));
  CHECK(names(message_of([&](LinearTensors& t) { t.rows.splits = many; }), "splits[1] is 2: its group would end"));
  const bool untouched = std::count(y.begin(), y.end(), 0) == static_cast<std::ptrdiff_t>(y.size());
  CHECK(untouched);
}
