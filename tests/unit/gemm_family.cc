// The GEMM family as a whole: what the rules accept, what selection takes, and what follows from problem and config.
#include <algorithm>
#include <set>
#include <string>

#include "octet/explain.h"
#include "octet/layout.h"
#include "octet/runtime.h"
#include "runtime/candidates.h"
#include "runtime/cost.h"
#include "runtime/gemm_traits.h"
#include "runtime/param_tables.h"
#include "runtime/portable_traits.h"
#include "runtime/shared_memory.h"
#include "runtime/wgmma_gemm.h"
#include "tests/support/catch.h"

namespace {

using octet::GemmConfig;
using octet::GemmTraits;
using octet::PortableConfig;
using octet::Problem;
using octet::Spec;

const char* const kLayouts[] = {"packed g8", "padded g8 al64", "masked g8 m300", "dense g1"};
struct Pair {
  std::string a, b;
};
const Pair kForward[] = {{"tensor", "tensor"}, {"row", "row"},   {"1x128", "128x128"},
                         {"1x128", "1x128"},   {"1x32", "1x32"}, {"1x32", "32x32"}};
const Pair kWgrad[] = {
    {"tensor", "tensor"}, {"row", "row"}, {"1x128", "1x128"}, {"1x128", "128x128"}, {"1x32", "1x32"}};

std::string line(const std::string& op, const std::string& layout, const Pair& pair, const std::string& rest) {
  return op + "." + layout + " n4096 k7168 a=e4m3:" + pair.a + " b=e4m3:" + pair.b + " " + rest;
}

// Every problem of the family, one choice of everything that does not multiply.
std::vector<Problem> family() {
  std::vector<Problem> problems;
  for (const char* layout : kLayouts) {
    for (const char* d : {"d=bf16", "d=fp16", "d=f32"}) {
      for (const Pair& pair : kForward) {
        for (const char* dir : {"", " dir=col"})
          problems.push_back(Problem::parse(line("gemm", layout, pair, d) + dir));
      }
      for (const Pair& pair : kWgrad) problems.push_back(Problem::parse(line("wgrad", layout, pair, d)));
    }
  }
  return problems;
}

Spec chosen(const std::string& text, std::int64_t expected_m = 0) {
  return octet::select(Problem::parse(text), {}, expected_m);
}
bool is_portable(const Spec& spec) { return std::holds_alternative<PortableConfig>(spec.config); }
const GemmConfig& wgmma(const Spec& spec) { return std::get<GemmConfig>(spec.config); }

void check_accepted(const std::string& text) {
  INFO(text);
  const Problem problem = Problem::parse(text);
  CHECK(problem.to_string() == text);
  CHECK_FALSE(octet::explain(problem).refused);
  CHECK_NOTHROW(octet::select(problem));
}

GemmTraits traits(const std::string& text, const GemmConfig& config) { return {Problem::parse(text), config}; }

}  // namespace

TEST_CASE("family: every pair of recipes has a kernel in every layout, direction and output type, on every arch") {
  for (const Problem& problem : family()) {
    INFO(problem.to_string());
    CHECK_FALSE(octet::explain(problem).refused);
    for (const char* arch : {"sm_90a", "sm_89", "sm_100a", "sm_120a"}) {
      INFO(arch);
      CHECK_NOTHROW(octet::select(problem, octet::DeviceFacts::for_arch(arch)));
    }
  }
}

TEST_CASE("family: every mix of e4m3 and e5m2, every flag and pointers are accepted where they mean something") {
  for (const std::string a : {"e4m3", "e5m2"}) {
    for (const std::string b : {"e4m3", "e5m2"}) {
      check_accepted("gemm.packed g8 n64 k64 a=" + a + ":1x128 b=" + b + ":128x128 d=bf16");
      check_accepted("wgrad.packed g8 n64 k64 a=" + a + ":1x128 b=" + b + ":1x128 d=f32");
      check_accepted("gemm.packed g8 n64 k64 a=" + a + ":1x32 b=" + b + ":32x32 d=bf16");
    }
  }
  const std::string tensors = " a=e4m3:tensor b=e4m3:tensor d=f32";
  check_accepted("gemm.packed g8 n64 k64" + tensors + " splits=i64/starts w=pointers +bias +acc +fastacc +checked");
  check_accepted("gemm.dense g1 n64 k64" + tensors + " dir=col w=pointers +bias +acc +fastacc");
  check_accepted("wgrad.masked g8 m64 n64 k64" + tensors + " splits=i64 w=pointers +acc +fastacc +checked");
  check_accepted("wgrad.dense g1 n64 k64" + tensors + " w=pointers +acc +fastacc");
  check_accepted("gemm.packed g8 n8 k16 a=e4m3:1x128:pow2 b=e4m3:128x128:pow2@block2d_t d=bf16");
  check_accepted("gemm.packed g8 n64 k64 a=e4m3:1x128@k_major b=e4m3:1x128@k_major d=bf16");
  check_accepted("gemm.packed g8 n64 k64 a=e4m3:1x32@swizzled b=e4m3:1x32@swizzled d=bf16");
}

