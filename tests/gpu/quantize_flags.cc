// Flags, and what may and may not show in a result.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "tests/gpu/awkward.h"
#include "tests/gpu/elements.h"
#include "tests/gpu/quantize_cells.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

const Sizes kSizes = {70, 0, 129, 1};

Problem tokens(const std::string& rest) { return Problem::parse("quantize.packed g4 c272 in=bf16 " + rest); }

// What a kernel does with each group, in each direction.
std::vector<Problem> all_kinds(const std::string& flags) {
  std::vector<Problem> problems;
  for (const std::string& recipe : token_recipes()) {
    for (const std::string& direction : directions()) {
      problems.push_back(tokens(fmt::format("out=e4m3:{} dir={}{}", recipe, direction, flags)));
    }
  }
  problems.push_back(tokens("act=swiglu out=e4m3:1x128 dir=row,col +probs" + flags));
  problems.push_back(tokens("act=swiglu out=e4m3:1x128 dir=row,col +probs +grad +dbias" + flags));
  return problems;
}

// The same group as the only one.
QuantizeCase alone(const QuantizeCase& all, std::size_t group) {
  QuantizeCase one = all;
  one.problem.g = 1;
  const QuantizeShape shape = all.shape();
  const std::int64_t begin = all.groups.begin[group], end = all.groups.end[group];
  const auto rows_of = [&](const Bytes& bytes, std::int64_t columns) {
    const std::int64_t row = columns * size_bytes(*all.problem.in);
    return Bytes(bytes.begin() + begin * row, bytes.begin() + end * row);
  };
  one.in = rows_of(all.in, shape.in_columns);
  if (!all.pre.empty()) one.pre = rows_of(all.pre, shape.pre_columns);
  if (!all.probs.empty()) one.probs.assign(all.probs.begin() + begin, all.probs.begin() + end);
  if (!all.given.empty()) one.given = {all.given[group]};
  one.groups = reference::extents({end - begin});
  one.capacity = end - begin;
  return one;
}

// A byte that the oracle leaves as it was when other data comes in, but the kernel does not.
std::string leak(const QuantizeCase& before, const QuantizeCase& after, const Results& got_before,
                 const Results& got_after) {
  const Results wanted_before = expected(before), wanted_after = expected(after);
  std::string first;
  for_each_output(
      [&](const char* name, const Bytes& old_wanted, const Bytes& new_wanted, const Bytes& old_got,
          const Bytes& new_got) {
        for (std::size_t i = 0; first.empty() && i < old_wanted.size(); ++i) {
          if (old_wanted[i] == new_wanted[i] && old_got[i] != new_got[i]) first = fmt::format("{} byte {}", name, i);
        }
      },
      wanted_before, wanted_after, got_before, got_after);
  return first;
}

// The same for what is not exact: all that stands in rows, or in groups, other than `group`.
std::string leak_by_place(const QuantizeCase& quantize, std::size_t group, Results before, Results after) {
  const auto blank = [&](Bytes& bytes, std::int64_t begin, std::int64_t end) {
    if (!bytes.empty()) std::fill(bytes.begin() + begin, bytes.begin() + end, std::uint8_t{0});
  };
  const std::int64_t begin = quantize.groups.begin[group], end = quantize.groups.end[group];
  const auto g = static_cast<std::int64_t>(group);
  for (Results* results : {&before, &after}) {
    const std::int64_t row = quantize.shape().out_columns, biases = std::ssize(results->dbias) / quantize.problem.g;
    blank(results->data, begin * row, end * row);
    blank(results->dprobs, begin * 4, end * 4);
    blank(results->dbias, g * biases, (g + 1) * biases);
    for (Bytes* scales : {&results->sf, &results->data_col, &results->sf_col}) scales->clear();
  }
  return difference(before, after);
}

