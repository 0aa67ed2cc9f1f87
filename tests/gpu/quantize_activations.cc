// Activations, forward and backward, alone and fused with the quantizers.
#include <fmt/format.h>

#include "tests/gpu/quantize_cells.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

constexpr int kInterleavings[] = {0, 1, 8, 16, 32, 64};  // 0: two halves

// "act=swiglu gate=second il=8" and so on, all that an activation has.
std::vector<std::string> arrangements(const std::string& activation) {
  if (!gated(activation)) return {"act=" + activation};
  std::vector<std::string> all;
  for (const int interleaving : kInterleavings) {
    const std::string il = interleaving == 0 ? "" : fmt::format(" il={}", interleaving);
    for (const char* gate : {"", " gate=second"}) all.push_back("act=" + activation + gate + il);
  }
  return all;
}

const std::vector<std::string> kForwardFlags = {"", " +probs", " +bias", " +bias +probs"};
const std::vector<std::string> kBackwardFlags = {" +grad", " +grad +probs", " +grad +dbias", " +grad +bias +dbias",
                                                 " +grad +bias +probs +dbias"};
const std::vector<std::string> kTypes = {"bf16", "fp16", "f32"};
const std::vector<std::string> kTokens = {"packed g7", "padded g7 al32", "masked g7 m144"};

std::vector<Problem> activation_cells(const std::vector<std::string>& flags) {
  std::vector<Problem> problems;
  std::size_t turn = 0;
  for (const std::string& activation : activations()) {
    for (const std::string& arrangement : arrangements(activation)) {
      const std::string type = pick(kTypes, turn), layout = pick(kTokens, turn / kTypes.size());
      problems.push_back(Problem::parse(
          fmt::format("activation.{} c192 in={} d={} {}{}", layout, type, type, arrangement, pick(flags, turn))));
      ++turn;
    }
    ++turn;  // 13 for each: no arrangement keeps its type and flags
  }
  return problems;
}

std::vector<Problem> fused_cells(const std::vector<std::string>& flags) {
  std::vector<Problem> problems;
  std::size_t turn = 0;
  for (const std::string& activation : activations()) {
    for (const std::string& recipe : token_recipes()) {
      const std::vector<std::string> ways = arrangements(activation);
      for (const std::string& direction : directions()) {
        problems.push_back(Problem::parse(
            fmt::format("quantize.{} c192 in={} {} out={}:{} dir={}{}", pick(kTokens, turn), pick(kTypes, turn / 2),
                        pick(ways, turn), turn % 5 == 0 ? "e5m2" : "e4m3", recipe, direction, pick(flags, turn))));
        ++turn;
      }
    }
    turn += 3;  // 27 for each: no recipe keeps its type, layout and flags
  }
  return problems;
}

// What layers of models use, in full.
std::vector<Problem> swiglu_cells(const std::vector<std::string>& flags) {
  std::vector<Problem> problems;
  for (const std::string& recipe : token_recipes()) {
    for (const std::string& direction : directions()) {
      for (const std::string& flag : flags) {
        problems.push_back(Problem::parse(
            fmt::format("quantize.packed g7 c144 in=bf16 act=swiglu out=e4m3:{} dir={}{}", recipe, direction, flag)));
      }
    }
  }
  return problems;
}

// What only weights have.
std::vector<Problem> weight_cells() {
  std::vector<Problem> problems;
  for (const char* activation : {"swiglu", "gelu", "clamped_swiglu"}) {
    for (const char* recipe : {"128x128@block2d_t", "128x128:pow2", "32x32", "1x32@swizzled"}) {
      for (const std::string& direction : directions()) {
        problems.push_back(Problem::parse(fmt::format("quantize.uniform g3 n144 k192 in=bf16 act={} out=e4m3:{} dir={}",
                                                      activation, recipe, direction)));
      }
    }
  }
  return problems;
}

// Every `of`-th cell: lists are split among test cases, which run and compile in parallel.
std::vector<Problem> part(const std::vector<Problem>& cells, std::size_t first, std::size_t of) {
  std::vector<Problem> chosen;
  for (std::size_t i = first; i < cells.size(); i += of) chosen.push_back(cells[i]);
  return chosen;
}

}  // namespace

// 5 activations without a gate and 8 with 12 arrangements each: 101 cells.
TEST_CASE_METHOD(GpuTest, "activation: all of them forward, with every arrangement of the gate") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("activations, forward", activation_cells(kForwardFlags), random), 101) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: all of them backward, with every arrangement of the gate, part 1") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("activations, backward, part 1", part(activation_cells(kBackwardFlags), 0, 2), random),
                    50) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: all of them backward, with every arrangement of the gate, part 2") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("activations, backward, part 2", part(activation_cells(kBackwardFlags), 1, 2), random),
                    50) == "");
}

