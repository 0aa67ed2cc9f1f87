// The quantizers, bit for bit against the oracle.
#include <algorithm>

#include "tests/gpu/quantize_case.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

using Sizes = std::vector<std::int64_t>;
constexpr std::int64_t kPositivePatterns = 32768;  // of bf16: zero, subnormal, ordinary, infinity, NaN

// Largest magnitude `amax` at a random place; the others are random below it; signs are random.
void fill_block(std::uint16_t* to, std::int64_t count, std::uint16_t amax, Random& random) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<std::uint16_t>(random.integer(0, amax) | (random.chance(0.5) ? 0x8000 : 0));
  }
  to[random.integer(0, count - 1)] = static_cast<std::uint16_t>(amax | (random.chance(0.5) ? 0x8000 : 0));
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "quantize rows: packed, every width") {
  INFO(random.note());
  for (const std::int64_t columns : {128, 144, 512, 1152, 2048, 2880, 7168}) {
    CAPTURE(columns);
    const QuantizeProblem problem = token_problem(8, columns);
    REQUIRE(fault(awkward_tokens(problem, {0, 1, 127, 128, 129, 0, 33, 2}, 45, random)) == "");
    REQUIRE(fault(awkward_tokens(problem, {0, 0, 0, 0, 0, 0, 0, 3}, 0, random)) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "quantize rows: small and ragged", "[sanitizer]") {
  INFO(random.note());
  REQUIRE(fault(awkward_tokens(token_problem(4, 272), {5, 0, 20, 1}, 3, random)) == "");
}

TEST_CASE_METHOD(GpuTest, "quantize rows: padded groups, gaps untouched") {
  INFO(random.note());
  for (const std::int64_t alignment : {8, 128}) {
    CAPTURE(alignment);
    QuantizeProblem problem = token_problem(6, 576);
    problem.layout = Layout::padded;
    problem.alignment = alignment;
    REQUIRE(fault(awkward_tokens(problem, {1, 0, 127, 128, 129, 9}, 2 * alignment + 3, random)) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "quantize rows: splits in every form") {
  INFO(random.note());
  for (const SplitsForm form : {SplitsForm::sizes, SplitsForm::ends, SplitsForm::starts}) {
    for (const bool is_i64 : {false, true}) {
      CAPTURE(static_cast<int>(form), is_i64);
      QuantizeProblem problem = token_problem(4, 256);
      problem.splits = {is_i64, form};
      REQUIRE(fault(awkward_tokens(problem, {0, 70, 1, 60}, 10, random)) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "B02: quantize with no tokens at all") {
  INFO(random.note());
  for (const std::int64_t groups : {1, 8, 256}) {
    CAPTURE(groups);
    const QuantizeProblem problem = token_problem(groups, 128);
    const Sizes none(static_cast<std::size_t>(groups), 0);
    REQUIRE(fault(awkward_tokens(problem, none, 100, random)) == "");

    const Quantize kernel = runtime().prepare(problem);
    QuantizeBuffers buffers(awkward_tokens(problem, none, 0, random));
    QuantizeArgs args = buffers.args(kernel);
    args.in = nullptr;
    args.out.data = args.out.sf = nullptr;
    const OwnedStream stream;
    kernel.launch(args, stream);
    stream.synchronize();

    Sizes some = none;
    some.back() = 4;
    REQUIRE(fault(awkward_tokens(problem, some, 1, random)) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "B13: quantize with any number of groups") {
  INFO(random.note());
  for (const std::int64_t groups : {1, 31, 32, 33, 64, 256, 257, 512, 1024}) {
    CAPTURE(groups);
    Sizes sizes;
    for (std::int64_t g = 0; g < groups; ++g) sizes.push_back(random.integer(0, groups > 64 ? 20 : 128));
    REQUIRE(fault(awkward_tokens(token_problem(groups, 128), sizes, 5, random)) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "quantize rows: every bf16 amax") {
  INFO(random.note());
  QuantizeData data = awkward_tokens(token_problem(1, 512), {kPositivePatterns / 4}, 0, random);
  for (std::int64_t pattern = 0; pattern < kPositivePatterns; ++pattern) {
    fill_block(data.in.data() + pattern * 128, 128, static_cast<std::uint16_t>(pattern), random);
  }
  REQUIRE(fault(data) == "");
}

TEST_CASE_METHOD(GpuTest, "quantize blocks: every shape", "[sanitizer]") {
  INFO(random.note());
  for (const QuantizeProblem& problem :
       {weight_problem(3, 136, 272), weight_problem(1, 8, 16), weight_problem(2, 128, 128)}) {
    CAPTURE(problem.groups, problem.rows_per_group, problem.columns);
    REQUIRE(fault(awkward_weights(problem, random)) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "quantize blocks: weights of real sizes") {
  INFO(random.note());
  for (const QuantizeProblem& problem :
       {weight_problem(4, 576, 2880), weight_problem(2, 2112, 1152), weight_problem(1, 7168, 2048)}) {
    CAPTURE(problem.groups, problem.rows_per_group, problem.columns);
    REQUIRE(fault(awkward_weights(problem, random)) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "quantize blocks: every bf16 amax") {
  INFO(random.note());
  // Blocks of 8 rows keep the oracle's work small; one row of each holds its maximum.
  constexpr std::int64_t kBlocks = 256, kRows = 8, kGroups = kPositivePatterns / kBlocks;
  QuantizeData data;
  data.problem = weight_problem(kGroups, kRows, kBlocks * 128);
  data.capacity = kGroups * kRows;
  data.in.assign(static_cast<std::size_t>(data.capacity * kBlocks * 128), 0);
  for (std::int64_t pattern = 0; pattern < kPositivePatterns; ++pattern) {
    const std::int64_t row = pattern / kBlocks * kRows + random.integer(0, kRows - 1);
    fill_block(data.in.data() + (row * kBlocks + pattern % kBlocks) * 128, 128, static_cast<std::uint16_t>(pattern),
               random);
  }
  REQUIRE(fault(data) == "");
}

}  // namespace octet::test
