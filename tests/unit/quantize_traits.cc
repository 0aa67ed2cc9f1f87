// Which kernels and passes a quantizer has, and the scratch that they share.
#include "runtime/quantize_traits.h"

#include <algorithm>
#include <string>

#include "tests/support/catch.h"

namespace {

using octet::Pass;
using octet::Problem;
using octet::QuantizeShape;
using octet::QuantizeTraits;
using octet::QuantizeWorkspace;

const std::string kTokens = "quantize.packed g8 c2048 in=bf16 ";

std::string passes_text(const std::string& problem) {
  std::string text;
  for (const Pass pass : octet::passes_of(Problem::parse(problem))) {
    text += pass == Pass::main ? " main" : " " + std::string(octet::suffix(pass) + 1);
  }
  return text.substr(1);
}

bool by_tiles(const std::string& problem) { return QuantizeTraits(Problem::parse(problem)).by_tiles; }

// A section of the workspace that a problem needs.
struct Section {
  std::int64_t begin, bytes;
};
// What templates/abi.h says that the pointers hold, in floats.
std::vector<Section> sections_of(const Problem& problem, std::int64_t capacity) {
  const QuantizeWorkspace workspace = octet::quantize_workspace(problem, capacity);
  const QuantizeShape shape = octet::quantize_shape(problem, capacity);
  const std::int64_t column_tiles = (shape.out_columns + 127) / 128, tiles = shape.row_blocks * column_tiles;
  const bool quantizes = problem.op == octet::Operation::quantize;
  const bool tensor = quantizes && problem.out->granularity == octet::Granularity::tensor;
  const bool by_row = quantizes && problem.out->granularity == octet::Granularity::row;
  const bool given = problem.has(octet::Flag::given);
  std::vector<Section> sections;
  const auto need = [&](bool needed, std::int64_t begin, std::int64_t floats) {
    if (needed) sections.push_back({begin, floats * 4});
  };
  const bool row = problem.dir != octet::Direction::col, col = problem.dir != octet::Direction::row;
  const bool current = QuantizeTraits(problem).current;
  need(tensor && !current && (!given || problem.has(octet::Flag::amax)), workspace.tile_amax, tiles);
  // Chunks of 64 threads with 64 elements each, the smallest that there are; every group may have one in part.
  need(current, workspace.tile_amax, (shape.rows * shape.out_columns + 4095) / 4096 + problem.g);
  need(tensor && !given && !current, workspace.group_q, problem.g);
  CHECK(workspace.counter_words == (current ? 1 + problem.g : 0));
  need(current, workspace.counters, workspace.counter_words);
  need(by_row && row, workspace.tile_amax, column_tiles * shape.rows);
  need(by_row && row, workspace.row_q, shape.rows);
  need(by_row && col, workspace.column_amax, shape.row_blocks * shape.out_columns);
  need(by_row && col, workspace.group_q, problem.g * shape.out_columns);
  const bool backward = problem.has(octet::Flag::grad) && problem.act != octet::Activation::none;
  need(backward && problem.has(octet::Flag::probs), workspace.dprobs_partial, column_tiles * shape.rows);
  need(problem.has(octet::Flag::dbias), workspace.dbias_partial, shape.row_blocks * shape.out_columns);
  return sections;
}

void check_workspace(const std::string& text) {
  const Problem problem = Problem::parse(text);
  for (const std::int64_t capacity : {0, 1, 300, 4096}) {
    INFO(text << " capacity " << capacity);
    std::vector<Section> sections = sections_of(problem, capacity);
    const std::int64_t bytes = octet::quantize_workspace(problem, capacity).bytes;
    std::sort(sections.begin(), sections.end(), [](const Section& x, const Section& y) { return x.begin < y.begin; });
    std::int64_t end = 0;
    for (const Section& section : sections) {
      CHECK(section.begin >= end);
      CHECK(section.begin % 256 == 0);
      end = section.begin + section.bytes;
    }
    CHECK(end <= bytes);
    CHECK(bytes - end < 256 * static_cast<std::int64_t>(std::max<std::size_t>(1, sections.size())));
  }
}

}  // namespace

