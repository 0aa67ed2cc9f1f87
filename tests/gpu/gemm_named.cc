// Regressions of the GEMM family that have a name, and what must not show in any result.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "tests/gpu/elements.h"
#include "tests/gpu/family_cells.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

// Recipe pairs by their line, forward and wgrad.
std::vector<std::string> pair_lines(bool wgrad) {
  std::vector<std::string> lines;
  for (const RecipePair& pair : recipe_pairs()) {
    if (wgrad && !pair.wgrad) continue;
    lines.push_back(fmt::format(" a=e4m3:{} b=e4m3:{}", pair.a.front(), pair.b.front()));
  }
  return lines;
}

std::string family_line(bool wgrad, const std::string& layout, const std::string& sizes, const std::string& pair) {
  return fmt::format("{}.{} {} n272 k400{} d=bf16", wgrad ? "wgrad" : "gemm", layout, sizes, pair);
}

Gemm with_config(const Problem& problem, const Config& config) {
  Spec spec = select(problem, Runtime::device_facts(0));
  spec.problem = problem;
  spec.config = config;
  return runtime().prepare_gemm(spec, 0);
}

// The same tokens, quantized for another problem: other groups around, room past the rows.
struct Source {
  std::vector<std::uint16_t> a, b;  // bf16: [rows][columns] of tokens, or all of the weights
};

FamilyCase quantized_case(const Problem& problem, const Sizes& sizes, std::int64_t spare_rows, const Source& source) {
  FamilyCase made;
  made.problem = problem;
  made.groups = group_extents(problem, sizes);
  made.capacity = buffer_rows(problem, made.groups.end.back() + spare_rows);
  const Problem a_from = a_producer(problem), b_from = b_producer(problem);
  const auto padded = [&](const Problem& producer, std::vector<std::uint16_t> values) {
    if (producer.layout != Layout::uniform) values.resize(size(made.capacity * producer.c), 0x7FFF);
    return quantized_values(producer, made.groups, made.capacity, values);
  };
  QuantizedBytesOf a = padded(a_from, source.a), b = padded(b_from, source.b);
  made.a = std::move(a.data), made.a_sf = std::move(a.sf);
  made.b = std::move(b.data), made.b_sf = std::move(b.sf);
  made.old_d.assign(size(made.d_rows() * made.d_row_bytes()), 0xFF);
  return made;
}

Source random_source(const Problem& problem, std::int64_t rows, Random& random) {
  const auto seed = [&] { return static_cast<std::uint64_t>(random.integer(1, 1 << 30)); };
  Source source;
  source.a = reference::random_tokens(rows, a_producer(problem).c, seed());
  source.b = problem.op == Operation::wgrad ? reference::random_tokens(rows, problem.k, seed())
                                            : reference::random_weights(problem.g, problem.n, problem.k, seed());
  return source;
}

// Data bytes and scales of rows of no group, rowwise, for recipes whose scales lie by rows of the buffer. Others have
// nothing in their tails but data.
void set_tail(FamilyCase& gemm_case, std::uint8_t data, float scale) {
  const std::int64_t rows = gemm_case.groups.end.back(), k = gemm_case.problem.k;
  std::fill(gemm_case.a.begin() + rows * k, gemm_case.a.end(), data);
  const ScaleLayout layout = gemm_case.problem.a->scale_layout;
  if (layout != ScaleLayout::mn_major && layout != ScaleLayout::per_row) return;
  const std::int64_t ld = (gemm_case.capacity + 3) / 4 * 4, blocks = std::ssize(gemm_case.a_sf) / 4 / ld;
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (std::int64_t row = rows; row < gemm_case.capacity; ++row) {
      std::memcpy(gemm_case.a_sf.data() + (block * ld + row) * 4, &scale, 4);
    }
  }
}

// Of a wgrad: data columns past the groups' blocks, which no quantizer writes.
void set_columnwise_tail(FamilyCase& gemm_case, std::uint8_t data) {
  const std::int64_t used = (gemm_case.groups.end.back() + 127) / 128 * 128;
  for (auto [bytes, row] : {std::pair{&gemm_case.a, gemm_case.a_row()}, std::pair{&gemm_case.b, gemm_case.b_row()}}) {
    for (auto begin = bytes->begin(); begin != bytes->end(); begin += row) std::fill(begin + used, begin + row, data);
  }
}

