// What is refused is refused by name, before anything is launched, and the next good call works.
#include <filesystem>
#include <fstream>

#include "runtime/render.h"
#include "tests/gpu/gemm_case.h"
#include "tests/gpu/quantize_judge.h"
#include "tests/gpu/splits.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

const void* moved(const void* pointer, std::ptrdiff_t bytes) {
  return static_cast<const std::uint8_t*>(pointer) + bytes;
}
void* moved(void* pointer, std::ptrdiff_t bytes) { return static_cast<std::uint8_t*>(pointer) + bytes; }

GemmData small_gemm(Random& random) { return random_gemm(packed_gemm(4, 256, 256), {33, 0, 129, 1}, 20, random); }

// Refused naming `name`, D untouched, and a good call afterwards is right.
void require_refused(const Gemm& gemm, const GemmData& data, GemmBuffers& buffers, const GemmArgs& args,
                     const std::string& name, Random& random) {
  CAPTURE(name);
  const OwnedStream stream;
  buffers.d.poison();
  REQUIRE(refusal_fault([&] { gemm.launch(args, stream); }, ErrorCode::invalid_argument, {name}) == "");
  stream.synchronize();
  const Bf16 d = buffers.read_d();
  REQUIRE(std::all_of(d.begin(), d.end(), [](std::uint16_t bits) { return bits == 0xFFFF; }));
  REQUIRE(fault(data, buffers.run(gemm), random, 64) == "");
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "B28: a GEMM refuses misaligned pointers by name") {
  INFO(random.note());
  const GemmData data = small_gemm(random);
  const Gemm gemm = runtime().prepare(data.problem);
  GemmBuffers buffers(data);
  const GemmArgs good = buffers.args(gemm);
  for (const std::ptrdiff_t bytes : {1, 4, 8}) {
    CAPTURE(bytes);
    GemmArgs args = good;
    args.a.data = moved(good.a.data, bytes);
    require_refused(gemm, data, buffers, args, "a.data is", random);
    args = good;
    args.a.sf = moved(good.a.sf, bytes);
    require_refused(gemm, data, buffers, args, "a.sf is", random);
    args = good;
    args.b.data = moved(good.b.data, bytes);
    require_refused(gemm, data, buffers, args, "b.data is", random);
    args = good;
    args.d = moved(good.d, bytes);
    require_refused(gemm, data, buffers, args, "d is", random);
  }
  GemmArgs args = good;
  args.b.sf = moved(good.b.sf, 1);
  require_refused(gemm, data, buffers, args, "b.sf is", random);
  args = good;
  args.splits = moved(good.splits, 1);
  require_refused(gemm, data, buffers, args, "splits is", random);
}

