// What a GEMM of the family refuses, by name and before anything is launched; impossible splits.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "tests/gpu/family_cells.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

const char* const kForward = "gemm.packed g4 n264 k400 a=e4m3:1x128 b=e4m3:128x128 d=bf16 +bias";
const Sizes kSizes = {33, 0, 129, 1};

// A good call, of which one thing at a time is made bad.
class Refusals {
 public:
  Refusals(const std::string& line, const Config* config, Random& random)
      : case_(family_case(line, kSizes, 20, random)), gemm_(prepare(case_.problem, config)), buffers_(case_) {}

  // "" when the call is refused with these words, D is as it was, and the good call is right afterwards.
  std::string fault_of(const std::function<void(GemmArgs&)>& spoil, const std::vector<std::string>& words,
                       Random& random) {
    GemmArgs args = buffers_.args(gemm_);
    spoil(args);
    buffers_.reset();
    const std::string wrong = refusal_fault([&] { gemm_.launch(args, stream_); }, ErrorCode::invalid_argument, words);
    if (!wrong.empty()) return wrong;
    stream_.synchronize();
    if (buffers_.read() != case_.old_d) return "D was written";
    return judge(case_, buffers_.run(gemm_), random, 64);
  }

  GemmArgs good() { return buffers_.args(gemm_); }

 private:
  static Gemm prepare(const Problem& problem, const Config* config) {
    Spec spec = select(problem, Runtime::device_facts(0));
    if (config != nullptr) spec.config = *config;
    return runtime().prepare_gemm(spec, 0);
  }

  FamilyCase case_;
  Gemm gemm_;
  FamilyBuffers buffers_;
  OwnedStream stream_;
};

// The kernel made for sm_90a, and the portable one: each checks on a way of its own.
const std::vector<const Config*>& both_kinds() {
  static const Config portable = PortableConfig{64, 128, 2, 4, 3};
  static const std::vector<const Config*> kinds = {nullptr, &portable};
  return kinds;
}

struct Impossible {
  std::string splits;  // of the problem
  std::vector<std::int64_t> values;
  std::vector<std::string> words;
};

