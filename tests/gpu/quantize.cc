// Sizes, numbers of groups, splits and layouts of the quantizers, and every amax. Bit for bit against the oracle.
#include <algorithm>

#include <fmt/format.h>

#include "tests/gpu/elements.h"
#include "tests/gpu/quantize_judge.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

constexpr std::int64_t kPositivePatterns = 32768;  // of bf16: zero, subnormal, ordinary, infinity, NaN

// Largest magnitude `amax` at a random place; the others are random below it; signs are random.
void fill_block(Bytes& values, std::int64_t first, std::int64_t count, std::uint32_t amax, Random& random) {
  const auto sign = [&] { return random.chance(0.5) ? 0x8000U : 0U; };
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint32_t>(random.integer(0, amax));
    set_element_bits(DType::bf16, values.data(), first + i, bits | sign());
  }
  set_element_bits(DType::bf16, values.data(), first + random.integer(0, count - 1), amax | sign());
}

Problem tokens(std::int64_t groups, std::int64_t columns, const std::string& rest) {
  return Problem::parse(fmt::format("quantize.packed g{} c{} in=bf16 {}", groups, columns, rest));
}

// One per kernel that finds its groups in a way of its own.
const std::vector<std::string> kKinds = {"out=e4m3:1x128", "out=e4m3:1x128 dir=row,col", "out=e4m3:1x32 dir=col",
                                         "out=e4m3:tensor", "out=e4m3:row dir=col"};

}  // namespace

