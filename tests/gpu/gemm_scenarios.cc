// Scenarios that broke other systems, by their ids, for the passes, layouts and recipes beyond the plain GEMM.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>

#include <fmt/format.h>

#include "tests/gpu/elements.h"
#include "tests/gpu/family_cells.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

std::vector<std::string> pair_lines(bool wgrad) {
  std::vector<std::string> lines;
  for (const RecipePair& pair : recipe_pairs()) {
    if (wgrad && !pair.wgrad) continue;
    lines.push_back(fmt::format(" a=e4m3:{} b=e4m3:{}", pair.a.front(), pair.b.front()));
  }
  return lines;
}

// All scales 1.
void set_unit_scales(Bytes& scales, Granularity granularity) {
  if (granularity >= Granularity::mx_1x32) {
    std::fill(scales.begin(), scales.end(), std::uint8_t{127});
    return;
  }
  const float one = 1;
  for (std::size_t i = 0; i + 4 <= scales.size(); i += 4) std::memcpy(scales.data() + i, &one, 4);
}

// Every product is a * b.
FamilyCase constant_case(const std::string& line, const Sizes& sizes, float a, float b, Random& random) {
  FamilyCase made = family_case(line, sizes, 0, random);
  std::fill(made.a.begin(), made.a.end(), reference::to_fp8(a, DType::e4m3));
  std::fill(made.b.begin(), made.b.end(), reference::to_fp8(b, DType::e4m3));
  set_unit_scales(made.a_sf, made.problem.a->granularity);
  set_unit_scales(made.b_sf, made.problem.b->granularity);
  return made;
}

