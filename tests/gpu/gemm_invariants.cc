// What must not show in any result of the family: neighbours, how many there are, how the launch is spread.
#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "tests/gpu/family_cells.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

// Masked buffers, whose groups lie apart: one group of them is a slice of every array but those of weights mn_major.
struct Sliced {
  const char* rest;
  bool wgrad = false;
};
constexpr Sliced kSliced[] = {{" a=e4m3:1x128 b=e4m3:128x128 d=bf16"},
                              {" a=e4m3:tensor b=e4m3:tensor d=f32 +bias"},
                              {" a=e4m3:1x32 b=e4m3:32x32 d=bf16"},
                              {" a=e5m2:1x128 b=e4m3:1x128 d=bf16 dir=col"},
                              {" a=e4m3:1x32@swizzled b=e4m3:1x32 d=f32 dir=col"}};

Bytes part(const Bytes& all, std::int64_t group, std::int64_t groups) {
  const auto bytes = static_cast<std::ptrdiff_t>(all.size()) / groups;
  return {all.begin() + group * bytes, all.begin() + (group + 1) * bytes};
}

// One group of a masked case as a case of its own.
FamilyCase alone(const FamilyCase& all, std::size_t group) {
  const auto g = static_cast<std::int64_t>(group);
  FamilyCase one = all;
  one.problem.g = 1;
  one.groups = reference::masked_extents({all.rows(group)}, all.problem.m);
  one.capacity = all.problem.m;
  one.a = part(all.a, g, all.problem.g), one.a_sf = part(all.a_sf, g, all.problem.g);
  one.b = part(all.b, g, all.problem.g), one.b_sf = part(all.b_sf, g, all.problem.g);
  if (!all.bias.empty()) one.bias = part(all.bias, g, all.problem.g);
  one.old_d = part(all.old_d, g, all.problem.g);
  const QuantizeShape a = quantize_shape(a_producer(one.problem), one.capacity),
                      b = quantize_shape(b_producer(one.problem));
  const bool columnwise = one.problem.dir == Direction::col;
  const QuantizedBytes b_bytes = columnwise ? b.col : b.row;
  if (std::ssize(one.a) != a.row.data || std::ssize(one.a_sf) != a.row.sf || std::ssize(one.b) != b_bytes.data ||
      std::ssize(one.b_sf) != b_bytes.sf) {
    throw std::logic_error("the arrays of " + all.problem.to_string() + " are not cut by groups");
  }
  return one;
}

// A group of a packed wgrad as a case of its own, from the same buffers: D[g] of the sum over its rows.
FamilyCase alone_of_wgrad(const FamilyCase& all, std::size_t group) {
  FamilyCase one = all;
  one.problem.g = 1;
  one.capacity = all.rows(group);
  one.groups = reference::extents({one.capacity});
  const auto up = [](std::int64_t value) { return (value + 127) / 128 * 128; };
  std::int64_t start = 0;
  for (std::size_t g = 0; g < group; ++g) start += up(all.rows(g));
  const std::int64_t from = all.a_row(), to = one.a_row(), columns = up(one.capacity);
  const auto cut = [&](const Bytes& data) {
    const std::int64_t rows = std::ssize(data) / from;
    Bytes slice(size(rows * to), 0xFF);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(data.begin() + row * from + start, columns, slice.begin() + row * to);
    }
    return slice;
  };
  one.a = cut(all.a), one.b = cut(all.b);
  // Blocks of 128 rows, one after the other.
  const auto cut_scales = [&](const Bytes& scales, std::int64_t features) {
    const std::int64_t ld = (features + 3) / 4 * 4 * 4;
    Bytes slice(size((columns / 128 + 1) * ld), 0xFF);
    std::copy_n(scales.begin() + start / 128 * ld, columns / 128 * ld, slice.begin());
    return slice;
  };
  one.a_sf = cut_scales(all.a_sf, all.problem.n), one.b_sf = cut_scales(all.b_sf, all.problem.k);
  one.old_d = group_of(all, all.old_d, group);
  return one;
}

Gemm for_one_group(const Gemm& gemm) {
  Spec spec = gemm.spec();
  spec.problem.g = 1;
  return runtime().prepare_gemm(spec, 0);
}

