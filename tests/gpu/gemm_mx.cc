// MXFP8 GEMMs against the reference: layouts, scale layouts, types, epilogues, every config; scales at the ends of
// their range, and NaN.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "octet/explain.h"
#include "octet/layout.h"
#include "tests/gpu/harness.h"
#include "tests/gpu/splits.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Sizes = std::vector<std::int64_t>;

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

// An operand as its quantizer writes it. What that leaves alone stays 0xFF: NaN as data and as a scale.
struct HostOperand {
  Bytes data, sf;
};

HostOperand quantized(const Problem& producer, const reference::GroupExtents& groups, std::int64_t capacity,
                      Random& random) {
  const QuantizeShape shape = quantize_shape(producer, capacity);
  std::vector<std::uint16_t> in(size(shape.rows * shape.in_columns));
  for (std::uint16_t& x : in)
    x = reference::to_bf16(random.normal() * std::exp2(static_cast<float>(random.integer(-3, 3))));
  const bool columnwise = producer.dir == Direction::col;
  const QuantizedBytes bytes = columnwise ? shape.col : shape.row;
  HostOperand operand{Bytes(size(bytes.data), 0xFF), Bytes(size(bytes.sf), 0xFF)};
  reference::QuantizeOutputs outputs;
  (columnwise ? outputs.data_col : outputs.data) = operand.data.data();
  (columnwise ? outputs.sf_col : outputs.sf) = operand.sf.data();
  reference::QuantizeInputs inputs;
  inputs.in = in.data();
  reference::quantize(producer, inputs, groups, capacity, outputs);
  return operand;
}

struct MxCase {
  Problem problem;
  reference::GroupExtents groups;
  std::int64_t capacity = 0;
  HostOperand a, b;
  Bytes bias, old_d;

  MxCase(const std::string& text, const Sizes& sizes, std::int64_t spare_rows, Random& random)
      : problem(Problem::parse(text)) {
    const bool masked = problem.layout == Layout::masked;
    groups = masked ? reference::masked_extents(sizes, problem.m) : reference::extents(sizes, problem.al);
    capacity = masked ? problem.g * problem.m : groups.end.back() + spare_rows;
    a = quantized(a_producer(problem), groups, capacity, random);
    const bool wgrad = problem.op == Operation::wgrad;
    const Problem b_quantizer = b_producer(problem);
    b = quantized(b_quantizer, wgrad ? groups : reference::uniform_extents(problem.g, b_quantizer.n),
                  wgrad ? capacity : 0, random);
    if (problem.has(Flag::bias)) bias = elements(problem.g * problem.n, random);
    if (problem.has(Flag::acc)) old_d = elements(d_elements(), random);
  }

  std::int64_t d_elements() const {
    return problem.op == Operation::wgrad ? problem.g * problem.n * problem.k : capacity * problem.n;
  }
  int d_size() const { return size_bytes(*problem.d); }
  // Of D's type.
  Bytes elements(std::int64_t count, Random& random) const {
    Bytes bytes(size(count * d_size()));
    for (std::int64_t i = 0; i < count; ++i) {
      const float value = random.normal();
      const std::uint16_t narrow = reference::to_bf16(value);
      std::memcpy(&bytes[size(i * d_size())], d_size() == 4 ? static_cast<const void*>(&value) : &narrow,
                  size(d_size()));
    }
    return bytes;
  }
};

// D's bytes after a launch.
Bytes run(const Gemm& gemm, const MxCase& mx) {
  const Buffer a(mx.a.data), sfa(mx.a.sf), b(mx.b.data), sfb(mx.b.sf), bias(mx.bias);
  const Splits form = mx.problem.splits;
  const bool dense = mx.problem.layout == Layout::dense, masked = mx.problem.layout == Layout::masked;
  Sizes values;
  for (std::size_t g = 0; masked && g < mx.groups.begin.size(); ++g) {
    values.push_back(mx.groups.end[g] - mx.groups.begin[g]);
  }
  if (!masked) values = reference::splits_array(mx.groups, form.form);
  const Buffer splits(splits_bytes(values, form.is_i64));
  const Buffer workspace(gemm.workspace_bytes(mx.capacity));
  Buffer d(size(mx.d_elements() * mx.d_size()));
  d.poison();
  if (!mx.old_d.empty()) d.upload(mx.old_d.data(), mx.old_d.size());
  GemmArgs args;
  args.a = {a.at(), sfa.at(), gemm.a_layout()};
  args.b = {b.at(), sfb.at(), gemm.b_layout()};
  args.d = d.at();
  if (!dense) args.splits = splits.at();
  args.capacity = mx.capacity;
  args.workspace = workspace.at();
  if (!mx.bias.empty()) args.bias = bias.at();
  const OwnedStream stream;
  gemm.launch(args, stream);
  stream.synchronize();
  const Buffer* const buffers[] = {&a, &sfa, &b, &sfb, &bias, &d, &splits, &workspace};
  for (const Buffer* buffer : buffers) {
    if (!buffer->guards_intact()) throw std::runtime_error("the launch wrote outside its buffers");
  }
  return d.values<std::uint8_t>();
}

