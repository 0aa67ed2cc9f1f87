#include "runtime/reference/features.h"

#include <fmt/format.h>

#include "runtime/reference/checks.h"
#include "runtime/reference/elements.h"

namespace octet::reference {

Features::Features(const Problem& problem, const QuantizeInputs& inputs, const QuantizeShape& shape)
    : problem_(problem),
      inputs_(inputs),
      in_(*problem.in),
      gated_(is_gated(problem.act)),
      gradient_(problem.has(Flag::grad) && problem.act != Activation::none),
      scaled_(problem.has(Flag::probs)),
      outputs_(problem.has(Flag::grad) ? shape.in_columns : shape.out_columns),
      features_(problem.has(Flag::grad) ? shape.out_columns : shape.in_columns),
      columns_(shape.out_columns) {
  if (gated_ && problem.il > 0 && outputs_ % problem.il != 0)
    throw bad_argument(
        fmt::format("reference: il={}: must divide the {} columns of the activation's output", problem.il, outputs_));
}

Features::Pair Features::pair(std::int64_t c) const {
  if (!gated_) return {c, c};
  const std::int64_t width = problem_.il > 0 ? problem_.il : outputs_;
  const std::int64_t first = c / width * 2 * width + c % width, second = first + width;
  return problem_.gate_second ? Pair{second, first} : Pair{first, second};
}

float Features::pre_activation(const void* elements, std::int64_t group, std::int64_t row, std::int64_t column) const {
  const float x = load_element(elements, in_, row * features_ + column);
  if (!problem_.has(Flag::bias)) return x;
  return x + load_element(inputs_.bias, in_, group * features_ + column);
}

// Also the gradient of the identity, to which a bias is nothing.
void Features::identity(std::int64_t group, std::int64_t row, double p, float* values) const {
  for (std::int64_t c = 0; c < columns_; ++c) {
    const float x = problem_.has(Flag::grad) ? load_element(inputs_.in, in_, row * columns_ + c)
                                             : pre_activation(inputs_.in, group, row, c);
    values[c] = static_cast<float>(p * x);
  }
}

void Features::forward(std::int64_t group, std::int64_t row, double p, float* values) const {
  for (std::int64_t c = 0; c < outputs_; ++c) {
    const Pair at = pair(c);
    const double a = pre_activation(inputs_.in, group, row, at.gate);
    const double b = gated_ ? pre_activation(inputs_.in, group, row, at.up) : 1;
    values[c] = static_cast<float>(p * activate(problem_.act, a, b).y);
  }
}

float Features::backward(std::int64_t group, std::int64_t row, double p, float* values) const {
  double dprob = 0;
  for (std::int64_t c = 0; c < outputs_; ++c) {
    const Pair at = pair(c);
    const double a = pre_activation(inputs_.pre, group, row, at.gate);
    const double b = gated_ ? pre_activation(inputs_.pre, group, row, at.up) : 1;
    const double dy = load_element(inputs_.in, in_, row * outputs_ + c);
    const ActivationValue f = activate(problem_.act, a, b);
    values[at.gate] = static_cast<float>(p * dy * f.da);
    if (gated_) values[at.up] = static_cast<float>(p * dy * f.db);
    dprob += dy * f.y;
  }
  return static_cast<float>(dprob);
}

float Features::row(std::int64_t group, std::int64_t row, float* values) const {
  const double p = scaled_ ? inputs_.probs[row] : 1;
  if (gradient_) return backward(group, row, p, values);
  if (problem_.act == Activation::none) {
    identity(group, row, p, values);
  } else {
    forward(group, row, p, values);
  }
  return 0;
}

}  // namespace octet::reference
