// Whole plans on the reference executor against tests/golden/plans.txt: a second implementation, in whole matrices and
// with autograd.
#include <cmath>
#include <sstream>

#include "tests/support/catch.h"
#include "tests/support/golden.h"
#include "tests/unit/plan_case.h"

using namespace octet;
using namespace octet::test;

namespace {

// A rounding to bf16 that goes the other way, because sums are made in another order, is rare and changes one element
// of thousands by 2^-8.
constexpr double kSumError = 1e-6, kElementError = 1e-2;

double f64(const std::string& word) { return std::stod(word); }

std::vector<std::int64_t> numbers(const std::string& list) {
  std::istringstream stream(list);
  std::vector<std::int64_t> values;
  for (std::string word; std::getline(stream, word, ',');) values.push_back(number(word));
  return values;
}

PlanCase read_case(const Words& line) {
  std::string text;
  for (std::size_t i = 3; i < line.size(); ++i) text += (i > 3 ? " " : "") + line[i];
  REQUIRE(PlanFacts::parse(text).to_string() == text);
  return PlanCase(text, numbers(line[2]), number(line[1]));
}

// What a linear plan calls what the file calls w1's and bias1's.
std::string name_in(const PlanCase& c, const std::string& name) {
  return c.data.has(name) ? name : name.substr(0, name.size() - 1);
}

// The elements of an output that are a group's.
std::vector<double> part_of(const PlanCase& c, const std::string& name, std::size_t group) {
  const PlanBuffer& buffer = c.data.plan.buffers[c.data.index(name)];
  const std::vector<double> all = c.values(name);
  std::int64_t begin, end;
  if (buffer.rows == 0) {
    const auto [first, last] = c.data.group(group);
    begin = first * buffer.columns, end = last * buffer.columns;
  } else {
    const auto each = static_cast<std::int64_t>(all.size()) / c.data.plan.facts.groups;
    begin = static_cast<std::int64_t>(group) * each, end = begin + each;
  }
  return {all.begin() + begin, all.begin() + end};
}

void check_output(const std::vector<double>& got, const Words& line) {
  double sum = 0;
  for (std::size_t i = 0; i < got.size(); ++i) sum += got[i] * static_cast<double>(i % 7 + 1);
  CHECK(std::abs(sum - f64(line[2])) <= kSumError * f64(line[3]));
}

void check_case(PlanCase& c, const std::vector<Words>& lines) {
  CAPTURE(c.data.plan.facts.to_string());
  for (const PlanPass pass : kPlanPasses) {
    std::fill(c.scratch.begin(), c.scratch.end(), std::uint8_t{0xFF});
    c.run(pass);
  }
  std::vector<double> part;
  std::string name;
  for (const Words& line : lines) {
    if (line[0] != "at") {
      name = name_in(c, line[0]);
      CAPTURE(name, line[1]);
      part = part_of(c, name, static_cast<std::size_t>(number(line[1])));
      check_output(part, line);
    } else {
      const double got = part[static_cast<std::size_t>(number(line[1]))], want = f64(line[2]);
      CAPTURE(name, line[1], got, want);
      CHECK(std::abs(got - want) <= kElementError * std::abs(want));
    }
  }
}

}  // namespace

TEST_CASE("plan: every family, recipe and layout against a second implementation", "[plan]") {
  const std::vector<Words> lines = golden_lines("../../golden/plans.txt");
  std::size_t cases = 0;
  for (std::size_t first = 0; first < lines.size(); ++cases) {
    std::size_t end = first + 1;
    while (end < lines.size() && lines[end][0] != "case") ++end;
    PlanCase c = read_case(lines[first]);
    check_case(
        c, {lines.begin() + static_cast<std::ptrdiff_t>(first) + 1, lines.begin() + static_cast<std::ptrdiff_t>(end)});
    first = end;
  }
  CHECK(cases == 10);
}