std::string tail_fault(const MxCase& mx, const Bytes& d) {
  if (mx.problem.op == Operation::wgrad || !mx.old_d.empty()) return "";
  const std::int64_t row_bytes = mx.problem.n * mx.d_size();
  std::vector<bool> valid(size(mx.capacity));
  for (std::size_t g = 0; g < mx.groups.begin.size(); ++g) {
    std::fill(valid.begin() + mx.groups.begin[g], valid.begin() + mx.groups.end[g], true);
  }
  for (std::int64_t row = 0; row < mx.capacity; ++row) {
    const auto begin = d.begin() + row * row_bytes;
    if (valid[size(row)]) continue;
    if (std::any_of(begin, begin + row_bytes, [](std::uint8_t byte) { return byte != 0xFF; })) {
      return fmt::format("tail row {} was written", row);
    }
  }
  return "";
}

std::string fault(const Gemm& gemm, const MxCase& mx) {
  const Bytes d = run(gemm, mx);
  std::string tail = tail_fault(mx, d);
  if (!tail.empty()) return tail;
  reference::GemmInputs inputs;
  inputs.a = mx.a.data.data();
  inputs.a_sf = mx.a.sf.data();
  inputs.b = mx.b.data.data();
  inputs.b_sf = mx.b.sf.data();
  if (!mx.bias.empty()) inputs.bias = mx.bias.data();
  const auto threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const auto errors = reference::compare_gemm(mx.problem, inputs, mx.groups, mx.capacity, d.data(),
                                              mx.old_d.empty() ? nullptr : mx.old_d.data(), 8192, 1, threads);
  for (std::size_t g = 0; g < errors.size(); ++g) {
    if (reference::within_bounds(errors[g], *mx.problem.d)) continue;
    return fmt::format("{}: group {} of {} rows: relative error {:.3g}, metric {:.3g} over {} elements",
                       to_string(gemm.spec().config), g, mx.groups.end[g] - mx.groups.begin[g], errors[g].frobenius,
                       errors[g].metric, errors[g].samples);
  }
  return "";
}

// The forms of the kernel made for MXFP8: A through the workspace, and directly.
enum class Form { workspace, direct };
constexpr Form kForms[] = {Form::workspace, Form::direct};

// The best config of a form. For a tiny problem a portable one may be cheaper than all of them.
std::optional<Spec> best_of(const Problem& problem, Form form) {
  const Explanation explained = explain(problem, Runtime::device_facts(0));
  const Candidate* best = nullptr;
  for (const Candidate& candidate : explained.candidates) {
    const auto* config = std::get_if<MxConfig>(&candidate.spec.config);
    if (candidate.refused || config == nullptr || (config->direct > 0) != (form == Form::direct)) continue;
    if (best == nullptr || candidate.cost_us < best->cost_us) best = &candidate;
  }
  return best == nullptr ? std::nullopt : std::optional(best->spec);
}

std::string fault(const MxCase& mx, Form form) {
  const std::optional<Spec> spec = best_of(mx.problem, form);
  return spec ? fault(runtime().prepare_gemm(*spec), mx) : "no config of a form of the kernel made for MXFP8 is legal";
}

// By every form.
std::string fault(const MxCase& mx) {
  for (const Form form : kForms) {
    const std::string found = fault(mx, form);
    if (!found.empty()) return found;
  }
  return "";
}

// The byte is one that the quantizer wrote, not the poison of what belongs to no group.
void replace_scales(Bytes& sf, const std::vector<std::uint8_t>& by, double share, Random& random) {
  for (std::uint8_t& byte : sf) {
    if (byte != 0xFF && random.chance(share))
      byte = by[size(random.integer(0, static_cast<std::int64_t>(by.size()) - 1))];
  }
}

const Sizes kSizes = {100, 0, 300, 1, 257, 32, 513, 64};
const char* const kShape = " n320 k416 ";

}  // namespace