// 13 activations by 8 recipes by 3 directions: 312 cells; 8 recipes by 3 directions by the flags. Refused are the 13 of
// 1x128@k_major with dir=col, which all fall into one part.
TEST_CASE_METHOD(GpuTest, "activation: fused with every recipe and direction, forward, part 1") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("fused, forward, part 1", part(fused_cells(kForwardFlags), 0, 6), random), 47) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: fused with every recipe and direction, forward, part 2") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("fused, forward, part 2", part(fused_cells(kForwardFlags), 1, 6), random), 39) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: fused with every recipe and direction, forward, part 3") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("fused, forward, part 3", part(fused_cells(kForwardFlags), 2, 6), random), 47) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: fused with every recipe and direction, forward, part 4") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("fused, forward, part 4", part(fused_cells(kForwardFlags), 3, 6), random), 47) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: fused with every recipe and direction, forward, part 5") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("fused, forward, part 5", part(fused_cells(kForwardFlags), 4, 6), random), 47) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: fused with every recipe and direction, forward, part 6") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("fused, forward, part 6", part(fused_cells(kForwardFlags), 5, 6), random), 47) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: swiglu with every recipe, forward, part 1") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("swiglu, forward, part 1", part(swiglu_cells(kForwardFlags), 0, 3), random), 24) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: swiglu with every recipe, forward, part 2") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("swiglu, forward, part 2", part(swiglu_cells(kForwardFlags), 1, 3), random), 24) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: swiglu with every recipe, forward, part 3") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("swiglu, forward, part 3", part(swiglu_cells(kForwardFlags), 2, 3), random), 24) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: fused with every recipe and direction, backward, part 1") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("fused, backward, part 1", part(fused_cells(kBackwardFlags), 0, 8), random), 35) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: fused with every recipe and direction, backward, part 2") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("fused, backward, part 2", part(fused_cells(kBackwardFlags), 1, 8), random), 35) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: fused with every recipe and direction, backward, part 3") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("fused, backward, part 3", part(fused_cells(kBackwardFlags), 2, 8), random), 35) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: fused with every recipe and direction, backward, part 4") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("fused, backward, part 4", part(fused_cells(kBackwardFlags), 3, 8), random), 35) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: fused with every recipe and direction, backward, part 5") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("fused, backward, part 5", part(fused_cells(kBackwardFlags), 4, 8), random), 35) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: fused with every recipe and direction, backward, part 6") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("fused, backward, part 6", part(fused_cells(kBackwardFlags), 5, 8), random), 26) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: fused with every recipe and direction, backward, part 7") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("fused, backward, part 7", part(fused_cells(kBackwardFlags), 6, 8), random), 35) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: fused with every recipe and direction, backward, part 8") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("fused, backward, part 8", part(fused_cells(kBackwardFlags), 7, 8), random), 35) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: swiglu with every recipe, backward, part 1") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("swiglu, backward, part 1", part(swiglu_cells(kBackwardFlags), 0, 4), random), 22) ==
          "");
}

TEST_CASE_METHOD(GpuTest, "activation: swiglu with every recipe, backward, part 2") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("swiglu, backward, part 2", part(swiglu_cells(kBackwardFlags), 1, 4), random), 22) ==
          "");
}

TEST_CASE_METHOD(GpuTest, "activation: swiglu with every recipe, backward, part 3") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("swiglu, backward, part 3", part(swiglu_cells(kBackwardFlags), 2, 4), random), 22) ==
          "");
}

TEST_CASE_METHOD(GpuTest, "activation: swiglu with every recipe, backward, part 4") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("swiglu, backward, part 4", part(swiglu_cells(kBackwardFlags), 3, 4), random), 22) ==
          "");
}

TEST_CASE_METHOD(GpuTest, "activation: fused with the recipes of weights") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("fused, weights", weight_cells(), random), 36) == "");
}

TEST_CASE_METHOD(GpuTest, "activation: odd widths") {
  INFO(random.note());
  std::vector<Problem> problems;
  for (const int columns : {16, 48, 272, 2880}) {
    for (const char* way : {"act=swiglu", "act=clamped_swiglu il=1 +bias", "act=srelu", "act=geglu il=16 +grad +probs",
                            "act=situ_glu gate=second +grad +dbias", "act=gelu +grad"}) {
      problems.push_back(Problem::parse(fmt::format("activation.packed g7 c{} in=bf16 d=bf16 {}", columns, way)));
      problems.push_back(
          Problem::parse(fmt::format("quantize.packed g7 c{} in=bf16 {} out=e4m3:1x128 dir=row,col", columns, way)));
    }
  }
  REQUIRE(shortfall(check_cells("activations, widths", problems, random), 40) == "");
}

}  // namespace octet::test