TEST_CASE("traits: what must see all of a group first has passes before, what is added up one behind") {
  CHECK(passes_text(kTokens + "out=e4m3:1x128") == "main");
  CHECK(passes_text(kTokens + "out=e4m3:1x32 dir=row,col") == "main");
  CHECK(passes_text(kTokens + "out=e4m3:128x128 act=swiglu +grad") == "main");
  CHECK(passes_text(kTokens + "out=e4m3:tensor") == "main");  // which waits inside
  CHECK(passes_text(kTokens + "out=e4m3:tensor +amax") == "main");
  CHECK(passes_text(kTokens + "out=e4m3:tensor dir=row,col") == "amax scales main");
  CHECK(passes_text(kTokens + "out=e4m3:tensor act=swiglu") == "amax scales main");
  CHECK(passes_text("quantize.uniform g8 n64 k64 in=bf16 out=e4m3:tensor") == "amax scales main");
  CHECK(passes_text(kTokens + "out=e4m3:tensor +given") == "main");
  CHECK(passes_text(kTokens + "out=e4m3:tensor +given +amax") == "main finish");
  CHECK(passes_text(kTokens + "out=e4m3:row dir=col") == "amax scales main");
  CHECK(passes_text(kTokens + "out=e4m3:row act=gelu +probs +grad") == "amax scales main finish");
  CHECK(passes_text(kTokens + "out=e4m3:1x128 +dbias +grad") == "main finish");
  CHECK(passes_text(kTokens + "out=e4m3:1x128 act=swiglu +probs") == "main");
  CHECK(passes_text(kTokens + "out=e4m3:1x128 act=swiglu +probs +grad") == "main finish");
  CHECK(passes_text("activation.packed g8 c2048 d=bf16 in=bf16 act=swiglu") == "main");
  CHECK(passes_text("activation.packed g8 c2048 d=bf16 in=bf16 act=swiglu +grad +dbias") == "main finish");
  CHECK(passes_text("dequantize.packed g8 c2048 a=e4m3:tensor d=bf16") == "main");
  CHECK(passes_text("convert.packed g8 c2048 a=e4m3:1x32 out=e4m3:1x32@swizzled") == "main");
  CHECK(passes_text("gemm.packed g8 n64 k64 a=e4m3:1x128 b=e4m3:128x128 d=bf16") == "main");
}

TEST_CASE("traits: suffixes of the passes differ, and the main one has none") {
  CHECK(std::string(octet::suffix(Pass::main)).empty());
  CHECK(std::string(octet::suffix(Pass::amax)) == "_amax");
  CHECK(std::string(octet::suffix(Pass::scales)) == "_scales");
  CHECK(std::string(octet::suffix(Pass::finish)) == "_finish");
}

TEST_CASE("traits: rows alone need no tiles, all else does") {
  CHECK_FALSE(by_tiles(kTokens + "out=e4m3:1x128"));
  CHECK_FALSE(by_tiles(kTokens + "out=e4m3:1x128@k_major act=swiglu +bias +probs"));
  CHECK_FALSE(by_tiles(kTokens + "out=e4m3:1x32"));
  CHECK_FALSE(by_tiles(kTokens + "out=e4m3:tensor"));
  CHECK_FALSE(by_tiles(kTokens + "out=e4m3:tensor +given"));
  CHECK_FALSE(by_tiles("activation.padded g8 c2048 al16 d=bf16 in=bf16 act=swiglu"));
  CHECK(by_tiles(kTokens + "out=e4m3:1x128 dir=col"));
  CHECK(by_tiles(kTokens + "out=e4m3:1x128 dir=row,col"));
  CHECK(by_tiles(kTokens + "out=e4m3:1x32@swizzled"));
  CHECK(by_tiles(kTokens + "out=e4m3:row"));
  CHECK(by_tiles(kTokens + "out=e4m3:128x128"));
  CHECK(by_tiles("quantize.uniform g8 n64 k64 in=bf16 out=e4m3:32x32"));
  CHECK(by_tiles(kTokens + "out=e4m3:tensor +given +amax"));
  CHECK(by_tiles(kTokens + "out=e4m3:1x128 act=silu +grad"));
  CHECK(by_tiles(kTokens + "out=e4m3:1x128 +grad +dbias"));
}