TEST_CASE_METHOD(GpuTest, "mx: layouts, scale layouts, types and epilogues of gemm") {
  INFO(random.note());
  for (const char* rest : {
           "packed g8{}a=e4m3:1x32 b=e4m3:1x32 d=bf16",
           "packed g8{}a=e4m3:1x32@swizzled b=e4m3:1x32@swizzled d=bf16 splits=i64/ends",
           "packed g8{}a=e5m2:1x32 b=e4m3:1x32@swizzled d=f32 +bias splits=i32/starts",
           "packed g8{}a=e4m3:1x32@swizzled b=e5m2:1x32 d=bf16 dir=col",
           "packed g8{}a=e4m3:1x32 b=e4m3:1x32@swizzled d=bf16 dir=col +acc",
           "packed g8{}a=e4m3:1x32 b=e4m3:32x32 d=fp16",
           "packed g8{}a=e4m3:1x32 b=e4m3:32x32 d=bf16 dir=col +bias",
           "padded g8{}al128 a=e4m3:1x32@swizzled b=e4m3:1x32 d=bf16",
           "padded g8{}al32 a=e4m3:1x32 b=e4m3:1x32@swizzled d=f32 +acc",
           "masked g8 m520{}a=e4m3:1x32 b=e4m3:1x32 d=bf16",
           "masked g8 m520{}a=e5m2:1x32@swizzled b=e4m3:1x32@swizzled d=f32",
       }) {
    const std::string text = "gemm." + fmt::format(fmt::runtime(rest), kShape);
    INFO(text);
    CHECK(fault(MxCase(text, kSizes, 37, random)) == "");
  }
  CHECK(fault(MxCase("gemm.dense g1 n320 k416 a=e4m3:1x32 b=e4m3:1x32 d=bf16", {700}, 0, random)) == "");
  CHECK(fault(MxCase("gemm.packed g2 n8 k16 a=e4m3:1x32 b=e4m3:1x32 d=bf16", {3, 40}, 5, random)) == "");
  CHECK(fault(MxCase("gemm.packed g2 n1024 k4096 a=e4m3:1x32 b=e4m3:1x32 d=bf16", {900, 1400}, 5, random)) == "");
}

TEST_CASE_METHOD(GpuTest, "mx: layouts, scale layouts, types and epilogues of wgrad") {
  INFO(random.note());
  for (const char* rest : {
           "packed g8{}a=e4m3:1x32 b=e4m3:1x32 d=f32",
           "packed g8{}a=e5m2:1x32 b=e4m3:1x32 d=f32 +acc splits=i64/ends",
           "packed g8{}a=e5m2:1x32@swizzled b=e4m3:1x32@swizzled d=bf16",
           "packed g8{}a=e4m3:1x32@swizzled b=e4m3:1x32 d=bf16 +acc",
           "padded g8{}al128 a=e4m3:1x32 b=e4m3:1x32@swizzled d=f32",
           "masked g8 m520{}a=e4m3:1x32 b=e4m3:1x32 d=f32",
           "masked g8 m520{}a=e4m3:1x32@swizzled b=e5m2:1x32@swizzled d=bf16",
       }) {
    const std::string text = "wgrad." + fmt::format(fmt::runtime(rest), kShape);
    INFO(text);
    CHECK(fault(MxCase(text, kSizes, 37, random)) == "");
  }
  CHECK(fault(MxCase("wgrad.dense g1 n320 k416 a=e4m3:1x32 b=e4m3:1x32 d=f32", {700}, 0, random)) == "");
}

