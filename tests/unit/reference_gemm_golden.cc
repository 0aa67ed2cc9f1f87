// Every pair of recipes, forward, dgrad and wgrad, against tests/golden/gemms.txt: dequantized matrices multiplied by a
// second implementation.
#include <cmath>
#include <sstream>

#include "tests/support/catch.h"
#include "tests/unit/reference_gemm_case.h"

using namespace octet;
using namespace octet::test;

namespace {

// Both sides sum some hundred f64 terms in different orders; a group's sum adds 10^4 of such elements.
constexpr double kElementError = 0x1p-43, kGroupError = 0x1p-40;

double f64(const std::string& word) { return std::stod(word); }  // as C writes it in hexadecimal

std::vector<std::int64_t> numbers(const std::string& list) {
  std::istringstream stream(list);
  std::vector<std::int64_t> values;
  for (std::string word; std::getline(stream, word, ',');) values.push_back(number(word));
  return values;
}

GemmCase read_case(const Words& line) {
  std::string text;
  for (std::size_t i = 5; i < line.size(); ++i) text += (i > 5 ? " " : "") + line[i];
  REQUIRE(Problem::parse(text).to_string() == text);
  GemmCase gemm(text, numbers(line[2]), number(line[1]));
  gemm.alpha = std::stof(line[3]);
  gemm.beta = std::stof(line[4]);
  return gemm;
}

// Changes with any element of a group's part of D.
double weighted_sum(const GemmCase& gemm, const std::vector<double>& d, std::size_t group) {
  const std::int64_t columns = gemm.d_columns(), first = gemm.first_row(group) * columns;
  double sum = 0;
  for (std::int64_t i = 0; i < gemm.rows(group) * columns; ++i)
    sum += d[static_cast<std::size_t>(first + i)] * static_cast<double>(i % 7 + 1);
  return sum;
}

// One case of the file: `lines` are those of its groups.
void check_case(const GemmCase& gemm, const std::vector<Words>& lines) {
  CAPTURE(gemm.problem.to_string());
  const std::vector<double> d = gemm.run(2);
  std::size_t group = 0;
  for (const Words& line : lines) {
    CAPTURE(line[1], line[2]);
    if (line[0] == "group") {
      group = static_cast<std::size_t>(number(line[1]));
      CHECK(std::abs(weighted_sum(gemm, d, group) - f64(line[2])) <= kGroupError * f64(line[3]));
    } else {
      const std::int64_t i = number(line[1]), j = number(line[2]);
      const double got = d[static_cast<std::size_t>((gemm.first_row(group) + i) * gemm.d_columns() + j)];
      CHECK(std::abs(got - f64(line[3])) <= kElementError * f64(line[4]));
      if (!gemm.problem.has(Flag::acc)) CHECK(gemm.element(group, i, j) == got);
    }
  }
}

}  // namespace

TEST_CASE("reference: every pair of recipes and every pass against a second implementation") {
  const auto lines = quantizer_lines("gemms.txt");
  std::size_t cases = 0;
  for (std::size_t first = 0; first < lines.size(); ++cases) {
    std::size_t end = first + 1;
    while (end < lines.size() && lines[end][0] != "case") ++end;
    check_case(read_case(lines[first]), {lines.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                                         lines.begin() + static_cast<std::ptrdiff_t>(end)});
    first = end;
  }
  CHECK(cases == 37);
}
