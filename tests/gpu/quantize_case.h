// A quantization with awkward inputs: on the host for the oracle, on the device for the kernel. Results are compared
// bit for bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/gpu/harness.h"

namespace octet::test {

struct QuantizeData {
  QuantizeProblem problem;
  reference::GroupExtents groups;  // empty for weights
  std::int64_t capacity = 0;       // rows
  std::vector<std::uint16_t> in;

  bool weights() const { return problem.layout == Layout::uniform; }
};

inline QuantizeProblem token_problem(std::int64_t groups, std::int64_t columns) {
  QuantizeProblem problem;
  problem.groups = groups;
  problem.columns = columns;
  return problem;
}
inline QuantizeProblem weight_problem(std::int64_t groups, std::int64_t rows, std::int64_t columns) {
  QuantizeProblem problem;
  problem.layout = Layout::uniform;
  problem.groups = groups;
  problem.rows_per_group = rows;
  problem.columns = columns;
  problem.out = e4m3_128x128();
  return problem;
}

// Blocks of every kind: ordinary, zero, subnormal, near overflow, with NaN, with infinity. Rows of no group hold NaN.
QuantizeData awkward_tokens(const QuantizeProblem& problem, const std::vector<std::int64_t>& sizes,
                            std::int64_t spare_rows, Random& random);
QuantizeData awkward_weights(const QuantizeProblem& problem, Random& random);

struct Quantized {
  std::vector<std::uint8_t> data;
  std::vector<float> sf;
};
// What the oracle makes of buffers that were full of 0xFF, the poison of the device's.
Quantized expected(const QuantizeData& data);

class QuantizeBuffers {
 public:
  explicit QuantizeBuffers(const QuantizeData& data);
  QuantizeArgs args(const Quantize& kernel) const;
  void launch(const Quantize& kernel);  // poisons the outputs first; does not wait
  // launch, wait and read. Throws when a guard was overwritten.
  Quantized run(const Quantize& kernel);

  Buffer in, data, sf, splits;

 private:
  std::int64_t capacity_;
  OwnedStream stream_;
};

// "" when equal bit for bit; else the first difference.
std::string difference(const Quantized& wanted, const Quantized& got);
// Prepares, runs and compares with the oracle.
std::string fault(const QuantizeData& data);

}  // namespace octet::test