bool splits_k(const Spec& spec) {
  const auto* config = std::get_if<GemmConfig>(&spec.config);
  return config != nullptr && config->split_k > 1;
}

// What the cost model takes for any number of rows, and every config that splits K.
std::vector<Spec> chosen_and_split(const Problem& problem) {
  std::vector<Spec> specs = legal_specs(problem);
  std::erase_if(specs, [](const Spec& spec) { return !splits_k(spec); });
  specs.insert(specs.begin(), select(problem, Runtime::device_facts(0)));
  return specs;
}

void spoil(FamilyCase& gemm_case, std::size_t group) {
  const std::int64_t row = gemm_case.a_row();
  std::fill(gemm_case.a.begin() + gemm_case.groups.begin[group] * row,
            gemm_case.a.begin() + gemm_case.groups.end[group] * row, std::uint8_t{0x7F});
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "gemm: a masked group alone equals the same group among others, bit for bit") {
  INFO(random.note());
  for (const Sliced& each : kSliced) {
    CAPTURE(each.rest);
    const FamilyCase all =
        family_case(fmt::format("gemm.masked g6 m144 n272 k400{}", each.rest), {0, 100, 1, 144, 64, 129}, 0, random);
    for (const Gemm& gemm : prepare_all(chosen_and_split(all.problem))) {
      CAPTURE(to_string(gemm.spec().config));
      const Gemm one_gemm = for_one_group(gemm);
      const Bytes d = FamilyBuffers(all).run(gemm);
      REQUIRE(judge(all, d, random) == "");
      for (std::size_t g = 0; g < 6; ++g) {
        CAPTURE(g);
        const FamilyCase one = alone(all, g);
        const bool same = group_of(one, FamilyBuffers(one).run(one_gemm), 0) == group_of(all, d, g);
        REQUIRE(same);
      }
    }
  }
}

TEST_CASE_METHOD(GpuTest, "gemm: a group of a wgrad alone equals the same group among others, bit for bit") {
  INFO(random.note());
  const FamilyCase all = family_case("wgrad.packed g6 n576 k400 a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc",
                                     {0, 100, 1, 300, 128, 129}, 40, random);
  for (const Spec& spec : {legal_specs(all.problem).front(), legal_specs(all.problem).back()}) {
    CAPTURE(to_string(spec.config));
    const Gemm gemm = runtime().prepare_gemm(spec, 0), one_gemm = for_one_group(gemm);
    const Bytes d = FamilyBuffers(all).run(gemm);
    REQUIRE(judge(all, d, random) == "");
    for (std::size_t g = 0; g < 6; ++g) {
      CAPTURE(g);
      const FamilyCase one = alone_of_wgrad(all, g);
      const bool same = FamilyBuffers(one).run(one_gemm) == group_of(all, d, g);
      REQUIRE(same);
    }
  }
}

TEST_CASE_METHOD(GpuTest, "A13: NaN in a neighbouring group stays there, masked, MX, whole scales and wgrad") {
  INFO(random.note());
  constexpr std::size_t kSick = 3;
  for (const char* line : {"gemm.masked g6 m144 n272 k400 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
                           "gemm.packed g6 n272 k400 a=e4m3:1x32 b=e4m3:1x32 d=bf16",
                           "gemm.packed g6 n272 k400 a=e4m3:row b=e4m3:row d=f32",
                           "gemm.padded g6 n272 k400 al8 a=e4m3:tensor b=e4m3:tensor d=f32",
                           "wgrad.packed g6 n272 k400 a=e4m3:1x128 b=e4m3:1x128 d=bf16",
                           "wgrad.packed g6 n272 k400 a=e4m3:row b=e4m3:row d=bf16",
                           "wgrad.packed g6 n272 k400 a=e4m3:1x32@swizzled b=e4m3:1x32 d=bf16"}) {
    CAPTURE(line);
    const FamilyCase clean = family_case(line, {40, 0, 3, 129, 77, 1}, 20, random);
    const Gemm gemm = runtime().prepare_gemm(clean.problem, {0, 0});
    const Bytes wanted = FamilyBuffers(clean).run(gemm);
    REQUIRE(judge(clean, wanted, random) == "");
    FamilyCase sick = clean;
    if (clean.is_wgrad()) {
      // The sick group's columns: 128 for the first, none, 128 for the third.
      for (std::int64_t n = 0; n < clean.problem.n; ++n) {
        std::fill_n(sick.a.begin() + n * sick.a_row() + 256, 129, std::uint8_t{0x7F});
      }
    } else {
      spoil(sick, kSick);
    }
    const Bytes got = FamilyBuffers(sick).run(gemm);
    for (std::size_t g = 0; g < 6; ++g) {
      CAPTURE(g);
      const bool same = group_of(clean, got, g) == group_of(clean, wanted, g);
      REQUIRE(same == (g != kSick));  // the case has to provoke what it tests for
    }
  }
}