std::string g1_fault(bool wgrad, const std::string& pair, Random& random) {
  constexpr std::int64_t kLive = 512, kPad = 256;
  const Problem problem = Problem::parse(family_line(wgrad, "packed", "g1", pair));
  const Source source = random_source(problem, kLive, random);
  const FamilyCase exact = quantized_case(problem, {kLive}, 0, source);
  FamilyCase roomy = quantized_case(problem, {kLive}, kPad, source);
  const Gemm gemm = runtime().prepare_gemm(problem, {0, 0});
  const Bytes wanted = FamilyBuffers(exact).run(gemm);
  std::string text = judge(exact, wanted, random);
  // Zeros, about 3, garbage, NaN.
  const std::array<std::pair<std::uint8_t, float>, 4> tails = {{{0, 1}, {0x44, 3}, {0xB7, -1e30F}, {0x7F, NAN}}};
  for (const auto& [data, scale] : tails) {
    if (!text.empty()) return text;
    wgrad ? set_columnwise_tail(roomy, data) : set_tail(roomy, data, scale);
    const Bytes got = FamilyBuffers(roomy).run(gemm);
    text = judge(roomy, got, random);
    if (text.empty() && group_of(roomy, got, 0) != group_of(exact, wanted, 0)) {
      text = fmt::format("a tail of {:#x} changes the result", data);
    }
  }
  if (!text.empty()) return text;

  // Two groups of which the second is empty, under the same config.
  Problem two = problem;
  two.g = 2;
  Source with_second = source;
  if (!wgrad) with_second.b.insert(with_second.b.end(), source.b.begin(), source.b.end());
  const FamilyCase pair_of = quantized_case(two, {kLive, 0}, kPad, with_second);
  const Bytes got = FamilyBuffers(pair_of).run(with_config(two, gemm.spec().config));
  text = judge(pair_of, got, random);
  if (text.empty() && group_of(pair_of, got, 0) != group_of(exact, wanted, 0)) text = "G=2 with sizes (n,0) differs";
  return text;
}

bool has_cluster(const Spec& spec) {
  const auto* config = std::get_if<GemmConfig>(&spec.config);
  return config != nullptr && config->cluster_m * config->cluster_n > 1;
}

std::vector<Spec> cluster_specs(const Problem& problem) {
  std::vector<Spec> specs = legal_specs(problem);
  std::erase_if(specs, [](const Spec& spec) { return !has_cluster(spec); });
  return specs;
}

// Runs of one case under every cluster config: right, and 20 times the same.
void require_clusters(const FamilyCase& gemm_case, std::size_t least, Random& random) {
  const std::vector<Spec> specs = cluster_specs(gemm_case.problem);
  REQUIRE(specs.size() >= least);
  FamilyBuffers buffers(gemm_case);
  for (const Gemm& gemm : prepare_all(specs)) {
    CAPTURE(gemm.spec().name());
    const Bytes first = buffers.run(gemm);
    REQUIRE(judge(gemm_case, first, random) == "");
    for (int run = 1; run < 20; ++run) {
      const bool same = buffers.run(gemm) == first;
      REQUIRE(same);
    }
  }
}

// Bit for bit alike under the first and the last config that both can have, the pointers on the host and on the device.
std::string discrete_fault(const std::string& line, Random& random) {
  FamilyCase gemm_case = family_case(line, {0, 100, 1, 129, 64, 0}, 9, random);
  const Problem single = gemm_case.problem;
  Problem discrete = single;
  discrete.weights_by_pointer = true;
  const std::vector<Spec> specs = legal_specs(discrete);
  if (specs.empty()) return "no config";
  for (const Spec& spec : {specs.front(), specs.back()}) {
    gemm_case.problem = single;
    const Bytes wanted = FamilyBuffers(gemm_case).run(with_config(single, spec.config));
    const std::string text = judge(gemm_case, wanted, random, 256);
    if (!text.empty()) return text;
    gemm_case.problem = discrete;
    const Gemm gemm = runtime().prepare_gemm(spec, 0);
    for (const bool on_device : {false, true}) {
      gemm_case.pointers_on_device = on_device;
      if (FamilyBuffers(gemm_case).run(gemm) == wanted) continue;
      return fmt::format("{}, pointers on the {}: differs", to_string(spec.config), on_device ? "device" : "host");
    }
  }
  return "";
}