TEST_CASE("family: what wgmma does not read yet falls back to the portable kernel, and says by which rule") {
  struct Row {
    std::string problem, rule;
  };
  const Row rows[] = {
      {"gemm.packed g8 n4096 k7168 a=e4m3:1x128@k_major b=e4m3:128x128 d=bf16", "gemm.wgmma-scales"},
      {"gemm.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128@k_major d=bf16", "gemm.wgmma-scales"},
  };
  for (const Row& row : rows) {
    INFO(row.problem);
    const octet::Explanation explanation = octet::explain(Problem::parse(row.problem));
    REQUIRE(explanation.chosen >= 0);
    CHECK(is_portable(explanation.candidates[static_cast<std::size_t>(explanation.chosen)].spec));
    for (std::size_t i = 0; i < octet::gemm_candidates().size(); ++i) {
      REQUIRE(explanation.candidates[i].refused);
      CHECK(explanation.candidates[i].refused->rule == row.rule);
      CHECK(explanation.candidates[i].refused->code == octet::ErrorCode::no_kernel);
    }
  }
}

TEST_CASE("family: MX takes the kernel of its own, with pointers the portable one") {
  for (const std::string text : {"gemm.packed g8 n4096 k7168 a=e4m3:1x32 b=e4m3:32x32 d=bf16",
                                 "gemm.masked g8 m128 n4096 k7168 a=e4m3:1x32@swizzled b=e4m3:1x32 d=f32 +acc",
                                 "wgrad.packed g8 n4096 k7168 a=e4m3:1x32 b=e4m3:1x32 d=f32"}) {
    INFO(text);
    const octet::Explanation explanation = octet::explain(Problem::parse(text));
    REQUIRE(explanation.chosen >= 0);
    CHECK(static_cast<std::size_t>(explanation.chosen) < octet::mx_candidates().size());
    for (std::size_t i = 0; i < octet::gemm_candidates().size(); ++i) {
      const octet::Candidate& candidate = explanation.candidates[octet::mx_candidates().size() + i];
      REQUIRE(candidate.refused);
      CHECK(candidate.refused->rule == "gemm.wgmma-scales");
    }
  }
  const Problem pointers = Problem::parse("gemm.packed g8 n4096 k7168 a=e4m3:1x32 b=e4m3:32x32 d=bf16 w=pointers");
  CHECK(is_portable(octet::select(pointers)));
  CHECK(octet::explain(pointers).candidates.front().refused->rule == "mx.weights");
}

TEST_CASE("family: elsewhere than on sm_90a the portable configs are the only candidates") {
  for (const char* arch : {"sm_89", "sm_100a", "sm_120a"}) {
    const octet::Explanation explanation = octet::explain(family().front(), octet::DeviceFacts::for_arch(arch));
    CHECK(explanation.candidates.size() == octet::portable_candidates().size());
    CHECK(explanation.chosen >= 0);
  }
}

TEST_CASE("family: what wgmma reads never takes the portable kernel") {
  for (const Problem& problem : family()) {
    if (problem.a->granularity == octet::Granularity::mx_1x32) continue;
    INFO(problem.to_string());
    for (const std::int64_t m : {1, 16, 17, 32, 64, 65, 4096}) CHECK_FALSE(is_portable(octet::select(problem, {}, m)));
  }
}

