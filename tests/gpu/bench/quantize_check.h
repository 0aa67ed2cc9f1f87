// Whether what a timed quantizer wrote is right, by samples.
#pragma once

#include <string>

#include "tests/gpu/bench/quantize.h"

namespace octet::bench {

// Device buffers of one benchmark; unused ones are empty.
struct QuantizeOperands {
  test::Buffer in, pre, given, splits, workspace, data, sf, data_col, sf_col;

  QuantizeOperands(const QuantizeBenchmark& benchmark, const Quantize& kernel, const Operands& operands);
  QuantizeArgs args(const QuantizeBenchmark& benchmark, const Quantize& kernel) const;
};

// Some windows of up to 128 rows, the first and the last group's among them. "" when they are the oracle's, bit for
// bit; a fused activation's part in it is what the activation kernel alone makes of the same rows.
std::string spot_check(const QuantizeBenchmark& benchmark, const QuantizeOperands& buffers, Runtime& runtime,
                       test::Random& random);

}  // namespace octet::bench