double worst_relative_error(const FamilyCase& gemm_case, double exact) {
  const Bytes d = FamilyBuffers(gemm_case).run(runtime().prepare_gemm(gemm_case.problem, {0, 0}));
  const DType type = *gemm_case.problem.d;
  double worst = 0;
  for (std::int64_t i = 0; i < std::ssize(d) / size_bytes(type); ++i) {
    const double error = std::abs(element_value(type, d.data(), i) / exact - 1);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

bool all_zero(const Bytes& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "A12: a long sum of equal products keeps its value, every recipe pair, forward and wgrad") {
  INFO(random.note());
  for (const char* d : {"bf16", "f32"}) {
    const double bound = std::string(d) == "f32" ? 1e-3 : 5e-3;
    for (const std::string& pair : pair_lines(false)) {
      for (const char* layout : {"packed g2", "masked g2 m65"}) {
        CAPTURE(pair, layout, d);
        const std::string line = fmt::format("gemm.{} n128 k16384{} d={}", layout, pair, d);
        REQUIRE(worst_relative_error(constant_case(line, {65, 65}, 0.4375F, 1, random), 7168) <= bound);
      }
    }
    for (const std::string& pair : pair_lines(true)) {
      CAPTURE(pair, d);
      const std::string line = fmt::format("wgrad.packed g2 n144 k128{} d={}", pair, d);
      REQUIRE(worst_relative_error(constant_case(line, {16384, 16384}, 0.4375F, 1, random), 7168) <= bound);
    }
  }
}

TEST_CASE_METHOD(GpuTest, "A12: one large product before many small ones, whole scales and MX") {
  INFO(random.note());
  constexpr std::int64_t kLength = 65536;
  const std::uint8_t large = reference::to_fp8(448, DType::e4m3);
  for (const char* pair : {" a=e4m3:tensor b=e4m3:tensor", " a=e4m3:row b=e4m3:row", " a=e4m3:1x32 b=e4m3:1x32"}) {
    CAPTURE(pair);
    FamilyCase gemm_case =
        constant_case(fmt::format("gemm.packed g1 n128 k{}{} d=bf16", kLength, pair), {65}, 1, 1, random);
    for (Bytes* rows : {&gemm_case.a, &gemm_case.b}) {
      for (std::size_t i = 0; i < rows->size(); i += size(kLength)) (*rows)[i] = large;
    }
    REQUIRE(worst_relative_error(gemm_case, 448.0 * 448 + kLength - 1) <= 0.005);
  }
}

TEST_CASE_METHOD(GpuTest, "B02: no tokens at all, every pass and layout") {
  INFO(random.note());
  for (const char* line : {"gemm.masked g8 m64 n256 k128 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
                           "gemm.padded g8 n256 k128 al32 a=e4m3:row b=e4m3:row d=bf16 +bias",
                           "gemm.packed g8 n256 k128 a=e4m3:1x32 b=e4m3:1x32 d=bf16",
                           "wgrad.packed g8 n256 k128 a=e4m3:1x128 b=e4m3:1x128 d=bf16",
                           "wgrad.packed g8 n256 k128 a=e4m3:1x32 b=e4m3:1x32 d=f32 +acc",
                           "wgrad.masked g8 m64 n256 k128 a=e4m3:tensor b=e4m3:tensor d=bf16"}) {
    CAPTURE(line);
    const Sizes none(8, 0);
    REQUIRE(fault(family_case(line, none, 130, random), random) == "");
    REQUIRE(fault(family_case(line, none, 0, random), random) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "B03: wgrad of experts without tokens is zero, or the old D") {
  INFO(random.note());
  for (const std::string& pair : pair_lines(true)) {
    CAPTURE(pair);
    const std::string line = fmt::format("wgrad.packed g4 n576 k272{} d=bf16", pair);
    const FamilyCase plain = family_case(line, {256, 0, 128, 0}, 7, random);
    const Bytes d = FamilyBuffers(plain).run(runtime().prepare_gemm(plain.problem, {0, 0}));
    REQUIRE(judge(plain, d, random) == "");
    for (const std::size_t empty : {1U, 3U}) REQUIRE(all_zero(group_of(plain, d, empty)));

    const FamilyCase sums = family_case(line + " +acc", {256, 0, 128, 0}, 7, random);
    const Bytes summed = FamilyBuffers(sums).run(runtime().prepare_gemm(sums.problem, {0, 0}));
    REQUIRE(judge(sums, summed, random) == "");
    for (const std::size_t empty : {1U, 3U}) {
      REQUIRE((group_of(sums, summed, empty) == group_of(sums, sums.old_d, empty)));
    }
  }
}

TEST_CASE_METHOD(GpuTest, "B06: a wgrad with one empty group among long ones") {
  INFO(random.note());
  const char* line = "wgrad.packed g4 n4096 k4096 a=e4m3:1x128 b=e4m3:1x128 d=bf16";
  REQUIRE(fault(family_case(line, {3072, 0, 1024, 3072}, 0, random), random) == "");
}

TEST_CASE_METHOD(GpuTest, "B07: masked groups smaller than a tile") {
  INFO(random.note());
  std::size_t turn = 0;
  for (const std::int64_t m : {8, 16, 32, 64}) {
    for (const char* pair : {" a=e4m3:1x128 b=e4m3:128x128 d=bf16", " a=e4m3:tensor b=e4m3:tensor d=f32"}) {
      CAPTURE(m, pair);
      const Problem problem = Problem::parse(fmt::format("gemm.masked g4 m{} n576 k512{}", m, pair));
      const FamilyCase gemm_case = family_case(problem, {1, m, 0, m}, 0, random);
      // A third of the configs for each: they are many, and small problems are alike.
      std::vector<Spec> specs;
      for (const Spec& spec : legal_specs(problem)) {
        if (turn++ % 3 == 0) specs.push_back(spec);
      }
      for (const Gemm& gemm : prepare_all(specs)) {
        CAPTURE(to_string(gemm.spec().config));
        REQUIRE(fault(gemm, gemm_case, random) == "");
      }
    }
  }
}

TEST_CASE_METHOD(GpuTest, "B14: tiles wider than N and blocks longer than K, rows of D apart, every recipe pair") {
  INFO(random.note());
  std::size_t turn = 0;
  for (const auto& [n, k] : {std::pair{64, 96}, {96, 160}, {128, 96}, {160, 208}, {200, 160}}) {
    for (const std::string& pair : pair_lines(false)) {
      if (turn++ % 2 == 1) continue;
      CAPTURE(n, k, pair);
      FamilyCase gemm_case =
          family_case(fmt::format("gemm.packed g2 n{} k{}{} d=bf16", n, k, pair), {65, 130}, 2, random);
      gemm_case.d_gap = 64;
      REQUIRE(fault(gemm_case, random) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "B15: wgrad over a sweep of N, and many groups") {
  INFO(random.note());
  for (std::int64_t n = 64; n <= 1024; n += 192) {
    for (const std::int64_t k : {768, 1536}) {
      CAPTURE(n, k);
      const auto line = fmt::format("wgrad.packed g6 n{} k{} a=e4m3:1x128 b=e4m3:1x128 d=bf16", n, k);
      REQUIRE(fault(family_case(line, {32, 0, 129, 64, 1, 300}, 3, random), random) == "");
    }
  }
  Sizes sizes(128, 32);
  sizes[5] = 0, sizes[6] = 64;
  const char* many = "wgrad.packed g128 n2048 k768 a=e4m3:1x128 b=e4m3:1x128 d=bf16";
  REQUIRE(fault(family_case(many, sizes, 0, random), random) == "");
}

// Codes in whole blocks instead of quantized numbers: the reference quantizer would take minutes.
TEST_CASE_METHOD(GpuTest, "B17: a wgrad whose operand is beyond 2^31 bytes", "[large]") {
  INFO(random.note());
  constexpr std::int64_t kN = 7168, kK = 128, kRows = 300032;
  FamilyCase gemm_case;
  gemm_case.problem = Problem::parse(fmt::format("wgrad.packed g2 n{} k{} a=e4m3:1x128 b=e4m3:1x128 d=bf16", kN, kK));
  gemm_case.groups = reference::extents({128, kRows - 128});
  gemm_case.capacity = kRows;
  const Bytes pattern = random.codes(1048573);
  const auto filled = [&](std::int64_t bytes) {
    Bytes all(size(bytes));
    for (std::size_t i = 0; i < all.size(); i += pattern.size()) {
      std::copy_n(pattern.begin(), std::min(pattern.size(), all.size() - i),
                  all.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return all;
  };
  const auto scales = [&](std::int64_t bytes) {
    const std::vector<float> values = random.scales(size(bytes / 4));
    Bytes all(size(bytes));
    std::memcpy(all.data(), values.data(), all.size());
    return all;
  };
  const QuantizedBytes a = quantize_shape(a_producer(gemm_case.problem), kRows).col,
                       b = quantize_shape(b_producer(gemm_case.problem), kRows).col;
  gemm_case.a = filled(a.data), gemm_case.a_sf = scales(a.sf);
  gemm_case.b = filled(b.data), gemm_case.b_sf = scales(b.sf);
  gemm_case.old_d.assign(size(gemm_case.d_rows() * gemm_case.d_row_bytes()), 0xFF);
  const Bytes d = FamilyBuffers(gemm_case).run(runtime().prepare_gemm(gemm_case.problem, {0, 0}));
  REQUIRE(judge(gemm_case, d, random, 64) == "");
}

TEST_CASE_METHOD(GpuTest, "B27: every group is computed, not only the first, every pass and recipe pair") {
  INFO(random.note());
  for (const std::string& pair : pair_lines(false)) {
    for (const char* layout : {"packed g4", "masked g4 m80"}) {
      CAPTURE(pair, layout);
      REQUIRE(fault(family_case(fmt::format("gemm.{} n256 k256{} d=bf16", layout, pair), {64, 64, 64, 64}, 0, random),
                    random) == "");
    }
  }
  for (const std::string& pair : pair_lines(true)) {
    CAPTURE(pair);
    REQUIRE(fault(family_case(fmt::format("wgrad.packed g4 n256 k256{} d=bf16", pair), {64, 64, 64, 64}, 0, random),
                  random) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "C06: graphs of a wgrad and of a masked GEMM in turn with eager calls, many replays") {
  INFO(random.note());
  const FamilyCase one = family_case("wgrad.packed g4 n576 k512 a=e4m3:1x128 b=e4m3:1x128 d=bf16", {100, 0, 129, 3}, 9,
                                     random),
                   other = family_case("gemm.masked g4 m32 n576 k512 a=e4m3:1x128 b=e4m3:128x128 d=bf16", {1, 32, 0, 7},
                                       0, random);
  const Gemm wgrad = runtime().prepare_gemm(one.problem, {0, 0}),
             masked = runtime().prepare_gemm(other.problem, {4, 0});
  FamilyBuffers one_buffers(one), other_buffers(other);
  const Bytes first = one_buffers.run(wgrad), second = other_buffers.run(masked);
  const GemmArgs one_args = one_buffers.args(wgrad), other_args = other_buffers.args(masked);
  const OwnedStream stream;
  const Graph one_graph = Graph::record(stream, [&] { wgrad.launch(one_args, stream); });
  const Graph other_graph = Graph::record(stream, [&] { masked.launch(other_args, stream); });
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    one_buffers.reset();
    other_buffers.reset();
    for (int replay = 0; replay < 20; ++replay) {
      one_graph.replay(stream);
      other_graph.replay(stream);
    }
    if (round % 2 == 0) wgrad.launch(one_args, stream);
    stream.synchronize();
    REQUIRE((one_buffers.read() == first));
    REQUIRE((other_buffers.read() == second));
  }
}

TEST_CASE_METHOD(GpuTest, "C07: a programmatic launch sees what the kernel before it wrote") {
  INFO(random.note());
  struct Row {
    const char* line;
    bool no_workspace;
    std::int64_t workspace;  // bytes of a row
  };
  // MXFP8 with its pass, and directly.
  for (const Row& row : {Row{"gemm.packed g4 n576 k512 a=e4m3:1x128 b=e4m3:128x128 d=bf16", false, 0},
                         Row{"gemm.packed g4 n520 k1040 a=e4m3:1x32 b=e4m3:1x32 d=bf16", false, 2 * 1152},
                         Row{"gemm.packed g4 n520 k1040 a=e4m3:1x32 b=e4m3:1x32 d=bf16", true, 0}}) {
    CAPTURE(row.line, row.no_workspace);
    const FamilyCase gemm_case = family_case(row.line, {100, 0, 129, 300}, 9, random);
    const Gemm gemm = runtime().prepare_gemm(gemm_case.problem, {0, 0, row.no_workspace});
    REQUIRE(gemm.workspace_bytes(256) == static_cast<std::size_t>(256 * row.workspace));
    const Problem producer = a_producer(gemm_case.problem);
    const QuantizeCase tokens = ordinary_case(producer, {100, 0, 129, 300}, 9, random);
    const Quantize quantize = runtime().prepare_quantize(producer);
    QuantizeBuffers quantized(tokens);
    FamilyBuffers buffers(gemm_case);
    const QuantizeArgs quantize_args = quantized.args(quantize);
    GemmArgs args = buffers.args(gemm);
    args.a = quantize_args.out;
    args.programmatic = true;
    const OwnedStream stream;
    Bytes first;
    for (int run = 0; run < 100; ++run) {
      CAPTURE(run);
      buffers.reset();
      quantized.poison();  // of the run before nothing is left
      quantize.launch(quantize_args, stream);
      gemm.launch(args, stream);
      stream.synchronize();
      const Bytes d = buffers.read();
      if (run == 0) {
        first = d;
        FamilyCase whole = gemm_case;
        const Results operand = quantized.read();
        whole.a = operand.data, whole.a_sf = operand.sf;
        REQUIRE(judge(whole, first, random) == "");
      }
      REQUIRE((d == first));
    }
  }
}

TEST_CASE_METHOD(GpuTest, "concurrency: C14: kernels with a workspace on two streams at once") {
  INFO(random.note());
  FamilyCase cases[] = {
      family_case("gemm.packed g4 n264 k400 a=e4m3:1x128 b=e4m3:128x128 d=bf16 w=pointers", {100, 0, 129, 3}, 9,
                  random),
      family_case("gemm.packed g4 n264 k400 a=e4m3:1x128 b=e4m3:128x128 d=bf16 w=pointers", {3, 200, 1, 0}, 5, random),
      family_case("wgrad.packed g4 n272 k400 a=e4m3:row b=e4m3:row d=f32", {100, 0, 129, 3}, 9, random)};
  for (FamilyCase& each : cases) each.pointers_on_device = true;  // on the host they would need no workspace
  std::deque<FamilyBuffers> buffers;
  std::vector<Gemm> kernels;
  std::vector<Bytes> wanted;
  for (const FamilyCase& each : cases) {
    kernels.push_back(runtime().prepare_gemm(each.problem, {0, 0}));
    wanted.push_back(buffers.emplace_back(each).run(kernels.back()));
    REQUIRE(judge(each, wanted.back(), random) == "");
  }
  const OwnedStream streams[3];
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    for (FamilyBuffers& each : buffers) each.reset();
    for (int call = 0; call < 5; ++call) {
      for (std::size_t i = 0; i < 3; ++i) kernels[i].launch(buffers[i].args(kernels[i]), streams[i]);
    }
    for (std::size_t i = 0; i < 3; ++i) {
      streams[i].synchronize();
      REQUIRE((buffers[i].read() == wanted[i]));
    }
  }
}

}  // namespace octet::test
