// Octet's quantizers feed octet's GEMMs on the device: every pass and recipe, with the layouts that the kernels report.
#include <fmt/format.h>

#include "tests/gpu/family_cells.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

MutableOperand written_by(const Quantize& kernel, const QuantizeArgs& args) {
  return kernel.spec().problem.dir == Direction::col ? args.out_col : args.out;
}

QuantizedBytesOf operand_of(const Problem& producer, const Results& results) {
  if (producer.dir == Direction::col) return {results.data_col, results.sf_col};
  return {results.data, results.sf};
}

// Both quantizers and the GEMM on one stream, with no copy and no wait between them.
std::string pair_fault(const std::string& line, const Sizes& sizes, std::int64_t spare_rows, Random& random) {
  FamilyCase gemm_case = family_case(line, sizes, spare_rows, random);
  const Problem a_from = a_producer(gemm_case.problem), b_from = b_producer(gemm_case.problem);
  const QuantizeCase a_case = ordinary_case(a_from, sizes, spare_rows, random),
                     b_case = ordinary_case(b_from, sizes, spare_rows, random);
  const Quantize a_kernel = runtime().prepare_quantize(a_from, {0, 0}),
                 b_kernel = runtime().prepare_quantize(b_from, {0, 0});
  const Gemm gemm = runtime().prepare_gemm(gemm_case.problem, {0, 0});
  QuantizeBuffers a(a_case), b(b_case);
  const QuantizeArgs a_args = a.args(a_kernel), b_args = b.args(b_kernel);
  FamilyBuffers buffers(gemm_case);
  GemmArgs args = buffers.args(gemm);
  args.a = written_by(a_kernel, a_args);
  args.b = written_by(b_kernel, b_args);
  args.splits = a_args.splits;
  const OwnedStream stream;
  buffers.reset();
  a.poison();
  b.poison();
  b_kernel.launch(b_args, stream);
  a_kernel.launch(a_args, stream);
  gemm.launch(args, stream);
  stream.synchronize();
  const Results a_results = a.read(), b_results = b.read();
  for (const std::string& text : {difference(expected(a_case), a_results), difference(expected(b_case), b_results)}) {
    if (!text.empty()) return text;
  }
  QuantizedBytesOf of_a = operand_of(a_from, a_results), of_b = operand_of(b_from, b_results);
  gemm_case.a = std::move(of_a.data), gemm_case.a_sf = std::move(of_a.sf);
  gemm_case.b = std::move(of_b.data), gemm_case.b_sf = std::move(of_b.sf);
  return judge(gemm_case, buffers.read(), random);
}

const Sizes kRagged = {0, 1, 127, 128, 129, 31, 33, 0};

// Kernels whose operands lie in different ways, the sizes alike.
std::vector<Problem> unlike_problems() {
  std::vector<Problem> problems;
  for (const char* line : {"gemm.packed g4 n272 k400 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
                           "gemm.packed g4 n272 k400 a=e4m3:1x128@k_major b=e4m3:128x128@block2d_t d=bf16",
                           "gemm.padded g4 n272 k400 al32 a=e4m3:1x128 b=e4m3:1x128 d=bf16",
                           "gemm.masked g4 m144 n272 k400 a=e4m3:row b=e4m3:row d=bf16",
                           "gemm.packed g4 n272 k400 a=e4m3:1x128 b=e4m3:128x128 d=bf16 dir=col",
                           "gemm.packed g4 n272 k400 a=e4m3:1x32 b=e4m3:1x32@swizzled d=bf16",
                           "gemm.packed g4 n272 k400 a=e4m3:1x32@swizzled b=e4m3:32x32 d=bf16 dir=col",
                           "gemm.packed g4 n272 k400 a=e4m3:tensor b=e4m3:tensor d=bf16",
                           "wgrad.packed g4 n272 k400 a=e4m3:1x128 b=e4m3:1x128 d=bf16",
                           "wgrad.padded g4 n272 k400 al32 a=e4m3:1x32@swizzled b=e4m3:1x32 d=bf16"}) {
    problems.push_back(Problem::parse(line));
  }
  return problems;
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "producer-consumer-pairs: forward, every recipe pair and layout", "[named]") {
  INFO(random.note());
  for (const RecipePair& pair : recipe_pairs()) {
    for (std::size_t turn = 0; turn < pair.a.size(); ++turn) {
      for (const char* layout : {"packed g8", "padded g8 al32", "masked g8 m144"}) {
        const auto line =
            fmt::format("gemm.{} n272 k400 a=e4m3:{} b=e4m3:{} d=bf16", layout, pick(pair.a, turn), pick(pair.b, turn));
        CAPTURE(line);
        REQUIRE(pair_fault(line, kRagged, 77, random) == "");
      }
    }
  }
}

