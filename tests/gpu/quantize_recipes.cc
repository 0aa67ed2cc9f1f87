// Every recipe, in every direction and layout, from and to every type. Bit for bit against the oracle.
#include <fmt/format.h>
#include <cmath>
#include <cstring>

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

// Shared memory is used again from tile to tile, and groups are walked over: what one tile to a block does not show.
TEST_CASE_METHOD(GpuTest, "quantize: kernels that walk over many tiles", "[sanitizer]") {
  INFO(random.note());
  for (const char* line :
       {"quantize.packed g70 c640 in=bf16 out=e4m3:1x128 dir=row,col",
        "quantize.packed g70 c640 in=bf16 out=e4m3:1x32 dir=row,col",
        "quantize.packed g70 c640 in=bf16 act=swiglu out=e4m3:1x128 dir=row,col +probs +grad +dbias",
        "quantize.packed g70 c640 in=bf16 out=e4m3:tensor +amax", "quantize.padded g70 c640 al8 in=bf16 out=e4m3:1x128",
        "quantize.packed g70 c640 in=bf16 out=e4m3:row dir=row,col",
        "quantize.masked g70 m8 c640 in=bf16 out=e4m3:128x128 +grad +dbias"}) {
    CAPTURE(line);
    const Problem problem = Problem::parse(line);
    std::vector<std::int64_t> sizes;
    for (std::int64_t g = 0; g < problem.g; ++g) sizes.push_back(g % 3 == 0 ? 0 : g % 7);
    const QuantizeCase quantize = awkward_case(problem, sizes, 3, random);
    // One block to a multiprocessor, so that blocks do several tiles.
    Spec spec = select(problem, Runtime::device_facts(0));
    std::get<QuantizeConfig>(spec.config).blocks_per_sm = 1;
    REQUIRE(fault(runtime().prepare_quantize(spec), quantize) == "");
  }
}

// Just above 448 * 2^k / 256, q lies just under a power of two, and its reciprocal is a tie.
TEST_CASE_METHOD(GpuTest, "quantize: scales whose reciprocal is a tie") {
  INFO(random.note());
  for (const char* recipe : {"e4m3:1x128", "e5m2:1x128", "e4m3:128x128", "e4m3:tensor", "e4m3:row"}) {
    CAPTURE(recipe);
    const Problem problem = Problem::parse(fmt::format("quantize.packed g2 c256 in=f32 out={}", recipe));
    for (int power = -40; power <= 40; power += 5) {
      QuantizeCase quantize = ordinary_case(problem, {130, 5}, 0, random);
      const float amax = std::ldexp(0x1.c00002p0F, power);
      std::vector<float> values(quantize.in.size() / sizeof(float));
      for (float& value : values) value = amax * random.uniform(-1.0F, 1.0F);
      for (std::size_t i = 0; i < values.size(); i += 128) values[i] = amax;
      std::memcpy(quantize.in.data(), values.data(), quantize.in.size());
      REQUIRE(fault(quantize) == "");
    }
  }
}

}  // namespace octet::test
