// What a launch computes before it quantizes: bias, activation, probabilities and their gradients, row by row.
#pragma once

#include <cstdint>
#include <vector>

#include "octet/layout.h"
#include "octet/problem.h"
#include "octet/reference.h"

namespace octet::reference {

class Features {
 public:
  // The problem and the inputs must outlive this. Throws Error{invalid_argument} for what does not go together.
  Features(const Problem& problem, const QuantizeInputs& inputs, const QuantizeShape& shape);

  std::int64_t columns() const { return columns_; }
  // Whether a row has a gradient of its probability.
  bool has_dprob() const { return gradient_ && scaled_; }
  // The row's values before they are rounded to the input's type, columns() of them. Returns the gradient of its
  // probability.
  float row(std::int64_t group, std::int64_t row, float* values) const;

 private:
  // The columns of a gate and its up half in the pre-activation; of an ungated activation both are c.
  struct Pair {
    std::int64_t gate, up;
  };
  Pair pair(std::int64_t c) const;
  float pre_activation(const void* elements, std::int64_t group, std::int64_t row, std::int64_t column) const;
  void identity(std::int64_t group, std::int64_t row, double p, float* values) const;
  void forward(std::int64_t group, std::int64_t row, double p, float* values) const;
  float backward(std::int64_t group, std::int64_t row, double p, float* values) const;

  const Problem& problem_;
  const QuantizeInputs& inputs_;
  DType in_;
  bool gated_, gradient_, scaled_;  // gradient_: of an activation; scaled_: by probabilities
  std::int64_t outputs_;            // C
  std::int64_t features_;           // F
  std::int64_t columns_;            // of what is written
};

}  // namespace octet::reference
