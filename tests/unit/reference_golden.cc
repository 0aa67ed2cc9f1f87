// Quantizers, activations and converters against tests/golden, a second implementation.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "octet/reference.h"
#include "runtime/reference/casts.h"
#include "runtime/reference/random.h"
#include "tests/support/catch.h"
#include "tests/unit/reference_case.h"

using namespace octet;
using namespace octet::test;

namespace {

float f32(const std::string& bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(hex(bits))); }
double f64(const std::string& word) { return std::stod(word); }  // as C writes it in hexadecimal

std::vector<std::int64_t> sizes_of(const std::string& list) {
  std::istringstream stream(list);
  std::vector<std::int64_t> sizes;
  for (std::string word; std::getline(stream, word, ',');) sizes.push_back(number(word));
  return sizes;
}

std::string join(const Words& words, std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < words.size(); ++i) text += (i > first ? " " : "") + words[i];
  return text;
}

// A case of quantize.txt and the lines of its outputs.
struct Golden {
  QuantizeCase c;
  std::map<std::string, Words> outputs;
};

// Columnwise data of a case in another packing, and back.
void check_packing(const Golden& golden, const QuantizeBuffers& own, const char* word) {
  Problem problem;
  problem.op = Operation::convert;
  problem.layout = golden.c.problem.layout;
  problem.g = golden.c.problem.g;
  problem.c = golden.c.shape.out_columns;
  problem.m = golden.c.problem.m;
  problem.al = golden.c.problem.al;
  problem.a = problem.out = golden.c.problem.out;
  problem.dir = Direction::col;
  const Packing packing = std::string(word) == "te" ? Packing::te : Packing::deepgemm;
  const Words& data_line = golden.outputs.at(word);
  Bytes data(static_cast<std::size_t>(number(data_line[1])), kCanaryByte);
  const bool own_scales = packing == Packing::te;  // under their own name
  const std::size_t sf_bytes = own_scales ? own.sf_col.size() : number(golden.outputs.at("deepgemm_sf")[1]);
  Bytes sf(sf_bytes, kCanaryByte);

  problem.to = packing;
  reference::convert(problem, own.data_col.data(), own.sf_col.data(), golden.c.groups, golden.c.capacity, data.data(),
                     sf.data());
  CHECK(digest(data.data(), data.size()) == hex(data_line[2]));
  if (own_scales)
    CHECK((sf == own.sf_col));  // not 10^5 bytes of message
  else
    CHECK(digest(sf.data(), sf.size()) == hex(golden.outputs.at("deepgemm_sf")[2]));

  problem.from = packing;
  problem.to = Packing::octet;
  Bytes data_back(own.data_col.size(), kCanaryByte), sf_back(own.sf_col.size(), kCanaryByte);
  reference::convert(problem, data.data(), sf.data(), golden.c.groups, golden.c.capacity, data_back.data(),
                     sf_back.data());
  CHECK((data_back == own.data_col));
  CHECK((sf_back == own.sf_col));
}

void check_case(const Golden& golden) {
  CAPTURE(golden.c.problem.to_string());
  QuantizeBuffers out = golden.c.run();
  const std::map<std::string, const Bytes*> buffers = {
      {"data", &out.data}, {"sf", &out.sf},         {"data_col", &out.data_col}, {"sf_col", &out.sf_col},
      {"amax", &out.amax}, {"dprobs", &out.dprobs}, {"dbias", &out.dbias}};
  for (const auto& [name, line] : golden.outputs) {
    if (buffers.count(name) == 0) continue;  // of a converter
    CAPTURE(name);
    const Bytes& bytes = *buffers.at(name);
    CHECK(static_cast<std::int64_t>(bytes.size()) == number(line[1]));
    CHECK(digest(bytes.data(), bytes.size()) == hex(line[2]));
  }
  for (const char* word : {"te", "deepgemm"})
    if (golden.outputs.count(word) != 0) check_packing(golden, out, word);

  // One direction alone writes the same.
  QuantizeCase alone = golden.c;
  for (Direction dir : {Direction::row, Direction::col}) {
    alone.problem.dir = dir;
    QuantizeBuffers one(golden.c.shape);
    alone.run(one);
    CHECK((one.data == (dir == Direction::row ? out.data : Bytes(out.data.size(), kCanaryByte))));
    CHECK((one.sf == (dir == Direction::row ? out.sf : Bytes(out.sf.size(), kCanaryByte))));
    CHECK((one.data_col == (dir == Direction::col ? out.data_col : Bytes(out.data_col.size(), kCanaryByte))));
    CHECK((one.sf_col == (dir == Direction::col ? out.sf_col : Bytes(out.sf_col.size(), kCanaryByte))));
  }
}

std::vector<Golden> golden_cases() {
  std::vector<Golden> cases;
  std::vector<Words> overrides;
  for (const Words& line : quantizer_lines("quantize.txt")) {
    if (line[0] == "set") {
      overrides.push_back(line);
    } else if (line[0] != "case") {
      cases.back().outputs[line[0]] = line;
    } else {
      const std::int64_t seed = number(line[3]);
      cases.push_back({QuantizeCase(join(line, 5), sizes_of(line[2]), number(line[1]), seed), {}});
      QuantizeCase& c = cases.back().c;
      c.amax_floor = std::stof(line[4]);
      if (seed % 2 != 0) continue;
      for (const Words& o : overrides)
        for (std::int64_t i = 0; i < number(o[3]); ++i) c.set(number(o[1]), number(o[2]) + i, f32(o[4]));
    }
  }
  return cases;
}

