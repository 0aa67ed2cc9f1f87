// Dequantizers and converters, bit for bit against the oracle, and round trips.
#include <iostream>

#include <fmt/format.h>

#include "tests/gpu/convert_case.h"
#include "tests/gpu/quantize_cells.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

const Sizes kSizes = {0, 1, 127, 128, 129, 31, 33};

// Counts what the rules take; empty where they refuse.
std::optional<std::string> fault_unless_refused(const ConvertCase& convert) {
  try {
    runtime().prepare_convert(convert.problem);
  } catch (const Error& error) {
    if (!is_refusal(error)) throw;
    std::cout << convert.problem.to_string() << ": " << error.what() << '\n';
    return std::nullopt;
  }
  return fault(convert);
}

// The codes of `from` in the arrangement of a problem that goes the other way.
Problem reversed(const Problem& problem) {
  Problem back = problem;
  std::swap(back.a, back.out);
  std::swap(back.from, back.to);
  return back;
}

// There and back again gives what there was, and the oracle agrees with the way there.
std::string round_trip_fault(const ConvertCase& there) {
  const Converted middle = run(runtime().prepare_convert(there.problem), there);
  const std::string text = difference(there, expected(there), middle);
  if (!text.empty()) return "there: " + text;
  ConvertCase back = there;
  back.problem = reversed(there.problem);
  back.data = middle.data;
  back.sf = middle.sf;
  const Converted again = run(runtime().prepare_convert(back.problem), back);
  return difference(back, {there.data, there.sf, {}}, again);
}

Problem parse(const std::string& line) { return Problem::parse(line); }

}  // namespace

TEST_CASE_METHOD(GpuTest, "dequantize: every recipe, direction, layout and type") {
  INFO(random.note());
  int accepted = 0;
  std::size_t turn = 0;
  for (const CellLayout& layout : cell_layouts()) {
    for (const std::string& recipe : layout.weights ? weight_recipes() : token_recipes()) {
      for (const char* direction : {"row", "col"}) {
        const std::string type = pick({"e4m3", "e5m2", "e4m3"}, turn), d = pick({"bf16", "fp16", "f32", "bf16"}, turn);
        const std::string line = fmt::format("dequantize.{} {}{} a={}:{} d={} dir={}", layout.name, layout.sizes,
                                             layout.columns(turn % 2 == 0 ? 144 : 272), type, recipe, d, direction);
        ++turn;
        CAPTURE(line);
        const std::optional<std::string> text = fault_unless_refused(random_codes(parse(line), kSizes, 11, random));
        if (!text) continue;
        ++accepted;
        REQUIRE(*text == "");
        REQUIRE(fault(quantized_codes(parse(line), kSizes, 11, random)) == "");
      }
    }
  }
  std::cout << "dequantize: " << accepted << " of " << turn << " cells accepted\n";
  REQUIRE(accepted >= 56);
}

TEST_CASE_METHOD(GpuTest, "dequantize and convert: one small problem of each kernel", "[sanitizer]") {
  INFO(random.note());
  for (const char* line :
       {"dequantize.packed g3 c144 a=e4m3:1x128 d=bf16", "dequantize.packed g3 c144 a=e5m2:1x32@swizzled d=f32 dir=col",
        "convert.packed g3 c144 a=e4m3:1x32 out=e4m3:1x32@swizzled dir=col",
        "convert.packed g3 c144 a=e4m3:1x128 out=e4m3:1x128 dir=col to=deepgemm",
        "convert.packed g3 c144 a=e4m3:1x32 out=e4m3:1x32 dir=col from=te"}) {
    CAPTURE(line);
    REQUIRE(fault(quantized_codes(parse(line), {5, 0, 37}, 3, random)) == "");
  }
}

TEST_CASE_METHOD(GpuTest, "A04: E8M0 byte 0 is 2^-127 and byte 255 NaN") {
  INFO(random.note());
  ConvertCase convert = random_codes(parse("dequantize.packed g1 c64 a=e4m3:1x32 d=f32"), {2}, 0, random);
  convert.data.assign(convert.data.size(), 0x38);  // 1.0
  convert.sf = {0x00, 0xFF, 0, 0, 0x7F, 0x00, 0, 0};
  REQUIRE(fault(convert) == "");
  const Converted got = run(runtime().prepare_convert(convert.problem), convert);
  std::vector<float> values(128);
  std::memcpy(values.data(), got.d.data(), got.d.size());
  REQUIRE(values[0] == 0x1p-127F);
  for (std::size_t i = 32; i < 64; ++i) REQUIRE(std::isnan(values[i]));
  REQUIRE(values[64] == 1);
  REQUIRE(values[96] == 0x1p-127F);
}

