// Configs whose clusters split K: right everywhere that they are legal, and the same bits whatever is around.
#include <algorithm>
#include <iterator>

#include "runtime/rules.h"
#include "tests/gpu/family_case.h"
#include "tests/gpu/harness.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

// One and two warpgroups, two and four blocks, parts of 16 to 64 tokens.
constexpr GemmConfig kSplits[] = {
    {64, 32, 1, 1, 5, 1, 1, false, true, 3, 2},  {64, 64, 1, 1, 5, 1, 1, false, true, 2, 2},
    {64, 64, 1, 1, 2, 1, 1, false, true, 2, 4},  {64, 128, 1, 1, 3, 1, 1, false, true, 1, 2},
    {128, 32, 2, 1, 4, 1, 1, false, true, 1, 2}, {128, 64, 2, 1, 4, 1, 1, false, true, 1, 4},
};

std::vector<Gemm> split_kernels(const Problem& problem) {
  std::vector<Spec> specs;
  for (const GemmConfig& config : kSplits) {
    const Spec spec{problem, config, "sm_90a"};
    if (!refuse(spec, Runtime::device_facts(0))) specs.push_back(spec);
  }
  return prepare_all(specs);
}

// Room for more rows, which belong to nobody. Of `row` scales, whose place does not depend on the capacity.
FamilyCase with_more_room(FamilyCase roomy, std::int64_t rows) {
  const auto grow = [](Bytes& bytes, std::int64_t count) {
    bytes.resize(bytes.size() + static_cast<std::size_t>(count), 0xFF);
  };
  grow(roomy.a, rows * roomy.a_row());
  grow(roomy.a_sf, rows * 4);
  grow(roomy.old_d, rows * roomy.d_row_bytes());
  roomy.capacity += rows;
  return roomy;
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "split K: every layout, recipe, pass, type of D and epilogue is right", "[split]") {
  INFO(random.note());
  const Sizes sizes = {0, 100, 1, 64, 17, 8};
  for (const char* line : {"gemm.packed g6 n264 k1152 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
                           "gemm.packed g6 n136 k400 a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc",
                           "gemm.packed g6 n144 k656 a=e5m2:1x128 b=e4m3:1x128 d=bf16 dir=col w=pointers",
                           "gemm.packed g6 n272 k640 a=e4m3:1x128 b=e4m3:128x128@block2d_t d=fp16 dir=col w=pointers",
                           "gemm.packed g6 n72 k2048 a=e4m3:tensor b=e4m3:tensor d=f32 +fastacc +checked",
                           "gemm.padded g6 n200 k1040 al32 a=e4m3:tensor b=e4m3:tensor d=fp16 +bias +acc",
                           "gemm.masked g6 m104 n136 k912 a=e4m3:row b=e4m3:row d=bf16 +bias w=pointers",
                           "gemm.masked g6 m104 n328 k7168 a=e4m3:1x128 b=e4m3:128x128 d=bf16 splits=i64"}) {
    CAPTURE(line);
    const FamilyCase gemm_case = family_case(line, sizes, 11, random);
    const std::vector<Gemm> kernels = split_kernels(gemm_case.problem);
    REQUIRE(kernels.size() == std::size(kSplits));
    for (const Gemm& gemm : kernels) {
      CAPTURE(to_string(gemm.spec().config));
      REQUIRE(fault(gemm, gemm_case, random) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "split K: dense, from one row on", "[split]") {
  INFO(random.note());
  for (const std::int64_t rows : {1, 7, 33, 128, 129}) {
    CAPTURE(rows);
    const FamilyCase gemm_case =
        family_case("gemm.dense g1 n1032 k7168 a=e4m3:1x128 b=e4m3:128x128 d=bf16", {rows}, 0, random);
    for (const Gemm& gemm : split_kernels(gemm_case.problem)) {
      CAPTURE(to_string(gemm.spec().config));
      REQUIRE(fault(gemm, gemm_case, random) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "split K: blocks of a cluster that have nothing to sum", "[split]") {
  INFO(random.note());
  for (const int k : {16, 128, 144, 384, 528}) {  // 1, 1, 2, 3 and 5 blocks of 128 for 2 or 4 of the cluster
    const std::string line = "gemm.packed g4 n136 k" + std::to_string(k) + " a=e4m3:1x128 b=e4m3:128x128 d=bf16";
    CAPTURE(line);
    const FamilyCase gemm_case = family_case(line, {33, 0, 5, 128}, 9, random);
    for (const Gemm& gemm : split_kernels(gemm_case.problem)) {
      CAPTURE(to_string(gemm.spec().config));
      REQUIRE(fault(gemm, gemm_case, random) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "split K: neighbours, room, fewer multiprocessors and programmatic launches change no bit",
                 "[split]") {
  INFO(random.note());
  constexpr std::size_t kSick = 3;
  const FamilyCase clean =
      family_case("gemm.packed g6 n520 k1168 a=e4m3:row b=e4m3:row d=bf16", {40, 0, 3, 77, 99, 1}, 20, random);
  const FamilyCase roomy = with_more_room(clean, 300);
  FamilyCase sick = clean;
  std::fill(sick.a.begin() + clean.groups.begin[kSick] * clean.a_row(),
            sick.a.begin() + clean.groups.end[kSick] * clean.a_row(), std::uint8_t{0x7F});
  for (const Gemm& gemm : split_kernels(clean.problem)) {
    CAPTURE(to_string(gemm.spec().config));
    FamilyBuffers buffers(clean);
    const Bytes wanted = buffers.run(gemm);
    REQUIRE(judge(clean, wanted, random) == "");
    const Bytes with_room = FamilyBuffers(roomy).run(gemm), beside_sick = FamilyBuffers(sick).run(gemm);
    for (std::size_t g = 0; g < 6; ++g) {
      CAPTURE(g);
      REQUIRE((group_of(roomy, with_room, g) == group_of(clean, wanted, g)));
      REQUIRE((group_of(sick, beside_sick, g) == group_of(clean, wanted, g)) == (g != kSick));
    }
    GemmArgs args = buffers.args(gemm);
    for (const int sms : {1, 5, 64, 0}) {
      for (const bool programmatic : {false, true}) {
        CAPTURE(sms, programmatic);
        args.max_sms = sms;
        args.programmatic = programmatic;
        const bool same = buffers.run(gemm, args) == wanted;
        REQUIRE(same);
      }
    }
  }
}

TEST_CASE_METHOD(GpuTest, "split K: 200 repetitions are bit-identical", "[split]") {
  INFO(random.note());
  const FamilyCase gemm_case = family_case("gemm.masked g8 m104 n1024 k2176 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
                                           {20, 0, 1, 64, 100, 16, 17, 33}, 0, random);
  FamilyBuffers buffers(gemm_case);
  for (const Gemm& gemm : split_kernels(gemm_case.problem)) {
    CAPTURE(to_string(gemm.spec().config));
    const Bytes first = buffers.run(gemm);
    REQUIRE(judge(gemm_case, first, random) == "");
    for (int run = 1; run < 200; ++run) {
      const bool same = buffers.run(gemm) == first;
      REQUIRE(same);
    }
  }
}

// Small, for compute-sanitizer.
TEST_CASE_METHOD(GpuTest, "split K: small problems", "[split][sanitizer]") {
  INFO(random.note());
  for (const char* line : {"gemm.packed g4 n136 k272 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
                           "gemm.packed g4 n72 k272 a=e4m3:tensor b=e4m3:tensor d=f32"}) {
    CAPTURE(line);
    const FamilyCase gemm_case = family_case(line, {5, 0, 33, 1}, 3, random);
    for (const Gemm& gemm : split_kernels(gemm_case.problem)) {
      CAPTURE(to_string(gemm.spec().config));
      REQUIRE(fault(gemm, gemm_case, random) == "");
    }
  }
}

}  // namespace octet::test