void check_near(double got, double want) {
  CAPTURE(got, want);
  CHECK(std::abs(got - want) <= 1e-8 * std::max(1.0, std::abs(want)));
}

}  // namespace

TEST_CASE("reference: every recipe, direction and layout, bit for bit") {
  const auto cases = golden_cases();
  for (const Golden& golden : cases) check_case(golden);
  CHECK(cases.size() > 90);
}

TEST_CASE("A08: E8M0 bytes of exact powers of two and their neighbours") {
  int checked = 0;
  for (const Words& line : quantizer_lines("e8m0.txt")) {
    CAPTURE(line[0], line[1]);
    CHECK(reference::e8m0_scale(f32(line[1]), dtype(line[0])) == hex(line[2]));
    ++checked;
  }
  CHECK(checked > 1500);
}

TEST_CASE("reference: fp16 casts round to nearest even and overflow to infinity") {
  for (const Words& line : quantizer_lines("fp16.txt")) {
    CAPTURE(line[0]);
    CHECK(reference::to_fp16(f32(line[0])) == hex(line[1]));
    CHECK(reference::to_fp16(-f32(line[0])) == (hex(line[1]) | 0x8000));
  }
  CHECK(reference::to_fp16(std::nanf("")) == 0x7FFF);
  for (std::uint32_t word = 0; word < 0x10000; ++word) {
    const float value = reference::from_fp16(static_cast<std::uint16_t>(word));
    REQUIRE(reference::to_fp16(value) == (std::isnan(value) ? 0x7FFF : word));
  }
}

TEST_CASE("reference: activations and derivatives against automatic differentiation") {
  std::map<std::string, Activation> names;
  for (int i = 0; i <= static_cast<int>(Activation::situ_glu); ++i)
    names[to_string(static_cast<Activation>(i))] = static_cast<Activation>(i);
  for (const Words& line : quantizer_lines("activations.txt")) {
    CAPTURE(line[0], f64(line[1]), f64(line[2]));
    const auto got = reference::activate(names.at(line[0]), f64(line[1]), f64(line[2]));
    check_near(got.y, f64(line[3]));
    check_near(got.da, f64(line[4]));
    check_near(got.db, f64(line[5]));
  }
}

namespace {

// The inputs of gradients.txt: [-4, 4) in steps of 2^-13.
std::vector<float> grid_values(std::uint64_t seed, std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t word = reference::random_word(seed, static_cast<std::uint64_t>(i));
    values.push_back(static_cast<float>(word >> 48) / 8192 - 4);
  }
  return values;
}

// Rounded once from f64 to f32, so a half of 2^-23; gelu's constants differ by 1e-9 from PyTorch's, times factors below
// 2^6. A sum over rows is of rounded terms below 2^6.
constexpr double kRounded = 1e-7, kSum = 4 * 0x1p-18;
void check_floats(const Bytes& got, const Words& want, double absolute = kRounded) {
  REQUIRE(got.size() == (want.size() - 1) * sizeof(float));
  for (std::size_t i = 1; i < want.size(); ++i) {
    const double x = as<float>(got)[i - 1], y = f64(want[i]);
    CAPTURE(i, x, y);
    CHECK(std::abs(x - y) <= absolute + 6e-8 * std::abs(y));
  }
}

void check_gradients(const std::string& text, const std::map<std::string, Words>& want) {
  const std::vector<std::int64_t> sizes = {3, 4};
  const auto bytes = [](const std::vector<float>& values) {
    Bytes out(values.size() * sizeof(float));
    std::copy_n(reinterpret_cast<const std::uint8_t*>(values.data()), out.size(), out.begin());
    return out;
  };
  QuantizeCase forward(text, sizes, 7);
  forward.in = bytes(grid_values(1, 7 * forward.shape.in_columns));
  forward.bias = bytes(grid_values(3, 2 * forward.shape.in_columns));
  forward.probs = bytes(grid_values(4, 7));
  check_floats(forward.run().d, want.at("y"));

  QuantizeCase backward(text + " +grad +dbias", sizes, 7);
  backward.pre = forward.in;
  backward.in = bytes(grid_values(2, 7 * backward.shape.in_columns));
  backward.bias = forward.bias;
  backward.probs = forward.probs;
  const QuantizeBuffers out = backward.run();
  check_floats(out.d, want.at("dpre"));
  check_floats(out.dprobs, want.at("dprobs"));
  if (want.count("dbias") != 0) check_floats(out.dbias, want.at("dbias"), kSum);
}

}  // namespace

TEST_CASE("reference: forward and backward with bias and probabilities against automatic differentiation") {
  std::string text;
  std::map<std::string, Words> want;
  int checked = 0;
  const auto flush = [&] {
    if (text.empty()) return;
    CAPTURE(text);
    check_gradients(text, want);
    ++checked;
  };
  for (const Words& line : quantizer_lines("gradients.txt")) {
    if (line[0] == "case") {
      flush();
      text = join(line, 1);
      want.clear();
    } else {
      want[line[0]] = line;
    }
  }
  flush();
  CHECK(checked == 19);
}