TEST_CASE("family: the set of kernels is closed and changes only at the breakpoints") {
  for (const std::string text : {"wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc",
                                 "gemm.masked g32 m4096 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
                                 "gemm.packed g8 n4096 k7168 a=e4m3:tensor b=e4m3:tensor d=f32",
                                 "gemm.packed g8 n4096 k7168 a=e4m3:1x32 b=e4m3:32x32 d=bf16"}) {
    INFO(text);
    const Problem problem = Problem::parse(text);
    const std::vector<Spec> specs = octet::variants(problem, 16384);
    const octet::Explanation explanation = octet::explain(problem);
    std::set<std::string> names, used;
    for (const Spec& spec : specs) CHECK(names.insert(spec.name()).second);
    std::size_t at = 0;
    for (int index = 1; index <= octet::kBuckets; ++index) {
      const std::int64_t m = octet::first_rows(index);
      if (at + 1 < explanation.breakpoints.size() && explanation.breakpoints[at + 1].from == m) ++at;
      const std::string name = octet::select(problem, {}, m).name();
      CHECK(name == explanation.breakpoints[at].spec_name);
      CHECK(name == octet::select(problem, {}, octet::last_rows(index)).name());
      used.insert(name);
    }
    CHECK(used == names);
    CHECK(octet::variants(problem, 16).size() <= specs.size());
  }
}

TEST_CASE("family: a decode step with a block or two for each multiprocessor takes a swapped config") {
  for (const std::string text : {"gemm.masked g8 m128 n512 k7168 a=e4m3:tensor b=e4m3:tensor d=bf16",
                                 "gemm.masked g1 m4096 n4096 k7168 a=e4m3:row b=e4m3:row d=bf16"}) {
    INFO(text);
    CHECK(wgmma(chosen(text, 8)).swapped);
  }
}

TEST_CASE("family: K is split where a deep sum has too few tiles for the multiprocessors, and nowhere else") {
  const std::string blocks = " a=e4m3:1x128 b=e4m3:128x128 d=bf16";
  const auto split = [&](const std::string& sizes, std::int64_t rows) {
    return wgmma(chosen(sizes + blocks, rows)).split_k;
  };
  CHECK(split("gemm.dense g1 n4096 k7168", 1) > 1);
  CHECK(split("gemm.dense g1 n4096 k7168", 64) > 1);
  CHECK(split("gemm.packed g1 n4096 k7168", 16) > 1);
  CHECK(split("gemm.masked g6 m4096 n4096 k2048", 20) == 1);  // measured: 21.8 us, 20.4 without
  CHECK(split("gemm.dense g1 n4096 k7168", 1024) == 1);
  CHECK(split("gemm.dense g1 n4096 k128", 128) == 1);   // one block along K
  CHECK(split("gemm.dense g1 n65536 k7168", 16) == 1);  // memory decides
  CHECK(split("gemm.masked g32 m4096 n6144 k7168", 20) == 1);
  CHECK(split("gemm.masked g64 m512 n4096 k2048", 4) == 1);
  CHECK(split("gemm.packed g8 n4096 k7168", 4096) == 1);
}

TEST_CASE("family: a large wgrad takes 256 x 128, and none is ever swapped or in a cluster along M") {
  const std::string text = "wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc";
  CHECK(wgmma(chosen(text, 4096)).block_m == 256);
  CHECK(wgmma(chosen(text, 4096)).block_n == 128);
  for (const Spec& spec : octet::variants(Problem::parse(text), 16384)) {
    CHECK_FALSE(wgmma(spec).swapped);
    CHECK(wgmma(spec).cluster_m == 1);
  }
}

TEST_CASE("family: names of specs are unique") {
  std::set<std::string> names;
  std::size_t specs = 0;
  for (const Problem& problem : family()) {
    for (const octet::Candidate& candidate : octet::explain(problem).candidates) {
      names.insert(candidate.spec.name());
      ++specs;
    }
  }
  CHECK(names.size() == specs);
}

TEST_CASE("family: configs print short, with what is not the default") {
  CHECK(to_string(octet::Config(GemmConfig{64, 32, 1, 1, 4, 1, 1, false, true, 4})) ==
        "bm64 bn32 wg1x1 st4 cl1x1 swap b4");
  CHECK(to_string(octet::Config(GemmConfig{64, 128, 1, 1, 4, 1, 1, false, false, 2})) ==
        "bm64 bn128 wg1x1 st4 cl1x1 b2");
  CHECK(to_string(octet::Config(PortableConfig{16, 128, 1, 4, 4})) == "portable bm16 bn128 w1x4 st4");
}