TEST_CASE_METHOD(GpuTest, "convert: swizzled scales and back") {
  INFO(random.note());
  for (const CellLayout& layout : cell_layouts()) {
    for (const char* direction : {"row", "col"}) {
      for (const int columns : {16, 144, 272}) {
        const std::string line = fmt::format("convert.{} {}{} a=e4m3:1x32 out=e4m3:1x32@swizzled dir={}", layout.name,
                                             layout.sizes, layout.columns(columns), direction);
        CAPTURE(line);
        REQUIRE(round_trip_fault(quantized_codes(parse(line), kSizes, 11, random)) == "");
      }
    }
  }
}

TEST_CASE_METHOD(GpuTest, "convert: mn_major scales to k_major and back") {
  INFO(random.note());
  for (const char* line : {"convert.packed g7 c272 a=e4m3:1x128 out=e4m3:1x128@k_major",
                           "convert.masked g7 m144 c144 a=e5m2:1x128 out=e5m2:1x128@k_major"}) {
    CAPTURE(line);
    const ConvertCase convert = quantized_codes(parse(line), kSizes, 11, random);
    const std::optional<std::string> text = fault_unless_refused(convert);
    if (text) REQUIRE(*text == "");
  }
}

TEST_CASE_METHOD(GpuTest, "convert: DeepGEMM's and Transformer Engine's packings and back") {
  INFO(random.note());
  for (const CellLayout& layout : cell_layouts()) {
    if (layout.weights) continue;
    for (const char* rest :
         {"a=e4m3:1x128 out=e4m3:1x128 to=deepgemm", "a=e5m2:1x32 out=e5m2:1x32 to=te",
          "a=e4m3:1x32@swizzled out=e4m3:1x32@swizzled to=te", "a=e4m3:1x32 out=e4m3:1x32@swizzled to=te"}) {
      const std::string line =
          fmt::format("convert.{} {}{} {} dir=col", layout.name, layout.sizes, layout.columns(144), rest);
      CAPTURE(line);
      const ConvertCase convert = quantized_codes(parse(line), kSizes, 11, random);
      const std::optional<std::string> text = fault_unless_refused(convert);
      if (!text) continue;
      REQUIRE(*text == "");
      REQUIRE(round_trip_fault(convert) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "convert: data or scales alone") {
  INFO(random.note());
  const Problem problem = parse("convert.packed g7 c144 a=e4m3:1x32 out=e4m3:1x32@swizzled dir=col");
  const ConvertCase convert = quantized_codes(problem, kSizes, 11, random);
  const Convert kernel = runtime().prepare_convert(problem);
  const Converted wanted = expected(convert);
  const Buffer sf(convert.sf), out_sf(wanted.sf.size());
  const Buffer splits(std::vector<std::int32_t>(kSizes.begin(), kSizes.end()));
  ConvertArgs args;
  args.in = {nullptr, sf.at(), kernel.in_layout()};
  args.out = {nullptr, out_sf.at(), kernel.out_layout()};
  args.splits = splits.at();
  args.capacity = convert.capacity;
  const OwnedStream stream;
  kernel.launch(args, stream);
  stream.synchronize();
  REQUIRE(out_sf.guards_intact());
  REQUIRE(difference("sf", wanted.sf, out_sf.values<std::uint8_t>()) == "");
}

TEST_CASE_METHOD(GpuTest, "convert: empty groups, no rows, and many groups") {
  INFO(random.note());
  for (const std::int64_t groups : {1, 31, 33, 257, 1024}) {
    Sizes sizes;
    for (std::int64_t g = 0; g < groups; ++g) sizes.push_back(random.integer(0, groups > 64 ? 20 : 128));
    for (const char* rest :
         {"a=e4m3:1x32 out=e4m3:1x32@swizzled dir=col", "a=e4m3:1x128 out=e4m3:1x128 dir=col to=deepgemm"}) {
      const std::string line = fmt::format("convert.packed g{} c48 {}", groups, rest);
      CAPTURE(line);
      REQUIRE(fault(quantized_codes(parse(line), sizes, 5, random)) == "");
      REQUIRE(fault(quantized_codes(parse(line), Sizes(sizes.size(), 0), 5, random)) == "");
    }
    const std::string line = fmt::format("dequantize.packed g{} c48 a=e4m3:1x128 d=bf16 dir=col", groups);
    CAPTURE(line);
    REQUIRE(fault(random_codes(parse(line), sizes, 5, random)) == "");
  }
}

}  // namespace octet::test