TEST_CASE("traits: directions, gradients and where groups must be known") {
  const auto traits = [](const std::string& text) { return QuantizeTraits(Problem::parse(text)); };
  const QuantizeTraits both = traits(kTokens + "out=e4m3:1x128 dir=row,col act=swiglu +grad +probs");
  CHECK((both.row && both.col && both.quantized && both.gated && both.backward && both.both_halves && both.dprobs));
  CHECK_FALSE(traits(kTokens + "out=e4m3:1x128 act=swiglu +grad il=8").both_halves);
  CHECK_FALSE(traits("quantize.packed g8 c2064 in=bf16 out=e4m3:1x128 act=swiglu +grad").both_halves);
  CHECK_FALSE(traits(kTokens + "out=e4m3:1x128 +grad +dbias").backward);
  CHECK_FALSE(traits("activation.packed g8 c64 d=bf16 in=bf16 act=relu").row);
  CHECK_FALSE(traits(kTokens + "out=e4m3:1x128").needs_table);
  CHECK(traits(kTokens + "out=e4m3:tensor").needs_table);
  CHECK(traits(kTokens + "out=e4m3:tensor").current);
  for (const char* other : {"out=e4m3:tensor +given", "out=e4m3:tensor dir=col", "out=e4m3:tensor act=relu",
                            "out=e4m3:tensor +grad +dbias", "out=e4m3:row"}) {
    CHECK_FALSE(traits(kTokens + other).current);
  }
  CHECK(traits(kTokens + "out=e4m3:tensor +given").row_groups);
  CHECK_FALSE(traits(kTokens + "out=e4m3:tensor +given").needs_table);
  CHECK(traits(kTokens + "out=e4m3:1x128 act=relu +bias").row_groups);
  CHECK(traits("quantize.padded g8 c64 al16 in=bf16 out=e4m3:1x128").strips_by_group);
  CHECK_FALSE(traits("quantize.uniform g8 n64 k64 in=bf16 out=e4m3:1x128 dir=col").needs_table);
  CHECK(traits("quantize.masked g8 m64 c64 in=bf16 out=e4m3:1x128 dir=col").whole_extent);
  CHECK_FALSE(traits("quantize.masked g8 m64 c64 in=bf16 out=e4m3:128x128").whole_extent);
}

TEST_CASE("traits: sections of the workspace do not overlap and suffice") {
  for (const std::string layout :
       {"packed g8 c2064", "padded g8 c2064 al16", "masked g8 m300 c2064", "uniform g8 n144 k2064"}) {
    for (const std::string out : {"tensor", "row", "1x128", "128x128", "1x32"}) {
      for (const std::string dir : {"", " dir=col", " dir=row,col"}) {
        for (const std::string act : {"", " act=swiglu", " act=swiglu +grad +probs +dbias", " +grad +dbias"}) {
          check_workspace("quantize." + layout + " in=bf16 out=e4m3:" + out + dir + act);
        }
      }
    }
    check_workspace("quantize." + layout + " in=bf16 out=e4m3:tensor +given");
    check_workspace("quantize." + layout + " in=bf16 out=e4m3:tensor +given +amax act=geglu +grad +dbias");
    check_workspace("activation." + layout + " d=bf16 in=bf16 act=swiglu +grad +probs +dbias");
  }
}

TEST_CASE("traits: what needs no scratch has no workspace") {
  for (const char* rest : {"out=e4m3:1x128 dir=row,col", "out=e4m3:1x32@swizzled", "out=e4m3:tensor +given",
                           "out=e4m3:128x128 act=swiglu +grad"}) {
    CHECK(octet::quantize_workspace(Problem::parse(kTokens + rest), 4096).bytes == 0);
  }
  // One float for each tile of 128 x 128, and one for each group: 32 + 8 row blocks, 16 column tiles.
  CHECK(octet::quantize_workspace(Problem::parse(kTokens + "out=e4m3:tensor dir=col"), 4096).bytes ==
        40 * 16 * 4 + 256);
}

TEST_CASE("traits: column tiles are those of what is written") {
  CHECK(octet::column_tiles(octet::quantize_shape(Problem::parse(kTokens + "out=e4m3:1x128"))) == 16);
  CHECK(octet::column_tiles(octet::quantize_shape(Problem::parse(kTokens + "out=e4m3:1x128 act=swiglu"))) == 16);
  CHECK(octet::column_tiles(octet::quantize_shape(Problem::parse(kTokens + "out=e4m3:1x128 act=swiglu +grad"))) == 32);
  CHECK(octet::column_tiles(octet::quantize_shape(Problem::parse("quantize.packed g8 c144 in=bf16 out=e4m3:1x128"))) ==
        2);
}