TEST_CASE("traits: left is A and right is B, the other way round where swapped") {
  const std::string packed = "gemm.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=bf16";
  const GemmTraits plain = traits(packed, {128, 256, 2, 1, 4, 1, 1, false});
  CHECK(plain.left_vector);
  CHECK_FALSE(plain.right_vector);
  CHECK(plain.tile_scales);
  CHECK(plain.left_boxes.count == 1);
  CHECK(plain.left_boxes.rows == 132);  // from any row on: 4 more
  CHECK(plain.tile_scale_rows == 2);
  CHECK(plain.step == 128);
  CHECK(plain.slabs == 1);
  CHECK(plain.steps == 2);

  const GemmTraits swapped = traits(packed, {64, 32, 1, 1, 4, 1, 1, false, true, 4});
  CHECK_FALSE(swapped.left_vector);
  CHECK(swapped.right_vector);
  CHECK(swapped.right_boxes.rows == 36);
  CHECK(swapped.tile_scale_rows == 1);
  CHECK(swapped.step == 32);
  CHECK(swapped.chunk_rows == 32);
  CHECK(swapped.tile_rows == 32);
  CHECK(swapped.tile_columns == 64);

  const GemmTraits wgrad =
      traits("wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32", {256, 128, 2, 1, 4, 1, 2, false});
  CHECK(wgrad.left_vector);
  CHECK(wgrad.right_vector);
  CHECK_FALSE(wgrad.token_vector);
  CHECK(wgrad.left_boxes.count == 1);
  CHECK(wgrad.left_boxes.rows == 256);  // blocks start at multiples of 128: nothing more
  CHECK(wgrad.right_boxes.rows == 128);
  CHECK(wgrad.d_columns == 7168);
  CHECK(wgrad.element_bytes == 4);

  const GemmTraits streamed =
      traits("wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=f32", {256, 128, 2, 1, 4, 1, 2, false});
  CHECK(streamed.streamed_scales);
  CHECK_FALSE(streamed.right_vector);
  const GemmTraits tensors =
      traits("gemm.packed g8 n4096 k7168 a=e4m3:tensor b=e4m3:tensor d=bf16", {128, 256, 2, 1, 4, 1, 1, false});
  CHECK(tensors.group_scales);
  CHECK(tensors.left_boxes.count == 0);
  CHECK(tensors.right_boxes.count == 0);
}

TEST_CASE("traits: of the portable kernel") {
  const auto portable = [](const char* text) { return octet::PortableTraits(Problem::parse(text)); };
  CHECK(portable("gemm.packed g8 n64 k64 a=e4m3:1x32 b=e4m3:32x32 d=bf16").scales_per_stage == 4);
  CHECK(portable("gemm.packed g8 n64 k64 a=e4m3:1x128 b=e4m3:1x128 d=bf16").scales_per_stage == 1);
  CHECK(portable("gemm.packed g8 n64 k64 a=e4m3:row b=e4m3:row d=bf16").scales_per_stage == 0);
  CHECK(portable("gemm.packed g8 n64 k64 a=e4m3:1x32@swizzled b=e4m3:1x32 d=bf16").first_blocks);
  CHECK(portable("wgrad.packed g8 n64 k64 a=e4m3:1x32 b=e4m3:1x32 d=bf16").sub_blocks);
  CHECK_FALSE(portable("wgrad.masked g8 m64 n64 k64 a=e4m3:1x32 b=e4m3:1x32 d=bf16").group_table);
  CHECK(portable("gemm.masked g8 m64 n64 k64 a=e4m3:1x32 b=e4m3:1x32 d=bf16").group_table);
}

