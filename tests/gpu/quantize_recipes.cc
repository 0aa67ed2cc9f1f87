// Every recipe, in every direction and layout, from and to every type. Bit for bit against the oracle.
#include <fmt/format.h>

#include "tests/gpu/quantize_cells.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

constexpr std::int64_t kWidths[] = {272, 16, 144, 48, 400};
const std::vector<std::string> kOtherTypes = {"in=fp16 out=e5m2", "in=f32 out=e4m3", "in=f32 out=e5m2",
                                              "in=fp16 out=e4m3", "in=bf16 out=e5m2"};

std::vector<Problem> recipe_cells(const CellLayout& layout) {
  std::vector<Problem> problems;
  std::size_t turn = 0;
  for (const std::string& recipe : layout.weights ? weight_recipes() : token_recipes()) {
    for (const std::string& direction : directions()) {
      for (const std::string& types : {std::string("in=bf16 out=e4m3"), pick(kOtherTypes, turn)}) {
        problems.push_back(Problem::parse(fmt::format("quantize.{} {}{} {}:{} dir={}", layout.name, layout.sizes,
                                                      layout.columns(kWidths[turn++ % std::size(kWidths)]), types,
                                                      recipe, direction)));
      }
    }
  }
  return problems;
}

}  // namespace

// The lists have 48 cells each, and 66 of uniform.
TEST_CASE_METHOD(GpuTest, "quantize: every recipe and direction, packed") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("recipes, packed", recipe_cells(cell_layouts()[0]), random), 40) == "");
}

TEST_CASE_METHOD(GpuTest, "quantize: every recipe and direction, padded") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("recipes, padded", recipe_cells(cell_layouts()[1]), random), 40) == "");
}

TEST_CASE_METHOD(GpuTest, "quantize: every recipe and direction, masked") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("recipes, masked", recipe_cells(cell_layouts()[2]), random), 40) == "");
}

TEST_CASE_METHOD(GpuTest, "quantize: every recipe and direction, uniform") {
  INFO(random.note());
  REQUIRE(shortfall(check_cells("recipes, uniform", recipe_cells(cell_layouts()[3]), random), 50) == "");
}

TEST_CASE_METHOD(GpuTest, "quantize: every width and every type") {
  INFO(random.note());
  std::vector<Problem> problems;
  for (const std::string in : {"bf16", "fp16", "f32"}) {
    for (const std::string recipe :
         {"e4m3:1x128", "e5m2:1x128", "e4m3:1x32", "e5m2:1x32@swizzled", "e4m3:128x128", "e5m2:row", "e4m3:tensor"}) {
      for (const int columns : {16, 48, 144, 272, 2880}) {
        problems.push_back(
            Problem::parse(fmt::format("quantize.packed g7 c{} in={} out={} dir=row,col", columns, in, recipe)));
      }
    }
  }
  REQUIRE(shortfall(check_cells("widths and types", problems, random), 90) == "");
}

TEST_CASE_METHOD(GpuTest, "quantize: one small problem of each kernel", "[sanitizer]") {
  INFO(random.note());
  for (const char* line :
       {"quantize.packed g3 c144 in=bf16 out=e4m3:1x128", "quantize.packed g3 c144 in=bf16 out=e4m3:1x128 dir=row,col",
        "quantize.padded g3 c144 al32 in=fp16 out=e5m2:1x32@swizzled dir=row,col",
        "quantize.masked g3 m40 c144 in=f32 out=e4m3:1x32 dir=col",
        "quantize.packed g3 c144 in=bf16 out=e4m3:tensor dir=row,col +amax",
        "quantize.packed g3 c144 in=bf16 out=e4m3:tensor +given +amax", "quantize.packed g3 c144 in=bf16 out=e4m3:row",
        "quantize.packed g3 c144 in=bf16 out=e4m3:row dir=col",
        "quantize.packed g3 c144 in=bf16 out=e4m3:128x128 dir=row,col",
        "quantize.uniform g2 n48 k144 in=bf16 out=e4m3:128x128 dir=row,col",
        "quantize.uniform g2 n48 k144 in=bf16 out=e4m3:32x32 dir=row,col",
        "activation.packed g3 c48 in=bf16 d=bf16 act=swiglu +bias +probs",
        "activation.packed g3 c48 in=bf16 d=bf16 act=swiglu il=8 +bias +probs +grad +dbias",
        "quantize.packed g3 c48 in=bf16 act=gelu out=e4m3:1x128",
        "quantize.packed g3 c48 in=bf16 act=swiglu out=e4m3:1x128 dir=row,col +probs",
        "quantize.packed g3 c48 in=bf16 act=swiglu out=e4m3:1x128 dir=row,col +probs +grad +dbias",
        "quantize.packed g3 c48 in=bf16 act=geglu out=e4m3:1x32 dir=row,col +grad"}) {
    CAPTURE(line);
    REQUIRE(fault(awkward_case(Problem::parse(line), {5, 0, 37}, 3, random)) == "");
  }
}

}  // namespace octet::test
