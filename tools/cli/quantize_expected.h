// What a quantizer or an activation must compute before it quantizes, from the formulas of docs/numerics.md alone:
// which element of the input goes where, bias, gates, probabilities, sums and roundings are written down once more
// here; the activations themselves are reference::activate.
#pragma once

#include <vector>

#include "tools/cli/quantize_inputs.h"

namespace octet::cli {

struct Expected {
  std::int64_t columns = 0;
  std::vector<float> y;        // [rows][columns], rounded as it is stored or quantized; NaN in rows of no group
  std::vector<double> amax;    // [G], of y
  std::vector<double> dprobs;  // [rows], empty unless asked for
  std::vector<double> dbias;   // [G][columns], empty unless asked for

  float at_row(std::int64_t row, std::int64_t c) const { return y[static_cast<std::size_t>(row * columns + c)]; }
};
Expected expect(const Case& run, const QuantizeShape& shape, const QuantizeInput& input);

}  // namespace octet::cli