TEST_CASE("layout: the quantizers of A and B say how operands lie") {
  const auto a = [](const char* text) { return octet::a_producer(Problem::parse(text)).to_string(); };
  const auto b = [](const char* text) { return octet::b_producer(Problem::parse(text)).to_string(); };
  const char* forward = "gemm.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=bf16 splits=i64";
  CHECK(a(forward) == "quantize.packed g8 c7168 in=bf16 out=e4m3:1x128 splits=i64");
  CHECK(b(forward) == "quantize.uniform g8 n4096 k7168 in=bf16 out=e4m3:128x128");
  const char* dgrad = "gemm.masked g8 m300 n4096 k7168 a=e5m2:1x128 b=e4m3:128x128 d=bf16 dir=col";
  CHECK(a(dgrad) == "quantize.masked g8 m300 c7168 in=bf16 out=e5m2:1x128");
  CHECK(b(dgrad) == "quantize.uniform g8 n7168 k4096 in=bf16 out=e4m3:128x128 dir=col");
  const char* wgrad = "wgrad.padded g8 n4096 k7168 al64 a=e5m2:1x128 b=e4m3:1x128 d=f32";
  CHECK(a(wgrad) == "quantize.padded g8 c4096 al64 in=bf16 out=e5m2:1x128 dir=col");
  CHECK(b(wgrad) == "quantize.padded g8 c7168 al64 in=bf16 out=e4m3:1x128 dir=col");
  for (const Problem& problem : family()) {
    INFO(problem.to_string());
    CHECK_FALSE(octet::explain(octet::a_producer(problem)).refused);
    CHECK_FALSE(octet::explain(octet::b_producer(problem)).refused);
  }
}

TEST_CASE("layout: an operand's layout prints as rows, direction and scales") {
  using octet::Layout;
  using octet::ScaleLayout;
  CHECK(to_string(octet::OperandLayout{Layout::packed, ScaleLayout::mn_major, 0, false}) == "packed/mn_major");
  CHECK(to_string(octet::OperandLayout{Layout::padded, ScaleLayout::col_mn_major, 128, true}) ==
        "padded:128/col/col_mn_major");
  CHECK(to_string(octet::OperandLayout{Layout::uniform, ScaleLayout::mx_32x32, 0, true}) == "uniform/col/mx_32x32");
}

TEST_CASE("checked: what the device found reads as a sentence") {
  const std::int32_t fine[4] = {0, 0, 0, 0}, negative[4] = {1, 3, -5, 0}, past[4] = {2, 7, 4100, 4096},
                     down[4] = {3, 2, 10, 20};
  CHECK(octet::status_text(fine).empty());
  CHECK(octet::status_text(negative) == "splits[3] is -5: no size is negative");
  CHECK(octet::status_text(past) ==
        "splits[7] is 4100, past the 4096 rows of the buffers (capacity, or max_m of masked)");
  CHECK(octet::status_text(down) ==
        "splits[2] is 10, before 20: ends and starts never go down, and groups start where they may");
  CHECK(octet::status_text({4, 1, 118, 100}) ==
        "splits[1] lets its group end at row 118, past the 100 rows of the buffers (capacity)");
  CHECK(octet::status_text({5, 0, 100, 128}) ==
        "splits[0] lets its group end at row 100, no multiple of 128, as DeepGEMM's packing has them");
}

TEST_CASE("workspace: maps and pointers of w=pointers, and maps of DeepGEMM's blocks") {
  const auto wgmma = [](const std::string& text) { return octet::wgmma_workspace_bytes(Problem::parse(text)); };
  const std::string blocks = " a=e4m3:1x128 b=e4m3:128x128 d=bf16", columns = " a=e4m3:1x128 b=e4m3:1x128 d=f32";
  CHECK(wgmma("gemm.packed g8 n64 k64" + blocks) == 0);
  CHECK(wgmma("wgrad.packed g8 n64 k64" + columns) == 0);
  // A map has 128 bytes: for each group one of the weights, and one of their scales or room for a pointer to them.
  CHECK(wgmma("gemm.packed g8 n64 k64" + blocks + " w=pointers") == 8 * 2 * 128);
  CHECK(wgmma("gemm.packed g1024 n64 k64" + columns + " w=pointers") == 1024 * 2 * 128);
  CHECK(wgmma("wgrad.masked g8 m64 n64 k64" + columns + " w=pointers") == 8 * 2 * 128);
  // And of A and of B as DeepGEMM packs them, behind those.
  CHECK(wgmma("wgrad.packed g8 n64 k64" + columns + " from=deepgemm") == 8 * 4 * 128);
  CHECK(wgmma("wgrad.packed g8 n64 k64" + columns + " from=deepgemm w=pointers") == 8 * 4 * 128);
}

