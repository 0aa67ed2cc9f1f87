// One launch of a quantizer or an activation: inputs on the host for the oracle, on the device for the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/gpu/harness.h"

namespace octet::test {

using Bytes = std::vector<std::uint8_t>;
using Sizes = std::vector<std::int64_t>;

// One of each thing that a launch may write; empty where the problem does not ask for it.
template <typename Value>
struct Outputs {
  Value data, sf, data_col, sf_col, d, amax, dprobs, dbias;
};
// visit(name, member of the first, member of the second, …) for each member.
template <typename Visit, typename... AllOutputs>
void for_each_output(Visit&& visit, AllOutputs&... outputs) {
  visit("data", outputs.data...);
  visit("sf", outputs.sf...);
  visit("data_col", outputs.data_col...);
  visit("sf_col", outputs.sf_col...);
  visit("d", outputs.d...);
  visit("amax", outputs.amax...);
  visit("dprobs", outputs.dprobs...);
  visit("dbias", outputs.dbias...);
}
using Results = Outputs<Bytes>;

struct QuantizeCase {
  Problem problem;
  reference::GroupExtents groups;
  std::int64_t capacity = 0;  // rows of the buffers
  Bytes in, pre, bias;        // elements of type problem.in
  std::vector<float> probs, given;
  std::uint32_t noop = 0;
  float amax_floor = 0;

  QuantizeShape shape() const { return quantize_shape(problem, capacity); }
};

// Problems that many tests start from.
Problem token_problem(std::int64_t groups, std::int64_t columns);
Problem weight_problem(std::int64_t groups, std::int64_t rows, std::int64_t columns);

// Groups of these sizes: counts for masked, and all N for uniform, which ignores them. `spare_rows` are left after the
// last group of packed and padded.
reference::GroupExtents group_extents(const Problem& problem, const Sizes& sizes);
// Inputs of every kind (awkward.h), or ordinary ones alone. NaN in all rows of no group.
QuantizeCase awkward_case(const Problem& problem, const Sizes& sizes, std::int64_t spare_rows, Random& random);
QuantizeCase ordinary_case(const Problem& problem, const Sizes& sizes, std::int64_t spare_rows, Random& random);

// What the oracle makes of buffers that were full of 0xFF, the poison of the device's.
Results expected(const QuantizeCase& quantize);
Results poisoned(const QuantizeCase& quantize);

class QuantizeBuffers {
 public:
  explicit QuantizeBuffers(const QuantizeCase& quantize);
  QuantizeArgs args(const Quantize& kernel);  // and a workspace for it
  void poison();                              // outputs and workspace
  void launch(const Quantize& kernel);        // poisons first; does not wait
  Results read() const;                       // of what was launched and waited for
  // launch, wait and read. Throws when a guard was overwritten or an input changed.
  Results run(const Quantize& kernel);

  Buffer in, pre, bias, probs, given, noop, splits;
  Outputs<Buffer> out;

 private:
  std::vector<const Buffer*> inputs() const { return {&in, &pre, &bias, &probs, &given, &noop, &splits}; }

  Problem problem_;
  std::int64_t capacity_;
  float amax_floor_;
  Buffer workspace_;
  OwnedStream stream_;
};

// "" when equal bit for bit; else the first difference.
std::string difference(const char* name, const Bytes& wanted, const Bytes& got);
std::string difference(const Results& wanted, const Results& got);

}  // namespace octet::test
