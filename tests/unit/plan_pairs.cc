// Every pair of producers and consumers that a plan can put together: each agrees and is right, or is refused by name.
#include <cmath>

#include <fmt/format.h>

#include "octet/error.h"
#include "runtime/plan_agreement.h"
#include "tests/support/catch.h"
#include "tests/unit/plan_case.h"

using namespace octet;
using namespace octet::test;

namespace {

const std::vector<std::string> kTokens = {"tensor",  "row",  "1x128",        "1x128@k_major",
                                          "128x128", "1x32", "1x32@swizzled"};
const std::vector<std::string> kWeights = {
    "tensor", "row", "1x128", "1x128@k_major", "128x128", "128x128@block2d_t", "1x32", "1x32@swizzled", "32x32"};
constexpr std::int64_t kN = 144, kK = 160;
// Of FP8 against f64, over the elements of one group; a scale of another block or row is a power of two off.
constexpr double kBound = 0.1;

struct Matrices {
  std::vector<double> x, w, dy, y, dx, dw;
};

double relative_error(const std::vector<double>& got, const std::vector<double>& want, std::size_t begin,
                      std::size_t end) {
  double difference = 0, total = 0;
  for (std::size_t i = begin; i < end; ++i) {
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    total += want[i] * want[i];
  }
  return total == 0 ? difference : std::sqrt(difference / total);
}

// One group's products of what was not quantized.
void multiply(const PlanCase& c, std::size_t g, Matrices& m) {
  const auto [begin, end] = c.data.group(g);
  for (std::int64_t row = begin; row < end; ++row) {
    for (std::int64_t n = 0; n < kN; ++n) {
      for (std::int64_t k = 0; k < kK; ++k) {
        const auto at_x = static_cast<std::size_t>(row * kK + k), at_y = static_cast<std::size_t>(row * kN + n);
        const std::size_t at_w = g * kN * kK + static_cast<std::size_t>(n * kK + k);
        m.y[at_y] += m.x[at_x] * m.w[at_w];
        m.dx[at_x] += m.dy[at_y] * m.w[at_w];
        m.dw[at_w] += m.dy[at_y] * m.x[at_x];
      }
    }
  }
}

std::string fault_of(const std::string& line, const std::vector<std::int64_t>& sizes, std::int64_t capacity) {
  PlanCase c(line, sizes, capacity);
  Matrices m{c.values("x"), c.values("w"), c.values("dy"), {}, {}, {}};
  m.y.resize(m.dy.size());
  m.dx.resize(m.x.size());
  m.dw.resize(m.w.size());
  c.run();
  const std::vector<double> y = c.values("y"), dx = c.values("dx"), dw = c.values("dw");
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    multiply(c, g, m);
    const auto rows = c.data.group(g);
    const auto begin = static_cast<std::size_t>(rows.first), end = static_cast<std::size_t>(rows.second);
    const double errors[] = {relative_error(y, m.y, begin * kN, end * kN),
                             relative_error(dx, m.dx, begin * kK, end * kK),
                             relative_error(dw, m.dw, g * kN * kK, (g + 1) * kN * kK)};
    for (const double error : errors) {
      if (!(error < kBound)) {
        return fmt::format("group {}: errors of y, dx and dw {:.3g} {:.3g} {:.3g}", g, errors[0], errors[1], errors[2]);
      }
    }
  }
  return "";
}

// "accepted" and right, or the rule.
std::string verdict(const std::string& line, const std::vector<std::int64_t>& sizes, std::int64_t capacity) {
  try {
    const Plan plan = make_plan(PlanFacts::parse(line));
    CHECK(first_disagreement(plan).empty());
  } catch (const Error& error) {
    const std::string message = error.what();
    CHECK(message.find(" (rule ") != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
    return "refused";
  }
  const std::string fault = fault_of(line, sizes, capacity);
  CHECK(fault == "");
  return "accepted";
}

}  // namespace

TEST_CASE("producer-consumer-pairs: of every recipe of tokens, weights and gradients", "[plan]") {
  struct Place {
    const char* text;
    std::vector<std::int64_t> sizes;
    std::int64_t capacity;
  };
  for (const Place& place : std::vector<Place>{{"packed g3", {3, 0, 20}, 30},
                                               {"padded g3 al8", {3, 0, 20}, 40},
                                               {"masked g3 m20", {3, 0, 20}, 60},
                                               {"dense g1", {23}, 23}}) {
    std::size_t accepted = 0;
    for (const std::string& x : kTokens) {
      for (const std::string& w : kWeights) {
        for (const std::string& dy : kTokens) {
          std::string head = place.text;
          const std::string line =
              fmt::format("linear.{} n{} k{} x=e4m3:{} weights=e4m3:{} dy=e4m3:{}", head, kN, kK, x, w, dy);
          CAPTURE(line);
          accepted += verdict(line, place.sizes, place.capacity) == "accepted";
        }
      }
    }
    // tensor, row; two layouts of tokens, four of weights and two of gradients of 1x128; two, three and two of MX.
    CHECK(accepted == 1 + 1 + 2 * 4 * 2 + 2 * 3 * 2);
  }
}