TEST_CASE_METHOD(GpuTest, "mx: every config is right") {
  INFO(random.note());
  for (const char* text : {"gemm.packed g8 n320 k416 a=e4m3:1x32 b=e4m3:1x32 d=bf16",
                           "wgrad.packed g8 n320 k416 a=e4m3:1x32 b=e4m3:1x32 d=f32"}) {
    const MxCase mx(text, kSizes, 37, random);
    for (const Candidate& candidate : explain(mx.problem, Runtime::device_facts(0)).candidates) {
      if (candidate.refused || !std::holds_alternative<MxConfig>(candidate.spec.config)) continue;
      CHECK(fault(runtime().prepare_gemm(candidate.spec), mx) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "mx: scales at the ends of their range") {
  INFO(random.note());
  for (const char* text : {"gemm.packed g8 n320 k416 a=e4m3:1x32 b=e4m3:1x32 d=f32",
                           "gemm.packed g8 n320 k416 a=e5m2:1x32 b=e4m3:32x32 d=f32",
                           "wgrad.packed g8 n320 k416 a=e4m3:1x32 b=e5m2:1x32 d=f32"}) {
    INFO(text);
    for (const bool turned : {false, true}) {
      MxCase mx(text, kSizes, 37, random);
      replace_scales((turned ? mx.b : mx.a).sf, {244, 246, 247, 250, 254}, 1, random);
      replace_scales((turned ? mx.a : mx.b).sf, {0, 1, 2, 3, 9, 10}, 1, random);
      CHECK(fault(mx) == "");
      MxCase some(text, kSizes, 37, random);  // beside ordinary ones
      replace_scales((turned ? some.b : some.a).sf, {0, 1, 2}, 0.01, random);
      CHECK(fault(some) == "");
      MxCase large(text, kSizes, 37, random);  // by two multiplications
      replace_scales((turned ? large.b : large.a).sf, {134, 135, 142, 143, 200}, 1, random);
      replace_scales((turned ? large.a : large.b).sf, {60, 80}, 1, random);
      CHECK(fault(large) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "mx: NaN in data and scales reaches its own elements and no other") {
  INFO(random.note());
  for (const char* text : {"gemm.packed g8 n320 k416 a=e4m3:1x32 b=e4m3:1x32 d=bf16",
                           "gemm.packed g8 n320 k416 a=e5m2:1x32 b=e5m2:1x32 d=f32",
                           "wgrad.packed g8 n320 k416 a=e4m3:1x32 b=e4m3:1x32 d=f32"}) {
    INFO(text);
    for (int i = 0; i < 4; ++i) {
      MxCase mx(text, kSizes, 37, random);
      HostOperand& operand = i % 2 == 0 ? mx.a : mx.b;
      Bytes& bytes = i < 2 ? operand.data : operand.sf;
      for (int n = 0; n < 3;) {
        std::uint8_t& byte = bytes[size(random.integer(0, static_cast<std::int64_t>(bytes.size()) - 1))];
        if (byte == 0xFF || (i < 2 && (byte & 0x7F) == 0)) continue;
        byte = i < 2 ? 0x7F : 0xFF;
        ++n;
      }
      CHECK(fault(mx) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "mx: two runs agree bit for bit") {
  INFO(random.note());
  const MxCase mx("gemm.packed g8 n320 k416 a=e4m3:1x32 b=e4m3:1x32 d=bf16", kSizes, 37, random);
  for (const Form form : kForms) {
    const std::optional<Spec> spec = best_of(mx.problem, form);
    REQUIRE(spec);
    const Gemm gemm = runtime().prepare_gemm(*spec);
    CHECK(run(gemm, mx) == run(gemm, mx));
  }
}

TEST_CASE_METHOD(GpuTest, "mx: without a workspace, tiles of any width, K and rows", "[sanitizer]") {
  INFO(random.note());
  for (const char* text : {
           "gemm.packed g5 n8 k16 a=e4m3:1x32 b=e4m3:1x32 d=bf16",
           "gemm.packed g5 n136 k32 a=e5m2:1x32@swizzled b=e4m3:1x32 d=f32 +bias",
           "gemm.packed g5 n264 k144 a=e4m3:1x32@swizzled b=e4m3:1x32@swizzled d=bf16 +acc",
           "gemm.padded g5 n264 k1040 al16 a=e4m3:1x32 b=e5m2:32x32 d=fp16 splits=i64/starts",
           "gemm.masked g5 m300 n72 k2064 a=e4m3:1x32@swizzled b=e4m3:1x32 d=bf16 dir=col",
           "wgrad.packed g5 n72 k264 a=e4m3:1x32 b=e4m3:1x32 d=f32 +acc",
           "wgrad.padded g5 n264 k72 al128 a=e4m3:1x32@swizzled b=e5m2:1x32 d=bf16 splits=i32/ends",
           "wgrad.masked g5 m300 n136 k136 a=e4m3:1x32 b=e4m3:1x32@swizzled d=f32",
       }) {
    INFO(text);
    const MxCase mx(text, {0, 1, 257, 0, 129}, 37, random);
    for (const Candidate& candidate : explain(mx.problem, Runtime::device_facts(0), 0, true).candidates) {
      if (candidate.refused || !std::holds_alternative<MxConfig>(candidate.spec.config)) continue;
      const Gemm gemm = runtime().prepare_gemm(candidate.spec);
      CHECK(gemm.workspace_bytes(mx.capacity) == 0);
      CHECK(fault(gemm, mx) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "mx: the hint for no workspace prepares a kernel that takes none") {
  const Problem problem = Problem::parse("gemm.packed g8 n320 k416 a=e4m3:1x32 b=e4m3:1x32 d=bf16");
  Hints hints;
  hints.expected_m = 8192;
  const Gemm with = runtime().prepare_gemm(problem, hints);
  hints.no_workspace = true;
  const Gemm without = runtime().prepare_gemm(problem, hints);
  CHECK(without.workspace_bytes(1000) == 0);
  CHECK(runtime().prepare_gemm(problem, hints).spec() == without.spec());
  hints.no_workspace = false;
  CHECK(runtime().prepare_gemm(problem, hints).spec() == with.spec());
  INFO(random.note());
  CHECK(fault(without, MxCase(problem.to_string(), kSizes, 37, random)) == "");
}

}  // namespace octet::test
