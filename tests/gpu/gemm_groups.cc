// Groups of any size in any place: what lies around a group never shows in it.
#include <algorithm>
#include <limits>
#include <utility>

#include "tests/gpu/gemm_case.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
using Sizes = std::vector<std::int64_t>;

Sizes mixed_sizes(std::size_t groups, Random& random) {
  const Sizes special = {0, 1, 127, 128, 129};
  Sizes sizes;
  for (std::size_t g = 0; g < groups; ++g) {
    const auto pick = static_cast<std::size_t>(random.integer(0, 7));
    sizes.push_back(pick < special.size() ? special[pick] : random.integer(0, 400));
  }
  return sizes;
}

Sizes random_sizes(std::int64_t groups, std::int64_t most, Random& random) {
  Sizes sizes;
  for (std::int64_t g = 0; g < groups; ++g) sizes.push_back(random.integer(0, most));
  return sizes;
}

// The same operands and one group alone, under the same config.
GemmData alone(const GemmData& all, std::size_t group) {
  GemmData one;
  one.problem = all.problem;
  one.problem.groups = 1;
  one.groups = reference::extents({all.rows(group)});
  one.capacity = all.rows(group);
  const std::int64_t k = all.problem.k, nk = all.problem.n * k, first = all.groups.begin[group];
  const auto scales = static_cast<std::int64_t>(all.sfb.size()) / all.problem.groups;
  const auto g = static_cast<std::int64_t>(group);
  one.a.assign(all.a.begin() + first * k, all.a.begin() + all.groups.end[group] * k);
  one.b.assign(all.b.begin() + g * nk, all.b.begin() + (g + 1) * nk);
  one.sfb.assign(all.sfb.begin() + g * scales, all.sfb.begin() + (g + 1) * scales);
  one.sfa.assign(static_cast<std::size_t>(one.sfa_ld() * one.k_blocks()), kNan);
  for (std::int64_t kb = 0; kb < one.k_blocks(); ++kb) {
    std::copy_n(all.sfa.begin() + kb * all.sfa_ld() + first, one.capacity, one.sfa.begin() + kb * one.sfa_ld());
  }
  return one;
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "gemm: random group sizes with 0, 1, 127, 128 and 129 mixed in") {
  INFO(random.note());
  for (int draw = 0; draw < 4; ++draw) {
    const Sizes sizes = mixed_sizes(8, random);
    CAPTURE(sizes);
    REQUIRE(fault(random_gemm(packed_gemm(8, 576, 512), sizes, random.integer(0, 200), random), random) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "gemm: every element of a ragged problem") {
  INFO(random.note());
  const GemmData data = random_gemm(packed_gemm(8, 576, 512), {1, 0, 127, 129, 64, 3, 200, 0}, 30, random);
  const Bf16 d = GemmBuffers(data).run(runtime().prepare(data.problem));
  REQUIRE(fault(data, d, random, kAllElements) == "");
}

TEST_CASE_METHOD(GpuTest, "gemm: all rows in one group") {
  INFO(random.note());
  for (const std::size_t only : {0U, 4U, 7U}) {
    Sizes sizes(8, 0);
    sizes[only] = random.integer(300, 700);
    CAPTURE(sizes);
    REQUIRE(fault(random_gemm(packed_gemm(8, 576, 512), sizes, 9, random), random) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "B02: no tokens at all") {
  INFO(random.note());
  for (const std::int64_t groups : {1, 8, 256}) {
    CAPTURE(groups);
    const GemmProblem problem = packed_gemm(groups, 64, 128);
    const Gemm gemm = runtime().prepare(problem);
    const Sizes none(static_cast<std::size_t>(groups), 0);

    REQUIRE(fault(gemm, random_gemm(problem, none, 300, random), random) == "");

    // No room for rows: null pointers are fine.
    const GemmBuffers buffers(random_gemm(problem, none, 0, random));
    GemmArgs args = buffers.args(gemm);
    args.a.data = args.a.sf = args.d = nullptr;
    const OwnedStream stream;
    gemm.launch(args, stream);
    stream.synchronize();
    REQUIRE(buffers.read_d().empty());

    Sizes some = none;
    some.back() = 5;
    REQUIRE(fault(gemm, random_gemm(problem, some, 0, random), random) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "B13: any number of groups") {
  INFO(random.note());
  for (const std::int64_t groups : {1, 2, 8, 31, 32, 33, 64, 256, 257, 384, 512, 1024}) {
    CAPTURE(groups);
    const Sizes sizes = random_sizes(groups, groups > 64 ? 20 : 128, random);
    REQUIRE(fault(random_gemm(packed_gemm(groups, 64, 128), sizes, 7, random), random) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "A13: NaN in padding rows does not reach valid rows") {
  INFO(random.note());
  GemmData data = random_gemm(padded_gemm(4, 576, 512, 128), {1, 33, 64, 128}, 128, random);
  const Gemm gemm = runtime().prepare(data.problem);
  set_tail(data, 0, 1);
  const Bf16 with_zeros = GemmBuffers(data).run(gemm);
  set_tail(data, 0x7F, kNan);
  const Bf16 with_nan = GemmBuffers(data).run(gemm);
  REQUIRE(with_nan == with_zeros);
  REQUIRE(fault(data, with_nan, random) == "");
}

TEST_CASE_METHOD(GpuTest, "A13: NaN in a neighbouring group stays there") {
  INFO(random.note());
  GemmData data = random_gemm(packed_gemm(8, 576, 512), {40, 0, 3, 129, 77, 1, 127, 60}, 20, random);
  const Gemm gemm = runtime().prepare(data.problem);
  const Bf16 clean = GemmBuffers(data).run(gemm);
  constexpr std::size_t kSick = 3;
  const std::int64_t k = data.problem.k, nk = data.problem.n * k;

  SECTION("in its rows and their scales") {
    std::fill(data.a.begin() + data.groups.begin[kSick] * k, data.a.begin() + data.groups.end[kSick] * k, 0x7F);
    for (std::int64_t kb = 0; kb < data.k_blocks(); ++kb) {
      std::fill_n(data.sfa.begin() + kb * data.sfa_ld() + data.groups.begin[kSick], data.rows(kSick), kNan);
    }
  }
  SECTION("in its weights") { std::fill_n(data.b.begin() + static_cast<std::int64_t>(kSick) * nk, nk, 0x7F); }
  const Bf16 sick = GemmBuffers(data).run(gemm);
  for (std::size_t g = 0; g < 8; ++g) {
    CAPTURE(g);
    if (g == kSick) {
      // The case has to provoke what it tests for.
      REQUIRE((group_of(data, sick, g)[0] & 0x7FFF) > 0x7F80);
    } else {
      REQUIRE(group_of(data, sick, g) == group_of(data, clean, g));
    }
  }
}

TEST_CASE_METHOD(GpuTest, "A16: rows past the last group are never written") {
  INFO(random.note());
  const GemmData data = random_gemm(packed_gemm(4, 576, 512), {100, 300, 0, 240}, 1024 - 640, random);
  REQUIRE(data.capacity == 1024);
  for (int call = 0; call < 2; ++call) REQUIRE(fault(data, random) == "");
}

TEST_CASE_METHOD(GpuTest, "B08: one group with one token") {
  INFO(random.note());
  REQUIRE(fault(random_gemm(packed_gemm(1, 24576, 1536), {1}, 0, random), random) == "");
  REQUIRE(fault(random_gemm(packed_gemm(8, 576, 512), {0, 0, 0, 0, 0, 0, 0, 1}, 0, random), random) == "");
}

TEST_CASE_METHOD(GpuTest, "B09: tiles that cross a group boundary") {
  INFO(random.note());
  REQUIRE(fault(random_gemm(packed_gemm(6, 576, 512), {100, 28, 130, 1, 127, 256}, 0, random), random) == "");
}

TEST_CASE_METHOD(GpuTest, "B26: many tiny or empty groups, 200 runs") {
  INFO(random.note());
  const GemmData data = random_gemm(packed_gemm(384, 4096, 1024), random_sizes(384, 3, random), 5, random);
  const Gemm gemm = runtime().prepare(data.problem);
  GemmBuffers buffers(data);
  const Bf16 first = buffers.run(gemm);
  REQUIRE(fault(data, first, random, 256) == "");
  for (int run = 1; run < 200; ++run) {
    CAPTURE(run);
    const bool same = buffers.run(gemm) == first;
    REQUIRE(same);
  }
}

TEST_CASE_METHOD(GpuTest, "B27: every group is computed, not only the first", "[sanitizer]") {
  INFO(random.note());
  REQUIRE(fault(random_gemm(packed_gemm(4, 256, 256), {64, 64, 64, 64}, 0, random), random) == "");
}

TEST_CASE_METHOD(GpuTest, "gemm: small ragged groups with a tail", "[sanitizer]") {
  INFO(random.note());
  REQUIRE(fault(random_gemm(packed_gemm(4, 136, 272), {5, 0, 130, 1}, 3, random), random) == "");
  REQUIRE(fault(random_gemm(padded_gemm(3, 136, 272, 8), {5, 0, 17}, 8, random), random) == "");
}

TEST_CASE_METHOD(GpuTest, "B18: weights beyond 2^31 bytes", "[large]") {
  INFO(random.note());
  constexpr std::int64_t kGroups = 64, kN = 14336, kK = 4096, kLast = kGroups - 1;
  const Gemm gemm = runtime().prepare(packed_gemm(kGroups, kN, kK));
  Spec lone_spec = gemm.spec();
  lone_spec.problem.g = 1;
  const Gemm lone_gemm = runtime().prepare_gemm(lone_spec, 0);

  const GemmData lone = random_gemm(packed_gemm(1, kN, kK), {16}, 0, random);
  GemmBuffers buffers(lone);
  const Bf16 wanted = buffers.run(lone_gemm);
  REQUIRE(fault(lone, wanted, random) == "");

  // Everything but the last expert stays NaN: an offset that wraps cannot go unseen.
  Buffer all_b(static_cast<std::size_t>(kGroups * kN * kK));
  all_b.upload(lone.b.data(), lone.b.size(), static_cast<std::size_t>(kLast * kN * kK));
  Buffer all_sfb(lone.sfb.size() * kGroups * sizeof(float));
  all_sfb.upload(lone.sfb.data(), lone.sfb.size() * sizeof(float), lone.sfb.size() * kLast * sizeof(float));
  buffers.b = std::move(all_b);
  buffers.sfb = std::move(all_sfb);
  Sizes sizes(kGroups, 0);
  sizes[kLast] = 16;
  buffers.set_splits(sizes);
  const bool same = buffers.run(gemm) == wanted;
  REQUIRE(same);
}

TEST_CASE_METHOD(GpuTest, "gemm: a group alone equals the same group among others, bit for bit") {
  INFO(random.note());
  const GemmData data = random_gemm(packed_gemm(8, 576, 512), mixed_sizes(8, random), 50, random);
  const Gemm gemm = runtime().prepare(data.problem);
  const Bf16 d = GemmBuffers(data).run(gemm);
  Spec alone_spec = gemm.spec();
  alone_spec.problem.g = 1;
  const Gemm alone_gemm = runtime().prepare_gemm(alone_spec, 0);
  for (std::size_t g = 0; g < 8; ++g) {
    CAPTURE(g, data.rows(g));
    const bool same = GemmBuffers(alone(data, g)).run(alone_gemm) == group_of(data, d, g);
    REQUIRE(same);
  }
}

TEST_CASE_METHOD(GpuTest, "g1-padded-buffer: room past the rows changes nothing for one group", "[named]") {
  INFO(random.note());
  for (const bool padded : {false, true}) {
    const GemmProblem problem = padded ? padded_gemm(1, 576, 512, 128) : packed_gemm(1, 576, 512);
    const Gemm gemm = runtime().prepare(problem);
    for (const std::int64_t rows : {1, 100, 128, 300}) {
      CAPTURE(padded, rows);
      const GemmData exact = random_gemm(problem, {rows}, 0, random);
      GemmData roomy = random_gemm(problem, {rows}, 333, random);
      std::copy(exact.a.begin(), exact.a.end(), roomy.a.begin());
      roomy.b = exact.b;
      roomy.sfb = exact.sfb;
      for (std::int64_t kb = 0; kb < exact.k_blocks(); ++kb) {
        std::copy_n(exact.sfa.begin() + kb * exact.sfa_ld(), rows, roomy.sfa.begin() + kb * roomy.sfa_ld());
      }
      const Bf16 wanted = GemmBuffers(exact).run(gemm), got = GemmBuffers(roomy).run(gemm);
      REQUIRE(fault(roomy, got, random) == "");
      REQUIRE(group_of(roomy, got, 0) == group_of(exact, wanted, 0));
    }
  }
}

}  // namespace octet::test