TEST_CASE_METHOD(GpuTest, "C16: fewer multiprocessors and programmatic launches change no bit") {
  INFO(random.note());
  for (const char* line : {"gemm.packed g8 n1024 k512 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
                           "gemm.masked g8 m144 n264 k400 a=e4m3:row b=e4m3:row d=f32 +acc",
                           "wgrad.packed g8 n576 k400 a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc",
                           "gemm.packed g8 n264 k400 a=e4m3:1x32 b=e4m3:1x32 d=bf16 w=pointers"}) {
    const FamilyCase gemm_case = family_case(line, {0, 1, 127, 128, 129, 31, 33, 0}, 21, random);
    std::vector<Spec> specs = legal_specs(gemm_case.problem);
    REQUIRE(!specs.empty());
    if (specs.size() > 6) specs = {specs[0], specs[1], specs[specs.size() / 2], specs.back()};
    for (const Gemm& gemm : prepare_all(specs)) {
      CAPTURE(line, to_string(gemm.spec().config));
      FamilyBuffers buffers(gemm_case);
      GemmArgs args = buffers.args(gemm);
      const Bytes wanted = buffers.run(gemm, args);
      REQUIRE(judge(gemm_case, wanted, random, 256) == "");
      for (const int sms : {1, 7, 64, 100000, 0}) {
        for (const bool programmatic : {false, true}) {
          CAPTURE(sms, programmatic);
          args.max_sms = sms;
          args.programmatic = programmatic;
          const bool same = buffers.run(gemm, args) == wanted;
          REQUIRE(same);
        }
      }
    }
  }
}

// Each small, for compute-sanitizer.
TEST_CASE_METHOD(GpuTest, "gemm: small problems of the family", "[sanitizer]") {
  INFO(random.note());
  for (const char* line : {"wgrad.packed g4 n144 k272 a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc",
                           "wgrad.packed g4 n144 k272 a=e4m3:row b=e4m3:row d=bf16",
                           "gemm.packed g4 n136 k272 a=e4m3:tensor b=e4m3:tensor d=bf16 +bias",
                           "gemm.packed g4 n136 k272 a=e4m3:1x32 b=e4m3:1x32@swizzled d=bf16 +checked",
                           "gemm.packed g4 n136 k272 a=e4m3:1x128 b=e4m3:1x128 d=bf16 w=pointers",
                           "wgrad.packed g4 n144 k272 a=e4m3:1x32 b=e4m3:1x32 d=f32 w=pointers +acc"}) {
    CAPTURE(line);
    REQUIRE(fault(family_case(line, {5, 0, 130, 1}, 3, random), random) == "");
  }
  const FamilyCase masked =
      family_case("gemm.masked g4 m16 n136 k272 a=e4m3:1x128 b=e4m3:128x128 d=bf16", {5, 0, 16, 1}, 0, random);
  std::vector<Spec> specs = legal_specs(masked.problem);
  const auto swapped = std::find_if(specs.begin(), specs.end(), [](const Spec& spec) {
    const auto* config = std::get_if<GemmConfig>(&spec.config);
    return config != nullptr && config->swapped;
  });
  REQUIRE(swapped != specs.end());
  CAPTURE(to_string(swapped->config));
  REQUIRE(fault(runtime().prepare_gemm(*swapped, 0), masked, random) == "");
}

}  // namespace octet::test