TEST_CASE("w=pointers: parameters with a map and a pointer for each group, up to the limit") {
  const std::string blocks = " n64 k64 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
                    columns = " n64 k64 a=e4m3:1x128 b=e4m3:1x128 d=f32";
  const auto problem = [](const char* op, int groups, const std::string& rest) {
    return Problem::parse(std::string(op) + ".packed g" + std::to_string(groups) + rest);
  };
  // 768 bytes of their own; 128 of a map, 8 of a pointer, and the whole a multiple of a map's alignment.
  CHECK(octet::wgmma_param_bytes(problem("gemm", 1, blocks + " w=pointers")) == 768 + 192);
  CHECK(octet::wgmma_param_bytes(problem("gemm", 8, blocks + " w=pointers")) == 768 + 8 * 136);
  CHECK(octet::wgmma_param_bytes(problem("gemm", 8, columns + " w=pointers")) == 768 + 8 * 256);
  CHECK(octet::wgmma_param_bytes(problem("wgrad", 8, columns + " w=pointers")) == 768 + 8 * 128);
  CHECK(octet::wgmma_param_bytes(problem("wgrad", 8, columns + " w=pointers +acc")) == 768 + 8 * 136);
  CHECK(octet::portable_param_bytes(problem("gemm", 1024, blocks + " w=pointers")) == 128 + 1024 * 16);
  CHECK(octet::portable_param_bytes(problem("wgrad", 1024, columns + " w=pointers")) == 128 + 1024 * 8);
  struct Row {
    const char* op;
    std::string rest;
    int most;        // groups that fit into 10240 bytes
    int arrays = 2;  // that a pass reads otherwise
  };
  for (const Row& row : {Row{"gemm", blocks, 69}, Row{"gemm", columns, 37}, Row{"wgrad", columns, 74, 1},
                         Row{"wgrad", columns + " +acc", 69}}) {
    CAPTURE(row.op, row.rest);
    const std::string pointers = row.rest + " w=pointers";
    CHECK(octet::tables_fit(problem(row.op, row.most, pointers)));
    CHECK(octet::map_passes(problem(row.op, row.most, pointers)) == 0);
    CHECK_FALSE(octet::tables_fit(problem(row.op, row.most + 1, pointers)));
    CHECK(octet::map_passes(problem(row.op, row.most + 1, pointers)) == row.arrays);
    CHECK(octet::map_passes(problem(row.op, 449, pointers)) == 2 * row.arrays);
    CHECK_FALSE(octet::tables_fit(problem(row.op, row.most, row.rest)));
    CHECK(octet::map_passes(problem(row.op, 449, row.rest)) == 0);
  }
  // DeepGEMM's blocks lie where the splits on the device say.
  CHECK(octet::map_passes(problem("wgrad", 8, columns + " from=deepgemm")) == 2);
  CHECK_FALSE(octet::tables_fit(problem("wgrad", 8, columns + " from=deepgemm w=pointers")));
  CHECK(octet::map_passes(problem("wgrad", 8, columns + " from=deepgemm w=pointers")) == 3);
  CHECK(octet::map_passes(problem("wgrad", 100, columns + " from=deepgemm w=pointers +acc")) == 4);
}

TEST_CASE("deepgemm: its blocks are read where they lie, by wgmma alone") {
  const std::string text = "wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32 from=deepgemm";
  for (const std::string flags : {"", " +acc", " w=pointers", " splits=i64/ends"}) check_accepted(text + flags);
  for (const octet::Candidate& candidate : octet::explain(Problem::parse(text)).candidates) {
    if (is_portable(candidate.spec)) CHECK(candidate.refused->rule == "portable.own-packing");
  }
  CHECK_FALSE(is_portable(chosen(text)));
  CHECK_THROWS_WITH(octet::select(Problem::parse(text), octet::DeviceFacts::for_arch("sm_120a")),
                    Catch::Contains("from=deepgemm: not with mma.sync") &&
                        Catch::Contains("convert the operands with a convert problem"));
  // The operands are still those of the columnwise quantizer, in another order.
  CHECK(octet::a_producer(Problem::parse(text)).to_string() ==
        "quantize.packed g8 c4096 in=bf16 out=e4m3:1x128 dir=col");
}