TEST_CASE_METHOD(GpuTest, "B28: a quantizer refuses misaligned pointers by name") {
  INFO(random.note());
  const QuantizeCase quantize = awkward_case(token_problem(4, 256), {0, 70, 1, 60}, 10, random);
  const Quantize kernel = runtime().prepare_quantize(quantize.problem);
  QuantizeBuffers buffers(quantize);
  const QuantizeArgs good = buffers.args(kernel);
  const OwnedStream stream;
  const auto refused = [&](const QuantizeArgs& args, const std::string& name) {
    return refusal_fault([&] { kernel.launch(args, stream); }, ErrorCode::invalid_argument, {name});
  };
  for (const std::ptrdiff_t bytes : {1, 4, 8}) {
    CAPTURE(bytes);
    QuantizeArgs args = good;
    args.in = moved(good.in, bytes);
    REQUIRE(refused(args, "in is") == "");
    args = good;
    args.out.data = moved(good.out.data, bytes);
    REQUIRE(refused(args, "out.data is") == "");
    args = good;
    args.out.sf = moved(good.out.sf, bytes);
    REQUIRE(refused(args, "out.sf is") == "");
    REQUIRE(difference(expected(quantize), buffers.run(kernel)) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "B28: every pointer of a fused quantizer is looked at") {
  INFO(random.note());
  const Problem problem = Problem::parse(
      "quantize.packed g4 c256 in=bf16 act=swiglu out=e4m3:tensor dir=row,col +bias +probs +grad +dbias +amax +noop");
  const QuantizeCase quantize = ordinary_case(problem, {0, 70, 1, 60}, 10, random);
  const Quantize kernel = runtime().prepare_quantize(problem);
  QuantizeBuffers buffers(quantize);
  const QuantizeArgs good = buffers.args(kernel);
  const OwnedStream stream;
  const auto refused = [&](const QuantizeArgs& args, const std::string& name) {
    return refusal_fault([&] { kernel.launch(args, stream); }, ErrorCode::invalid_argument, {name});
  };
  // Each pointer null, then off its alignment.
  const auto require_both = [&](auto QuantizeArgs::*member, const std::string& name) {
    CAPTURE(name);
    QuantizeArgs args = good;
    args.*member = nullptr;
    REQUIRE(refused(args, name) == "");
    args = good;
    using Pointer = std::remove_reference_t<decltype(args.*member)>;
    args.*member = static_cast<Pointer>(const_cast<void*>(moved(static_cast<const void*>(good.*member), 2)));
    REQUIRE(refused(args, name) == "");
  };
  require_both(&QuantizeArgs::in, "in is");
  require_both(&QuantizeArgs::pre, "pre is");
  require_both(&QuantizeArgs::bias, "bias is");
  require_both(&QuantizeArgs::probs, "probs is");
  require_both(&QuantizeArgs::dprobs, "dprobs is");
  require_both(&QuantizeArgs::dbias, "dbias is");
  require_both(&QuantizeArgs::amax, "amax is");
  require_both(&QuantizeArgs::noop, "noop is");
  require_both(&QuantizeArgs::splits, "splits is");
  QuantizeArgs args = good;
  args.out_col.data = nullptr;
  REQUIRE(refused(args, "out_col.data is") == "");
  args = good;
  args.out_col.layout = good.out.layout;
  REQUIRE(refused(args, to_string(good.out_col.layout)) == "");
  REQUIRE(judge(quantize, buffers.run(kernel)) == "");
}

TEST_CASE_METHOD(GpuTest, "errors: null pointers are refused by name where there is something to read or write") {
  INFO(random.note());
  const GemmData data = small_gemm(random);
  const Gemm gemm = runtime().prepare(data.problem);
  GemmBuffers buffers(data);
  const GemmArgs good = buffers.args(gemm);
  GemmArgs args = good;
  args.a.data = nullptr;
  require_refused(gemm, data, buffers, args, "a.data is", random);
  args = good;
  args.b.sf = nullptr;
  require_refused(gemm, data, buffers, args, "b.sf is", random);
  args = good;
  args.d = nullptr;
  require_refused(gemm, data, buffers, args, "d is", random);
  args = good;
  args.splits = nullptr;
  require_refused(gemm, data, buffers, args, "splits is", random);
  args = good;
  args.capacity = -1;
  require_refused(gemm, data, buffers, args, "capacity", random);
}

TEST_CASE_METHOD(GpuTest, "errors: an operand of another layout is refused by name") {
  INFO(random.note());
  const GemmData data = small_gemm(random);
  const Gemm gemm = runtime().prepare(data.problem);
  GemmBuffers buffers(data);
  const GemmArgs good = buffers.args(gemm);
  const OperandLayout padded{Layout::padded, ScaleLayout::mn_major, 128},
      by_rows{Layout::packed, ScaleLayout::k_major, 0};
  for (const OperandLayout& other : {padded, by_rows, good.b.layout}) {
    GemmArgs args = good;
    args.a.layout = other;
    require_refused(gemm, data, buffers, args, to_string(other), random);
    require_refused(gemm, data, buffers, args, to_string(good.a.layout), random);
  }
  GemmArgs args = good;
  args.b.layout = good.a.layout;
  require_refused(gemm, data, buffers, args, to_string(good.a.layout), random);

  const Quantize quantize = runtime().prepare_quantize(token_problem(4, 256));
  QuantizeBuffers outputs(awkward_case(token_problem(4, 256), {1, 2, 3, 4}, 0, random));
  QuantizeArgs quantize_args = outputs.args(quantize);
  quantize_args.out.layout = padded;
  const OwnedStream stream;
  REQUIRE(refusal_fault([&] { quantize.launch(quantize_args, stream); }, ErrorCode::invalid_argument,
                        {to_string(padded)}) == "");
}

TEST_CASE_METHOD(GpuTest, "errors: impossible sizes stay inside the buffers and leave the device usable",
                 "[sanitizer]") {
  INFO(random.note());
  GemmProblem problem = packed_gemm(3, 136, 272);
  problem.splits.is_i64 = true;
  GemmData data = random_gemm(problem, {150, 0, 0}, 0, random);  // every row may be used
  const Gemm gemm = runtime().prepare(problem);
  GemmBuffers buffers(data);
  const std::vector<std::vector<std::int64_t>> impossible = {{-5, -1, -1},
                                                             {100, 100, 100},
                                                             {151, 0, 0},
                                                             {0, -100, 40},
                                                             {std::int64_t{1} << 40, 1, 1},
                                                             {INT64_MIN, INT64_MAX, 1},
                                                             {INT64_MAX, INT64_MAX, INT64_MAX}};
  for (const auto& sizes : impossible) {
    CAPTURE(sizes);
    buffers.set_splits(sizes);
    buffers.run(gemm);  // throws when a guard was overwritten or the device is in error
  }
  buffers.set_splits(data.groups);
  REQUIRE(fault(data, buffers.run(gemm), random) == "");
}

TEST_CASE_METHOD(GpuTest, "errors: a negative size counts as an empty group") {
  INFO(random.note());
  GemmData data = random_gemm(packed_gemm(4, 256, 256), {60, 0, 70, 0}, 40, random);
  const Gemm gemm = runtime().prepare(data.problem);
  GemmBuffers buffers(data);
  buffers.set_splits(std::vector<std::int64_t>{60, -7, 70, -1});
  REQUIRE(fault(data, buffers.run(gemm), random) == "");
}

TEST_CASE_METHOD(GpuTest, "errors: a quantizer with impossible sizes stays inside the buffers") {
  INFO(random.note());
  const std::vector<std::vector<std::int32_t>> impossible = {{-5, -1, -1, -1},
                                                             {100, 100, 100, 100},
                                                             {0, -100, 40, 0},
                                                             {INT32_MAX, INT32_MAX, INT32_MAX, 1},
                                                             {INT32_MIN, 9, 9, 9}};
  for (const char* kind : {"out=e4m3:1x128", "out=e4m3:1x128 dir=row,col", "out=e4m3:1x32@swizzled dir=row,col",
                           "out=e4m3:tensor", "out=e4m3:row dir=col", "out=e4m3:1x128 act=swiglu +grad +dbias"}) {
    CAPTURE(kind);
    const Problem problem = Problem::parse(std::string("quantize.packed g4 c256 in=bf16 ") + kind);
    const QuantizeCase quantize = awkward_case(problem, {131, 0, 0, 0}, 0, random);
    const Quantize kernel = runtime().prepare_quantize(problem);
    QuantizeBuffers buffers(quantize);
    for (const auto& sizes : impossible) {
      CAPTURE(sizes);
      buffers.splits.upload(sizes.data(), sizes.size() * sizeof(std::int32_t));
      buffers.run(kernel);
    }
    const std::vector<std::int32_t> good = {131, 0, 0, 0};
    buffers.splits.upload(good.data(), good.size() * sizeof(std::int32_t));
    REQUIRE(judge(quantize, buffers.run(kernel)) == "");
  }
}

// Ends or starts that go down: groups would overlap, and what is counted per group would not fit its buffer.
TEST_CASE_METHOD(GpuTest, "errors: a quantizer with decreasing ends or starts stays inside the buffers",
                 "[sanitizer]") {
  INFO(random.note());
  for (const char* line : {"quantize.packed g8 c128 in=bf16 out=e4m3:1x128 dir=col splits=i32/ends",
                           "quantize.packed g65 c128 in=bf16 out=e4m3:1x128 dir=row,col splits=i32/ends",
                           "quantize.padded g65 c128 al16 in=bf16 out=e4m3:1x32 dir=col splits=i64/ends",
                           "quantize.packed g65 c128 in=bf16 out=e4m3:1x32@swizzled splits=i32/starts",
                           "quantize.packed g8 c128 in=bf16 out=e4m3:1x32 dir=col splits=i64/starts",
                           "quantize.packed g65 c128 in=bf16 out=e4m3:tensor splits=i32/starts",
                           "quantize.packed g65 c128 in=bf16 out=e4m3:row dir=col splits=i64/ends",
                           "quantize.packed g65 c128 in=bf16 out=e4m3:1x128 +grad +dbias splits=i32/ends"}) {
    CAPTURE(line);
    const Problem problem = Problem::parse(line);
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(problem.g), 0);
    sizes[1] = 700;
    const QuantizeCase quantize = awkward_case(problem, sizes, 68, random);
    const Quantize kernel = runtime().prepare_quantize(problem);
    QuantizeBuffers buffers(quantize);
    std::vector<std::int64_t> up_and_down;
    const std::int64_t values = problem.g + (problem.splits.form == SplitsForm::starts ? 1 : 0);
    for (std::int64_t i = 0; i < values; ++i) up_and_down.push_back(i % 2 == 0 ? 768 : 0);
    const std::vector<std::uint8_t> bytes = splits_bytes(up_and_down, problem.splits.is_i64);
    buffers.splits.upload(bytes.data(), bytes.size());
    buffers.run(kernel);
    const std::vector<std::uint8_t> good =
        splits_bytes(reference::splits_array(quantize.groups, problem.splits.form), problem.splits.is_i64);
    buffers.splits.upload(good.data(), good.size());
    REQUIRE(judge(quantize, buffers.run(kernel)) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "D16: a compile error reaches the caller whole, is not cached, and the next call works") {
  INFO(random.note());
  const GemmProblem problem = packed_gemm(4, 256, 256);
  const TemporaryDirectory folder;
  std::filesystem::create_directory(folder.path() / "templates");
  for (const auto& [name, text] : embedded_templates()) {
    std::ofstream(folder.path() / "templates" / name) << text << "\nthis_is_no_declaration;\n";
  }
  Options options = options_with_cache(folder.path() / "cache");
  options.template_dir = (folder.path() / "templates").string();
  {
    Runtime broken(options);
    for (int attempt = 0; attempt < 2; ++attempt) {
      const Spec spec = select(problem.to_problem(), Runtime::device_facts(0));
      REQUIRE(refusal_fault([&] { broken.prepare(problem); }, ErrorCode::compile_failed,
                            {spec.name(), "this_is_no_declaration"}) == "");
      REQUIRE(broken.statistics().compiled == 0);
      REQUIRE(broken.statistics().cache_hits == 0);
    }
  }
  options.template_dir.clear();
  Runtime whole(options);
  REQUIRE(fault(whole.prepare(problem), random_gemm(problem, {33, 0, 129, 1}, 20, random), random) == "");
}

TEST_CASE_METHOD(GpuTest, "errors: prepare and launch leave the current context as they found it") {
  INFO(random.note());
  const GemmData data = small_gemm(random);
  GemmBuffers buffers(data);
  const OwnedStream stream;
  CUcontext current = nullptr;

  check(Driver::get().cuCtxSetCurrent(nullptr), "cuCtxSetCurrent");
  const Gemm gemm = runtime().prepare(data.problem, {0, 0});
  gemm.launch(buffers.args(gemm), stream);
  check(Driver::get().cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  use_device();
  REQUIRE(current == nullptr);
  stream.synchronize();
  REQUIRE(fault(data, buffers.read_d(), random) == "");
}

TEST_CASE_METHOD(GpuTest, "launch: the default stream is a stream") {
  INFO(random.note());
  const GemmData data = small_gemm(random);
  const Gemm gemm = runtime().prepare(data.problem);
  const GemmBuffers buffers(data);
  gemm.launch(buffers.args(gemm), nullptr);
  REQUIRE(fault(data, buffers.read_d(), random) == "");  // a copy on the default stream waits for it
}

}  // namespace octet::test