TEST_CASE_METHOD(GpuTest, "quantize rows: packed, every width") {
  INFO(random.note());
  for (const std::int64_t columns : {128, 144, 512, 1152, 2048, 2880, 7168}) {
    CAPTURE(columns);
    const Problem problem = token_problem(8, columns);
    REQUIRE(fault(awkward_case(problem, {0, 1, 127, 128, 129, 0, 33, 2}, 45, random)) == "");
    REQUIRE(fault(awkward_case(problem, {0, 0, 0, 0, 0, 0, 0, 3}, 0, random)) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "quantize rows: small and ragged", "[sanitizer]") {
  INFO(random.note());
  REQUIRE(fault(awkward_case(token_problem(4, 272), {5, 0, 20, 1}, 3, random)) == "");
}

TEST_CASE_METHOD(GpuTest, "quantize: padded groups, gaps untouched") {
  INFO(random.note());
  for (const std::int64_t alignment : {8, 128}) {
    for (const std::string& kind : kKinds) {
      CAPTURE(alignment, kind);
      Problem problem = tokens(6, 576, kind);
      problem.layout = Layout::padded;
      problem.al = alignment;
      REQUIRE(fault(awkward_case(problem, {1, 0, 127, 128, 129, 9}, 2 * alignment + 3, random)) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "quantize: masked groups of any max_m, rows past a count untouched") {
  INFO(random.note());
  for (const std::int64_t most : {1, 2, 31, 64, 130}) {
    for (const std::string& kind : kKinds) {
      CAPTURE(most, kind);
      Problem problem = tokens(5, 272, kind);
      problem.layout = Layout::masked;
      problem.m = most;
      REQUIRE(fault(awkward_case(problem, {1, most, 0, most / 2, most}, 0, random)) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "quantize: splits in every form") {
  INFO(random.note());
  for (const char* form : {"i32", "i64", "i32/ends", "i64/ends", "i32/starts", "i64/starts"}) {
    for (const std::string& kind : kKinds) {
      CAPTURE(form, kind);
      const Problem problem = tokens(4, 256, kind + " splits=" + form);
      REQUIRE(fault(awkward_case(problem, {0, 70, 1, 60}, 10, random)) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "quantize: counts of masked groups as i64") {
  INFO(random.note());
  const Problem problem = Problem::parse("quantize.masked g4 m72 c256 in=bf16 out=e4m3:1x128 splits=i64");
  REQUIRE(fault(awkward_case(problem, {0, 70, 1, 72}, 0, random)) == "");
}

TEST_CASE_METHOD(GpuTest, "quantize: capacity 0 of masked and uniform groups is what their layout has") {
  INFO(random.note());
  for (const char* line : {"quantize.masked g3 m40 c144 in=bf16 out=e4m3:1x128 dir=row,col",
                           "quantize.uniform g3 n48 k144 in=bf16 out=e4m3:128x128 dir=row,col"}) {
    CAPTURE(line);
    const QuantizeCase quantize = awkward_case(Problem::parse(line), {40, 0, 7}, 0, random);
    const Quantize kernel = runtime().prepare_quantize(quantize.problem);
    QuantizeBuffers buffers(quantize);
    QuantizeArgs args = buffers.args(kernel);
    args.capacity = 0;
    const OwnedStream stream;
    kernel.launch(args, stream);
    stream.synchronize();
    REQUIRE(judge(quantize, buffers.read()) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "B02: quantizers without any tokens") {
  INFO(random.note());
  for (const std::int64_t groups : {1, 8, 256}) {
    for (const std::string& kind :
         {kKinds[0], kKinds[1], kKinds[2], kKinds[3], kKinds[4], std::string("out=e4m3:1x128 act=swiglu dir=row,col"),
          std::string("out=e4m3:1x32 act=gelu +grad dir=row,col")}) {
      CAPTURE(groups, kind);
      const Problem problem = tokens(groups, 128, kind);
      const Sizes none(static_cast<std::size_t>(groups), 0);
      REQUIRE(fault(awkward_case(problem, none, 100, random)) == "");
      Sizes some = none;
      some.back() = 4;
      REQUIRE(fault(awkward_case(problem, some, 1, random)) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "quantize: buffers of no rows, with null pointers") {
  INFO(random.note());
  for (const std::string& kind : kKinds) {
    CAPTURE(kind);
    const Problem problem = tokens(3, 128, kind);
    const Quantize kernel = runtime().prepare_quantize(problem);
    QuantizeArgs args;
    args.out.layout = kernel.out_layout();
    args.out_col.layout = kernel.out_col_layout();
    const OwnedStream stream;
    kernel.launch(args, stream);
    stream.synchronize();
    REQUIRE(fault(kernel, awkward_case(problem, {1, 0, 3}, 1, random)) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "B13: quantizers with any number of groups") {
  INFO(random.note());
  for (const std::int64_t groups : {1, 31, 32, 33, 64, 256, 257, 512, 1024}) {
    Sizes sizes;
    for (std::int64_t g = 0; g < groups; ++g) sizes.push_back(random.integer(0, groups > 64 ? 20 : 128));
    for (const std::string& kind : kKinds) {
      CAPTURE(groups, kind);
      REQUIRE(fault(awkward_case(tokens(groups, 128, kind), sizes, 5, random)) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "B13: more groups than kernels take are refused with the limit") {
  REQUIRE(refusal_fault([] { runtime().prepare_quantize(token_problem(1025, 128)); }, ErrorCode::invalid_problem,
                        {"1024"}) == "");
}

TEST_CASE_METHOD(GpuTest, "quantize rows: every bf16 amax") {
  INFO(random.note());
  for (const char* recipe : {"e4m3:1x128", "e5m2:1x128", "e4m3:1x128:pow2"}) {
    CAPTURE(recipe);
    const Problem problem = tokens(1, 512, std::string("out=") + recipe);
    QuantizeCase quantize = ordinary_case(problem, {kPositivePatterns / 4}, 0, random);
    for (std::int64_t pattern = 0; pattern < kPositivePatterns; ++pattern) {
      fill_block(quantize.in, pattern * 128, 128, static_cast<std::uint32_t>(pattern), random);
    }
    REQUIRE(fault(quantize) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "A08: every bf16 amax of 1x32, and the exact powers with their neighbours in f32") {
  INFO(random.note());
  const Problem problem = tokens(1, 512, "out=e4m3:1x32");
  QuantizeCase quantize = ordinary_case(problem, {kPositivePatterns / 16}, 0, random);
  for (std::int64_t pattern = 0; pattern < kPositivePatterns; ++pattern) {
    fill_block(quantize.in, pattern * 32, 32, static_cast<std::uint32_t>(pattern), random);
  }
  REQUIRE(fault(quantize) == "");

  constexpr std::uint32_t kLargest = 0x600000;  // the mantissa of 448 and of 57344
  for (const char* out : {"e4m3", "e5m2"}) {
    CAPTURE(out);
    const Problem wide = Problem::parse(fmt::format("quantize.packed g1 c32 in=f32 out={}:1x32", out));
    QuantizeCase powers = ordinary_case(wide, {3 * 256}, 0, random);
    std::fill(powers.in.begin(), powers.in.end(), std::uint8_t{0});
    for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
      for (std::uint32_t around = 0; around < 3; ++around) {
        const std::uint32_t bits = std::max((exponent << 23 | kLargest) + around, 1U) - 1;
        set_element_bits(DType::f32, powers.in.data(), (exponent * 3 + around) * 32 + 7, bits);
      }
    }
    REQUIRE(fault(powers) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "quantize blocks: every shape", "[sanitizer]") {
  INFO(random.note());
  for (const Problem& problem : {weight_problem(3, 136, 272), weight_problem(1, 8, 16), weight_problem(2, 128, 128)}) {
    CAPTURE(problem.to_string());
    REQUIRE(fault(awkward_case(problem, {}, 0, random)) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "quantize blocks: weights of real sizes") {
  INFO(random.note());
  for (const Problem& problem :
       {weight_problem(4, 576, 2880), weight_problem(2, 2112, 1152), weight_problem(1, 7168, 2048)}) {
    CAPTURE(problem.to_string());
    REQUIRE(fault(awkward_case(problem, {}, 0, random)) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "quantize blocks: every bf16 amax") {
  INFO(random.note());
  // Blocks of 8 rows keep the oracle's work small; one row of each holds its maximum.
  constexpr std::int64_t kBlocks = 256, kRows = 8, kGroups = kPositivePatterns / kBlocks;
  QuantizeCase quantize = ordinary_case(weight_problem(kGroups, kRows, kBlocks * 128), {}, 0, random);
  std::fill(quantize.in.begin(), quantize.in.end(), std::uint8_t{0});
  for (std::int64_t pattern = 0; pattern < kPositivePatterns; ++pattern) {
    const std::int64_t row = pattern / kBlocks * kRows + random.integer(0, kRows - 1);
    fill_block(quantize.in, (row * kBlocks + pattern % kBlocks) * 128, 128, static_cast<std::uint32_t>(pattern),
               random);
  }
  REQUIRE(fault(quantize) == "");
}

}  // namespace octet::test