void fill_group(QuantizeCase& quantize, std::size_t group, std::uint32_t bits) {
  const std::int64_t columns = quantize.shape().in_columns;
  for (std::int64_t i = quantize.groups.begin[group] * columns; i < quantize.groups.end[group] * columns; ++i) {
    set_element_bits(*quantize.problem.in, quantize.in.data(), i, bits);
  }
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "noop: nothing at all is written when the flag is set, all of it when it is not") {
  INFO(random.note());
  for (const Prepared& cell : prepare_all(all_kinds(" +noop"))) {
    if (!cell.kernel) continue;
    CAPTURE(cell.problem.to_string());
    for (const std::uint32_t noop : {0U, 1U, 0x80000000U, 0x3F800000U}) {
      CAPTURE(noop);
      QuantizeCase quantize = ordinary_case(cell.problem, kSizes, 9, random);
      quantize.noop = noop;
      REQUIRE(fault(*cell.kernel, quantize) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "noop: the buffers of a launch before are left as they were") {
  INFO(random.note());
  const Problem problem = tokens("out=e4m3:tensor dir=row,col +noop +amax");
  const Quantize kernel = runtime().prepare_quantize(problem);
  QuantizeBuffers buffers(ordinary_case(problem, kSizes, 9, random));
  const Results first = buffers.run(kernel);
  const std::uint32_t set = 7;
  buffers.noop.upload(&set, sizeof set);
  const QuantizeCase other = ordinary_case(problem, kSizes, 9, random);
  buffers.in.upload(other.in.data(), other.in.size());
  const OwnedStream stream;
  kernel.launch(buffers.args(kernel), stream);
  stream.synchronize();
  REQUIRE(difference(first, buffers.read()) == "");
}

TEST_CASE_METHOD(GpuTest, "amax: with every recipe, of every group, NaN left out") {
  INFO(random.note());
  CellReport report = check_cells(
      "amax",
      [] {
        std::vector<Problem> problems;
        for (const std::string& recipe : token_recipes()) {
          for (const std::string& direction : directions()) {
            for (const CellLayout& layout : cell_layouts()) {
              problems.push_back(
                  Problem::parse(fmt::format("quantize.{} {}{} in=bf16 out=e4m3:{} dir={} +amax", layout.name,
                                             layout.sizes, layout.columns(144), recipe, direction)));
            }
          }
        }
        return problems;
      }(),
      random);
  REQUIRE(shortfall(report, 12) == "");
}

TEST_CASE_METHOD(GpuTest, "given: the caller's scales in every direction and layout") {
  INFO(random.note());
  std::vector<Problem> problems;
  for (const CellLayout& layout : cell_layouts()) {
    for (const std::string& direction : directions()) {
      for (const char* rest : {"in=bf16 out=e4m3:tensor +given", "in=f32 out=e5m2:tensor +given +amax",
                               "in=fp16 out=e4m3:tensor +given +amax +noop"}) {
        problems.push_back(Problem::parse(fmt::format("quantize.{} {}{} {} dir={}", layout.name, layout.sizes,
                                                      layout.columns(144), rest, direction)));
      }
    }
  }
  REQUIRE(shortfall(check_cells("given", problems, random), 36) == "");
}

TEST_CASE_METHOD(GpuTest, "amax_floor: a block counts as having at least this magnitude") {
  INFO(random.note());
  for (const Prepared& cell : prepare_all(all_kinds(""))) {
    if (!cell.kernel || cell.problem.out->granularity == Granularity::mx_1x32) continue;
    CAPTURE(cell.problem.to_string());
    for (const float floor : {1e-4F, 3.0F, 1e-42F}) {
      CAPTURE(floor);
      QuantizeCase quantize = awkward_case(cell.problem, kSizes, 9, random);
      quantize.amax_floor = floor;
      REQUIRE(fault(*cell.kernel, quantize) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "independence: NaN, infinities and zeros in one group do not show in another") {
  INFO(random.note());
  for (const Prepared& cell : prepare_all(all_kinds(""))) {
    if (!cell.kernel) continue;
    CAPTURE(cell.problem.to_string());
    const QuantizeCase before = ordinary_case(cell.problem, kSizes, 9, random);
    const Results got_before = QuantizeBuffers(before).run(*cell.kernel);
    for (const std::uint32_t bits : {0x7FC1U, 0x7F80U, 0U}) {
      for (const std::size_t group : {0U, 2U}) {
        CAPTURE(bits, group);
        QuantizeCase after = before;
        fill_group(after, group, bits);
        const Results got_after = QuantizeBuffers(after).run(*cell.kernel);
        if (cell.problem.act == Activation::none) {
          REQUIRE(leak(before, after, got_before, got_after) == "");
        } else {
          REQUIRE(leak_by_place(before, group, got_before, got_after) == "");
          REQUIRE(judge(after, got_after) == "");
        }
      }
    }
  }
}

TEST_CASE_METHOD(GpuTest, "independence: what the tail holds does not show") {
  INFO(random.note());
  for (const Prepared& cell : prepare_all(all_kinds(""))) {
    if (!cell.kernel) continue;
    CAPTURE(cell.problem.to_string());
    const QuantizeCase before = ordinary_case(cell.problem, kSizes, 140, random);
    const Results got = QuantizeBuffers(before).run(*cell.kernel);
    for (const std::uint32_t bits : {0x7F80U, 0x3F80U, 0x7F7FU}) {
      CAPTURE(bits);
      QuantizeCase after = before;
      const std::int64_t columns = before.shape().in_columns;
      for (std::int64_t i = before.groups.end.back() * columns; i < before.capacity * columns; ++i) {
        set_element_bits(DType::bf16, after.in.data(), i, bits);
      }
      REQUIRE(difference(got, QuantizeBuffers(after).run(*cell.kernel)) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "independence: a group among others is what it is alone") {
  INFO(random.note());
  for (const char* rest :
       {"out=e4m3:1x128", "out=e4m3:tensor +amax", "act=swiglu out=e4m3:1x128 +probs +grad +dbias"}) {
    CAPTURE(rest);
    const QuantizeCase all = ordinary_case(tokens(rest), kSizes, 9, random);
    const Results together = QuantizeBuffers(all).run(runtime().prepare_quantize(all.problem));
    for (const std::size_t group : {0U, 2U, 3U}) {
      CAPTURE(group);
      const QuantizeCase one = alone(all, group);
      const Results got = QuantizeBuffers(one).run(runtime().prepare_quantize(one.problem));
      const auto row_bytes = static_cast<std::ptrdiff_t>(all.shape().out_columns);
      const Bytes rows(together.data.begin() + all.groups.begin[group] * row_bytes,
                       together.data.begin() + all.groups.end[group] * row_bytes);
      REQUIRE(difference("data", got.data, rows) == "");
      const auto slice = [&](const Bytes& of_all, const Bytes& of_one) {
        const auto first = of_all.begin() + static_cast<std::ptrdiff_t>(group * of_one.size());
        return of_one.empty() ? Bytes() : Bytes(first, first + static_cast<std::ptrdiff_t>(of_one.size()));
      };
      REQUIRE(difference("amax", got.amax, slice(together.amax, got.amax)) == "");
      REQUIRE(difference("dbias", got.dbias, slice(together.dbias, got.dbias)) == "");
    }
  }
}

}  // namespace octet::test