bool runs_long() {
  const char* given = std::getenv("OCTET_LONG");
  return given != nullptr && std::string(given) == "1";
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "g1-padded-buffer: room past the rows of one group, every recipe pair, forward", "[named]") {
  INFO(random.note());
  for (const std::string& pair : pair_lines(false)) {
    CAPTURE(pair);
    REQUIRE(g1_fault(false, pair, random) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "g1-padded-buffer: room past the rows of one group, every recipe pair, wgrad", "[named]") {
  INFO(random.note());
  for (const std::string& pair : pair_lines(true)) {
    CAPTURE(pair);
    REQUIRE(g1_fault(true, pair, random) == "");
  }
}

// 200 runs of each scale, of which only the sick group is read back: the others are compared now and then. OCTET_LONG=1
// makes it 10000.
TEST_CASE_METHOD(GpuTest, "wgrad-zero-channel: A17: an all-zero channel in a group of 128 rows", "[named]") {
  INFO(random.note());
  constexpr std::int64_t kN = 2048, kK = 2048, kSick = 2, kChannel = 777;
  const Sizes sizes = {256, 128, 128, 256};
  const Problem problem = Problem::parse("wgrad.packed g4 n2048 k2048 a=e4m3:1x128 b=e4m3:1x128 d=bf16");
  Source source = random_source(problem, 768, random);
  for (std::int64_t row = 384; row < 512; ++row) source.a[size(row * kN + kChannel)] = 0;
  FamilyCase gemm_case = quantized_case(problem, sizes, 0, source);
  const Gemm gemm = runtime().prepare_gemm(problem, {0, 0});
  // Blocks before the sick group's: 2 and 1.
  const std::int64_t scale_at = (3 * kN + kChannel) * 4;
  const std::size_t group_bytes = kN * kK * 2;
  const int runs = runs_long() ? 10000 : 200;
  for (const float scale : {1.0F, 1e-4F, 1e-8F, 1e-30F}) {
    CAPTURE(scale);
    std::memcpy(gemm_case.a_sf.data() + scale_at, &scale, 4);
    FamilyBuffers buffers(gemm_case);
    const Bytes first = buffers.run(gemm);
    REQUIRE(judge(gemm_case, first, random) == "");
    const Bytes sick = group_of(gemm_case, first, kSick);
    const auto channel = sick.begin() + kChannel * kK * 2;
    // Zero of either sign.
    for (std::int64_t k = 0; k < kK; ++k) REQUIRE((channel[2 * k] == 0 && (channel[2 * k + 1] & 0x7F) == 0));

    const GemmArgs args = buffers.args(gemm);
    const OwnedStream stream;
    Bytes got(group_bytes);
    for (int run = 1; run < runs; ++run) {
      gemm.launch(args, stream);
      stream.synchronize();
      buffers.d.download(got.data(), group_bytes, kSick * group_bytes);
      bool same = got == sick;
      if (run % 50 == 49) same = same && buffers.read() == first;
      if (!same) FAIL("run " << run << " differs from the first");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "wgrad-odd-tiles-cluster: every cluster config with odd numbers of tiles, wgrad", "[named]") {
  INFO(random.note());
  // Odd in rows and columns for tiles of 64, 128 and 256; and of 192 in the second.
  for (const char* sizes : {"n1344 k1344", "n576 k1184"}) {
    for (const char* d : {"f32", "bf16"}) {
      CAPTURE(sizes, d);
      const auto line = fmt::format("wgrad.packed g5 {} a=e4m3:1x128 b=e4m3:1x128 d={}", sizes, d);
      require_clusters(family_case(line, {128, 0, 384, 1, 129}, 17, random), 1, random);
    }
  }
}

TEST_CASE_METHOD(GpuTest, "wgrad-odd-tiles-cluster: every cluster config with odd numbers of tiles, forward",
                 "[named]") {
  INFO(random.note());
  for (const char* columns : {"n640", "n1344"}) {
    CAPTURE(columns);
    const auto line = fmt::format("gemm.packed g6 {} k528 a=e4m3:1x128 b=e4m3:128x128 d=bf16", columns);
    require_clusters(family_case(line, {1, 0, 129, 320, 513, 64}, 17, random), 4, random);
  }
  const char* row = "gemm.masked g5 m400 n640 k528 a=e4m3:row b=e4m3:row d=bf16 +acc";
  require_clusters(family_case(row, {1, 0, 129, 320, 400}, 0, random), 4, random);
}

TEST_CASE_METHOD(GpuTest, "wgrad-odd-tiles-cluster: E04: one shape many times", "[named]") {
  INFO(random.note());
  const FamilyCase gemm_case = family_case("wgrad.packed g8 n768 k2048 a=e4m3:1x128 b=e4m3:1x128 d=bf16",
                                           {128, 128, 256, 256, 128, 256, 256, 256}, 0, random);
  const Gemm gemm = runtime().prepare_gemm(gemm_case.problem, {0, 0});
  FamilyBuffers buffers(gemm_case);
  const Bytes first = buffers.run(gemm);
  REQUIRE(judge(gemm_case, first, random) == "");
  const GemmArgs args = buffers.args(gemm);
  const OwnedStream stream;
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    for (int run = 0; run < 50; ++run) gemm.launch(args, stream);
    stream.synchronize();
    const bool same = buffers.read() == first;
    REQUIRE(same);
  }
}

TEST_CASE_METHOD(GpuTest, "single-weight-equals-discrete: forward, weights in one buffer or one per group", "[named]") {
  INFO(random.note());
  for (const std::string& pair : pair_lines(false)) {
    CAPTURE(pair);
    REQUIRE(discrete_fault(family_line(false, "packed", "g6", pair), random) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "single-weight-equals-discrete: wgrad, D in one buffer or one per group", "[named]") {
  INFO(random.note());
  for (const std::string& pair : pair_lines(true)) {
    CAPTURE(pair);
    REQUIRE(discrete_fault(family_line(true, "packed", "g6", pair) + " +acc", random) == "");
  }
}

// Operands of every row are valid, so that the same buffers serve any counts.
TEST_CASE_METHOD(GpuTest, "graph-replay-new-splits: masked, portable and swapped, equals an eager call", "[named]") {
  INFO(random.note());
  for (const char* line : {"gemm.masked g4 m64 n576 k512 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
                           "gemm.masked g4 m64 n272 k400 a=e4m3:1x32 b=e4m3:1x32 d=bf16",
                           "gemm.masked g4 m64 n272 k400 a=e4m3:tensor b=e4m3:tensor d=bf16 w=pointers"}) {
    CAPTURE(line);
    FamilyCase gemm_case = family_case(line, {64, 64, 64, 64}, 0, random);
    const Gemm gemm = runtime().prepare_gemm(gemm_case.problem, {4, 0});
    FamilyBuffers buffers(gemm_case);
    const OwnedStream stream;
    const GemmArgs args = buffers.args(gemm);
    const Graph graph = Graph::record(stream, [&] { gemm.launch(args, stream); });
    for (const Sizes& counts : std::vector<Sizes>{{1, 0, 64, 7}, {0, 0, 0, 0}, {64, 64, 64, 64}, {5, 33, 0, 2}}) {
      CAPTURE(counts);
      gemm_case.groups = reference::masked_extents(counts, 64);
      buffers.set_splits(counts);
      const Bytes eager = buffers.run(gemm, args);
      REQUIRE(judge(gemm_case, eager, random) == "");
      buffers.reset();
      graph.replay(stream);
      stream.synchronize();
      REQUIRE((buffers.read() == eager));
    }
  }
}

TEST_CASE_METHOD(GpuTest, "graph-replay-new-splits: wgrad equals an eager call", "[named]") {
  INFO(random.note());
  for (const char* pair : {" a=e4m3:1x128 b=e4m3:1x128", " a=e4m3:row b=e4m3:row", " a=e4m3:1x32 b=e4m3:1x32"}) {
    CAPTURE(pair);
    const Problem problem = Problem::parse(fmt::format("wgrad.packed g4 n272 k400{} d=f32", pair));
    const Gemm gemm = runtime().prepare_gemm(problem, {0, 0});
    const FamilyCase first = family_case(problem, {512, 0, 0, 0}, 0, random);
    FamilyBuffers buffers(first);
    const OwnedStream stream;
    const GemmArgs args = buffers.args(gemm);
    const Graph graph = Graph::record(stream, [&] { gemm.launch(args, stream); });
    for (const Sizes& sizes : std::vector<Sizes>{{128, 0, 384, 0}, {1, 127, 129, 0}, {0, 0, 0, 0}, {0, 3, 0, 500}}) {
      CAPTURE(sizes);
      // Quantized anew for these sizes, into the buffers whose addresses the graph holds.
      const FamilyCase next =
          family_case(problem, sizes, 512 - std::accumulate(sizes.begin(), sizes.end(), 0L), random);
      buffers.a.upload(next.a.data(), next.a.size());
      buffers.a_sf.upload(next.a_sf.data(), next.a_sf.size());
      buffers.b.upload(next.b.data(), next.b.size());
      buffers.b_sf.upload(next.b_sf.data(), next.b_sf.size());
      buffers.set_splits(next.groups);
      const Bytes eager = buffers.run(gemm, args);
      REQUIRE(judge(next, eager, random) == "");
      buffers.reset();
      graph.replay(stream);
      stream.synchronize();
      REQUIRE((buffers.read() == eager));
    }
  }
}

}  // namespace octet::test