TEST_CASE("shared memory: a wgrad has scales of both sides, longer tiles and where the groups lie") {
  const Problem problem = Problem::parse("wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32");
  const std::int64_t ab = 4 * (256 + 128) * 128;
  const std::int64_t staging = 2 * 64 * 128;        // 64 rows of 128 bytes for each of two warpgroups
  const std::int64_t scales = 4 * (256 + 128) * 4;  // of rows and of columns
  const std::int64_t rest = 2 * 32 + (4 + 2) * 16 + 8 * 8;
  CHECK(ab + staging + scales + rest == 219360);
  CHECK(octet::gemm_shared_memory_bytes(problem, {256, 128, 2, 1, 4, 1, 2, false}) == 220160);  // 215 KiB
}

TEST_CASE("shared memory: a swapped tile stages as many rows as it has tokens") {
  const Problem problem = Problem::parse("gemm.masked g32 m512 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=bf16");
  const std::int64_t ab = 4 * (64 + 32) * 128;
  const std::int64_t staging = 32 * 128;
  const std::int64_t scales = 4 * 64 * 4;  // 32 + 4 tokens, in whole 128 bytes
  const std::int64_t tile_sf = 2 * 1 * 56 * 4;
  const std::int64_t rest = 2 * 16 + (4 + 2) * 16 + 8 + 32 * 14;
  CHECK(ab + staging + scales + tile_sf + rest == 55304);
  CHECK(octet::gemm_shared_memory_bytes(problem, {64, 32, 1, 1, 4, 1, 1, false, true, 4}) == 56320);  // 55 KiB
}

TEST_CASE("shared memory: where K is split a warpgroup has room for all sums of its tile, and a mailbox's barriers") {
  const Problem problem = Problem::parse("gemm.masked g32 m512 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=bf16");
  const std::int64_t ab = 5 * (128 + 32) * 128;
  const std::int64_t mail = 2 * 64 * 32 * 4;  // two warpgroups, 64 weights by 32 tokens of f32 each
  const std::int64_t scales = 5 * 64 * 4;
  const std::int64_t tile_sf = 2 * 1 * 56 * 4;
  const std::int64_t rest = 2 * 16 + (5 + 2) * 16 + 2 * 16 + 8 + 32 * 14;
  CHECK(ab + mail + scales + tile_sf + rest == 121144);
  const std::int64_t bytes = 121856;  // 119 KiB
  CHECK(octet::gemm_shared_memory_bytes(problem, {128, 32, 2, 1, 5, 1, 1, false, true, 1, 2}) == bytes);
  CHECK(octet::gemm_shared_memory_bytes(problem, {128, 32, 2, 1, 5, 1, 1, false, true, 1, 4}) == bytes);
}

TEST_CASE("shared memory: a whole tile of f32 is twice one of bf16") {
  const std::string text = "gemm.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=";
  const GemmConfig config{64, 256, 1, 2, 4, 2, 1, true};
  CHECK(octet::gemm_shared_memory_bytes(Problem::parse(text + "f32"), config) -
            octet::gemm_shared_memory_bytes(Problem::parse(text + "bf16"), config) ==
        64 * 256 * 2);
}

TEST_CASE("family: how an operand is packed is part of its layout, and of its text") {
  const octet::OperandLayout own{octet::Layout::packed, octet::ScaleLayout::col_mn_major, 0, true};
  octet::OperandLayout blocks = own;
  blocks.packing = octet::Packing::deepgemm;
  CHECK(blocks != own);
  CHECK(octet::to_string(own) == "packed/col/col_mn_major");
  CHECK(octet::to_string(blocks) == "packed/col/col_mn_major/deepgemm");
}

TEST_CASE("family: what is expected of a masked group is at most what it has room for") {
  const Problem problem = Problem::parse("gemm.masked g3 m7 n576 k512 a=e4m3:1x128 b=e4m3:128x128 d=bf16");
  const std::string unsaid = octet::to_text(octet::explain(problem));
  CHECK(unsaid.find("not said, counts as 7 rows per group") != std::string::npos);
  const std::string said = octet::to_text(octet::explain(problem, {}, 5000));
  CHECK(said.find("7 rows per group, as masked groups have no more") != std::string::npos);
  const octet::Explanation explanation = octet::explain(problem);
  REQUIRE(explanation.breakpoints.size() == 1);
}
