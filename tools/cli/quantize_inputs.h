// Random inputs of a quantizer or an activation, with NaN in every row that belongs to no group.
#pragma once

#include <cstdint>
#include <vector>

#include "octet/layout.h"
#include "octet/reference.h"
#include "tools/cli/run_case.h"

namespace octet::cli {

// Empty where the problem does not ask for it. Elements of type problem.in, as bytes.
struct QuantizeInput {
  std::vector<std::uint8_t> in, pre, bias;
  std::vector<float> probs, given;

  reference::QuantizeInputs host(bool noop = false) const;
};
QuantizeInput make_quantize_input(const Case& run, const QuantizeShape& shape);

// What is written, all of it poison at first.
struct QuantizeOutput {
  std::vector<std::uint8_t> data, sf, data_col, sf_col, d;
  std::vector<float> amax, dprobs, dbias;

  reference::QuantizeOutputs host();
};
// Byte for byte: NaN equals itself.
bool operator==(const QuantizeOutput& x, const QuantizeOutput& y);
QuantizeOutput poisoned_output(const Case& run, const QuantizeShape& shape);

inline DType type_of_input(const Case& run) { return run.problem.in.value_or(DType::bf16); }

}  // namespace octet::cli
