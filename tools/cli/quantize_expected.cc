#include "tools/cli/quantize_expected.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/cli/elements.h"

namespace octet::cli {
namespace {

// Where column c of an activation's output has its gate and its up half in the pre-activation.
struct Halves {
  std::int64_t gate, up;
};
Halves halves_of(const Problem& problem, std::int64_t columns, std::int64_t c) {
  if (!is_gated(problem.act)) return {c, c};
  const std::int64_t width = problem.il == 0 ? columns : problem.il;
  const std::int64_t first = c / width * 2 * width + c % width, second = first + width;
  return problem.gate_second ? Halves{second, first} : Halves{first, second};
}

class Formulas {
 public:
  Formulas(const Case& run, const QuantizeShape& shape, const QuantizeInput& input, Expected& expected)
      : problem_(run.problem), type_(type_of_input(run)), input_(input), expected_(expected) {
    stored_ = problem_.d ? *problem_.d : type_;
    grad_ = problem_.has(Flag::grad) && problem_.act != Activation::none;
    columns_ = grad_ ? shape.in_columns : shape.out_columns;
    features_ = grad_ ? shape.pre_columns : shape.in_columns;
  }

  void row(std::int64_t g, std::int64_t row) {
    double dprob = 0;
    for (std::int64_t c = 0; c < columns_; ++c) dprob += grad_ ? backward(g, row, c) : forward(g, row, c);
    if (!expected_.dprobs.empty()) expected_.dprobs[at(row)] = dprob;
  }

 private:
  double pre(std::int64_t g, std::int64_t row, std::int64_t feature) const {
    const std::vector<std::uint8_t>& values = grad_ ? input_.pre : input_.in;
    float x = element_at(values, type_, row * features_ + feature);
    if (problem_.has(Flag::bias)) x += element_at(input_.bias, type_, g * features_ + feature);
    return static_cast<double>(x);
  }
  double prob(std::int64_t row) const {
    return problem_.has(Flag::probs) ? static_cast<double>(input_.probs[at(row)]) : 1;
  }

  void put(std::int64_t g, std::int64_t row, std::int64_t c, double value) {
    const float y = rounded(static_cast<float>(value), stored_);
    expected_.y[at(row * expected_.columns + c)] = y;
    double& amax = expected_.amax[at(g)];
    amax = std::max(amax, std::abs(static_cast<double>(y)));
    if (!expected_.dbias.empty()) expected_.dbias[at(g * expected_.columns + c)] += value;
  }
  double forward(std::int64_t g, std::int64_t row, std::int64_t c) {
    const Halves half = halves_of(problem_, columns_, c);
    // Of a gradient that passes no activation the bias is no part.
    const double y = problem_.has(Flag::grad)
                         ? static_cast<double>(element_at(input_.in, type_, row * columns_ + c))
                         : reference::activate(problem_.act, pre(g, row, half.gate), up(g, row, half)).y;
    put(g, row, c, prob(row) * y);
    return 0;
  }
  // What the element adds to the gradient of its row's probability.
  double backward(std::int64_t g, std::int64_t row, std::int64_t c) {
    const Halves half = halves_of(problem_, columns_, c);
    const reference::ActivationValue value =
        reference::activate(problem_.act, pre(g, row, half.gate), up(g, row, half));
    const double dy = static_cast<double>(element_at(input_.in, type_, row * columns_ + c));
    put(g, row, half.gate, prob(row) * dy * value.da);
    if (is_gated(problem_.act)) put(g, row, half.up, prob(row) * dy * value.db);
    return dy * value.y;
  }
  double up(std::int64_t g, std::int64_t row, const Halves& half) const {
    return is_gated(problem_.act) ? pre(g, row, half.up) : 1;
  }

  const Problem& problem_;
  DType type_, stored_;
  const QuantizeInput& input_;
  Expected& expected_;
  bool grad_;
  std::int64_t columns_, features_;
};

}  // namespace

Expected expect(const Case& run, const QuantizeShape& shape, const QuantizeInput& input) {
  Expected expected;
  expected.columns = shape.out_columns;
  expected.y.assign(at(run.capacity * shape.out_columns), std::numeric_limits<float>::quiet_NaN());
  expected.amax.assign(run.sizes.size(), 0);
  if (run.problem.has(Flag::probs) && run.problem.has(Flag::grad)) expected.dprobs.assign(at(run.capacity), 0);
  if (run.problem.has(Flag::dbias)) expected.dbias.assign(run.sizes.size() * at(shape.out_columns), 0);
  Formulas formulas(run, shape, input, expected);
  for (std::size_t g = 0; g < run.sizes.size(); ++g) {
    for (std::int64_t row = run.groups.begin[g]; row < run.groups.end[g]; ++row) {
      formulas.row(static_cast<std::int64_t>(g), row);
    }
  }
  return expected;
}

}  // namespace octet::cli