// 162 rows of 3 groups.
std::vector<Impossible> impossible_splits() {
  return {{"i64", {5, -7, 1}, {"splits[1]", "-7"}},
          {"i32", {100, 100, 1}, {"splits[1]", "200", "162"}},
          {"i64", {std::int64_t{1} << 30, 1, 1}, {"splits[0]", "1073741824"}},
          {"i32/ends", {50, 40, 60}, {"splits[1]", "40"}},
          {"i32/ends", {50, 60, 163}, {"splits[2]", "163"}},
          {"i64/starts", {0, 60, 20, 90}, {"splits[2]", "20"}},
          {"i32/starts", {0, 60, 70, 190}, {"splits[3]", "190"}}};
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "errors: the family refuses null pointers, strides, capacities by name") {
  INFO(random.note());
  for (const Config* config : both_kinds()) {
    CAPTURE(config != nullptr);
    Refusals refusals(kForward, config, random);
    REQUIRE(refusals.fault_of([](GemmArgs& args) { args.bias = nullptr; }, {"bias is null"}, random) == "");
    REQUIRE(refusals.fault_of([](GemmArgs& args) { args.a.sf = nullptr; }, {"a.sf"}, random) == "");
    REQUIRE(refusals.fault_of([](GemmArgs& args) { args.b.data = nullptr; }, {"b.data"}, random) == "");
    REQUIRE(refusals.fault_of([](GemmArgs& args) { args.d = nullptr; }, {"d is"}, random) == "");
    REQUIRE(refusals.fault_of([](GemmArgs& args) { args.splits = nullptr; }, {"splits"}, random) == "");
    REQUIRE(refusals.fault_of([](GemmArgs& args) { args.capacity = -1; }, {"capacity", "-1"}, random) == "");
    REQUIRE(refusals.fault_of([](GemmArgs& args) { args.a_stride = 384; }, {"a_stride", "384"}, random) == "");
    REQUIRE(refusals.fault_of([](GemmArgs& args) { args.a_stride = 408; }, {"a_stride", "408"}, random) == "");
    REQUIRE(refusals.fault_of([](GemmArgs& args) { args.b_stride = -400; }, {"b_stride", "-400"}, random) == "");
    REQUIRE(refusals.fault_of([](GemmArgs& args) { args.d_stride = 268; }, {"d_stride", "268"}, random) == "");
    REQUIRE(refusals.fault_of([](GemmArgs& args) { args.d_stride = 128; }, {"d_stride", "128"}, random) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "F05: an operand of another layout is refused by name, every pass") {
  INFO(random.note());
  const OperandLayout columnwise{Layout::uniform, ScaleLayout::block2d, 0, true},
      rowwise{Layout::uniform, ScaleLayout::block2d, 0, false},
      swizzled{Layout::packed, ScaleLayout::swizzled, 0, false};
  for (const Config* config : both_kinds()) {
    CAPTURE(config != nullptr);
    Refusals forward(kForward, config, random);
    const GemmArgs good = forward.good();
    REQUIRE(forward.fault_of([&](GemmArgs& args) { args.b.layout = columnwise; },
                             {to_string(columnwise), to_string(good.b.layout)}, random) == "");
    REQUIRE(forward.fault_of([&](GemmArgs& args) { args.a.layout = swizzled; },
                             {to_string(swizzled), to_string(good.a.layout)}, random) == "");
    Refusals dgrad("gemm.packed g4 n272 k400 a=e4m3:1x128 b=e4m3:128x128 d=bf16 dir=col", config, random);
    REQUIRE(dgrad.fault_of([&](GemmArgs& args) { args.b.layout = rowwise; },
                           {to_string(rowwise), to_string(dgrad.good().b.layout)}, random) == "");
    Refusals wgrad("wgrad.packed g4 n272 k400 a=e4m3:1x128 b=e4m3:1x128 d=bf16", config, random);
    REQUIRE(wgrad.fault_of([&](GemmArgs& args) { args.a.layout = good.a.layout; },
                           {to_string(good.a.layout), to_string(wgrad.good().a.layout)}, random) == "");
  }
  Refusals mx("gemm.packed g4 n272 k400 a=e4m3:1x32 b=e4m3:1x32 d=bf16", nullptr, random);
  REQUIRE(mx.fault_of([&](GemmArgs& args) { args.a.layout = swizzled; }, {to_string(swizzled)}, random) == "");
}

TEST_CASE_METHOD(GpuTest, "F07: a masked buffer of another size is refused with both") {
  INFO(random.note());
  for (const Config* config : both_kinds()) {
    CAPTURE(config != nullptr);
    Refusals masked("gemm.masked g4 m144 n264 k400 a=e4m3:1x128 b=e4m3:128x128 d=bf16", config, random);
    for (const std::int64_t capacity : {144, 575, 1152}) {
      CAPTURE(capacity);
      const std::vector<std::string> words = {std::to_string(capacity), "576"};
      REQUIRE(masked.fault_of([&](GemmArgs& args) { args.capacity = capacity; }, words, random) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "errors: w=pointers takes one array, and no null in it") {
  INFO(random.note());
  Refusals forward("gemm.packed g4 n264 k400 a=e4m3:1x128 b=e4m3:128x128 d=bf16 w=pointers", nullptr, random);
  const GemmArgs good = forward.good();
  std::vector<const void*> with_null(good.b_data.host, good.b_data.host + 4), odd = with_null;
  with_null[2] = nullptr;
  odd[1] = static_cast<const std::uint8_t*>(odd[1]) + 1;
  REQUIRE(forward.fault_of([](GemmArgs& args) { args.b_data = {}; }, {"b_data"}, random) == "");
  REQUIRE(forward.fault_of([](GemmArgs& args) { args.b_sf = {}; }, {"b_sf"}, random) == "");
  REQUIRE(forward.fault_of([](GemmArgs& args) { args.b_data.device = args.b_data.host; }, {"b_data"}, random) == "");
  REQUIRE(forward.fault_of([&](GemmArgs& args) { args.b_data.host = with_null.data(); }, {"b_data", "[2]"}, random) ==
          "");
  REQUIRE(forward.fault_of([&](GemmArgs& args) { args.b_data.host = odd.data(); }, {"b_data", "[1]"}, random) == "");
  // Pointers on the host lie in the parameters; those on the device need the workspace.
  const auto on_device = [](GemmArgs& args) {
    args.b_data = {nullptr, static_cast<const void* const*>(args.a.data)};
    args.workspace = nullptr;
  };
  REQUIRE(forward.fault_of(on_device, {"workspace"}, random) == "");
  Refusals wgrad("wgrad.packed g4 n272 k400 a=e4m3:1x128 b=e4m3:1x128 d=bf16 w=pointers", nullptr, random);
  REQUIRE(wgrad.fault_of([](GemmArgs& args) { args.d_data = {}; }, {"d_data"}, random) == "");
  REQUIRE(wgrad.fault_of([](GemmArgs& args) { args.d_data.device = args.d_data.host; }, {"d_data"}, random) == "");
}

TEST_CASE_METHOD(GpuTest, "errors: +checked names the impossible split, and nothing is written outside") {
  INFO(random.note());
  for (const char* op : {"gemm", "wgrad"}) {
    const bool wgrad = std::string(op) == "wgrad";
    for (const Impossible& each : impossible_splits()) {
      for (const bool checked : {true, false}) {
        CAPTURE(op, each.splits, each.values, checked);
        const auto line = fmt::format("{}.packed g3 n272 k400 a=e4m3:1x128 b=e4m3:{} d=bf16 splits={}{}", op,
                                      wgrad ? "1x128" : "128x128", each.splits, checked ? " +checked" : "");
        // Every row may be used, so that what is read is a number.
        const FamilyCase gemm_case = family_case(line, {162, 0, 0}, 0, random);
        const Gemm gemm = runtime().prepare_gemm(gemm_case.problem, {0, 0});
        FamilyBuffers buffers(gemm_case);
        buffers.set_splits(each.values);
        buffers.run(gemm);  // throws when a guard was overwritten or the device is in error
        if (checked) {
          const std::string status = buffers.status();
          CAPTURE(status);
          for (const std::string& word : each.words) REQUIRE(contains(status, word));
        }
        buffers.set_splits(gemm_case.groups);
        REQUIRE(judge(gemm_case, buffers.run(gemm), random, 64) == "");
        if (checked) REQUIRE(buffers.status() == "");
      }
    }
  }
}

TEST_CASE_METHOD(GpuTest, "errors: +checked names a count over max_m of a masked buffer, wgmma and portable") {
  INFO(random.note());
  for (const Config* config : both_kinds()) {
    const Problem problem = Problem::parse("gemm.masked g3 m72 n272 k400 a=e4m3:1x128 b=e4m3:128x128 d=bf16 +checked");
    Spec spec = select(problem, Runtime::device_facts(0));
    if (config != nullptr) spec.config = *config;
    CAPTURE(to_string(spec.config));
    const FamilyCase gemm_case = family_case(problem, {72, 72, 72}, 0, random);
    const Gemm gemm = runtime().prepare_gemm(spec, 0);
    FamilyBuffers buffers(gemm_case);
    buffers.set_splits(std::vector<std::int64_t>{5, 73, 1});
    buffers.run(gemm);
    REQUIRE(contains(buffers.status(), "splits[1] is 73"));
    buffers.set_splits(std::vector<std::int64_t>{-1, 72, 1});
    buffers.run(gemm);
    REQUIRE(contains(buffers.status(), "splits[0] is -1"));
    buffers.set_splits(gemm_case.groups);
    REQUIRE(judge(gemm_case, buffers.run(gemm), random, 64) == "");
  }
}

}  // namespace octet::test