TEST_CASE_METHOD(GpuTest, "producer-consumer-pairs: dgrad and wgrad, every recipe pair", "[named]") {
  INFO(random.note());
  for (const char* layout : {"packed g8", "padded g8 al32", "masked g8 m144"}) {
    for (const std::string recipe : {"tensor", "row", "1x128", "1x32", "1x32@swizzled"}) {
      const auto pair = fmt::format(" a=e5m2:{} b=e4m3:{}", recipe, recipe);
      CAPTURE(layout, pair);
      REQUIRE(pair_fault(fmt::format("gemm.{} n272 k400{} d=bf16 dir=col", layout, pair), kRagged, 77, random) == "");
      REQUIRE(pair_fault(fmt::format("wgrad.{} n272 k400{} d=f32", layout, pair), kRagged, 77, random) == "");
    }
  }
  for (const char* line : {"gemm.packed g8 n272 k400 a=e4m3:1x128 b=e4m3:128x128 d=bf16 dir=col",
                           "gemm.packed g8 n272 k400 a=e4m3:1x32 b=e4m3:32x32 d=bf16 dir=col",
                           "wgrad.packed g8 n272 k400 a=e4m3:1x128 b=e4m3:128x128 d=bf16"}) {
    CAPTURE(line);
    REQUIRE(pair_fault(line, kRagged, 77, random) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "producer-consumer-pairs: one group with room past its rows, every pass", "[named]") {
  INFO(random.note());
  for (const char* line : {"gemm.packed g1 n272 k400 a=e4m3:1x32@swizzled b=e4m3:1x32@swizzled d=bf16",
                           "wgrad.packed g1 n272 k400 a=e4m3:1x32@swizzled b=e4m3:1x32@swizzled d=bf16",
                           "wgrad.packed g1 n272 k400 a=e4m3:1x128 b=e4m3:1x128 d=bf16",
                           "wgrad.packed g1 n272 k400 a=e4m3:tensor b=e4m3:tensor d=bf16"}) {
    for (const std::int64_t spare_rows : {0, 1, 256}) {
      CAPTURE(line, spare_rows);
      REQUIRE(pair_fault(line, {512}, spare_rows, random) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "producer-consumer-pairs: operands of any other layout are refused with both names",
                 "[named]") {
  INFO(random.note());
  const std::vector<Problem> problems = unlike_problems();
  std::vector<Gemm> kernels;
  for (const Problem& problem : problems) kernels.push_back(runtime().prepare_gemm(problem, {0, 0}));
  const OwnedStream stream;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const FamilyCase gemm_case = family_case(problems[i], {33, 0, 129, 1}, 20, random);
    FamilyBuffers buffers(gemm_case);
    const GemmArgs good = buffers.args(kernels[i]);
    const Quantize a = runtime().prepare_quantize(a_producer(problems[i]), {0, 0}),
                   b = runtime().prepare_quantize(b_producer(problems[i]), {0, 0});
    const auto layout_of = [](const Quantize& kernel) {
      return kernel.spec().problem.dir == Direction::col ? kernel.out_col_layout() : kernel.out_layout();
    };
    CAPTURE(problems[i].to_string());
    REQUIRE((layout_of(a) == good.a.layout));
    REQUIRE((layout_of(b) == good.b.layout));
    buffers.reset();
    for (const Gemm& other : kernels) {
      CAPTURE(other.spec().problem.to_string());
      const auto refusal_of = [&](Operand GemmArgs::*operand, const OperandLayout& layout) -> std::string {
        if (layout == (good.*operand).layout) return "";
        GemmArgs args = good;
        (args.*operand).layout = layout;
        return refusal_fault([&] { kernels[i].launch(args, stream); }, ErrorCode::invalid_argument,
                             {to_string(layout), to_string((good.*operand).layout)});
      };
      REQUIRE(refusal_of(&GemmArgs::a, other.a_layout()) == "");
      REQUIRE(refusal_of(&GemmArgs::b, other.b_layout()) == "");
    }
    stream.synchronize();
    REQUIRE((buffers.read() == gemm_case.old_d));
    REQUIRE(judge(gemm_case, buffers.run(kernels[i]), random, 64) == "");
  }
}

}  // namespace octet::test
