// A problem of the reference's quantizers with inputs and outputs of the right sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "octet/layout.h"
#include "octet/reference.h"
#include "tests/support/golden.h"

namespace octet::test {

constexpr std::uint8_t kCanaryByte = 0xA5;

using Bytes = std::vector<std::uint8_t>;

// Everything that a launch may write, full of canaries.
struct QuantizeBuffers {
  explicit QuantizeBuffers(const QuantizeShape& shape);
  reference::QuantizeOutputs pointers();
  Bytes data, sf, data_col, sf_col, d, amax, dprobs, dbias;
};

// [rows][columns] of numbers as tests/golden makes them, rounded to `type`: 17 bits each, a power of two per 1 x 128.
Bytes random_elements(std::int64_t rows, std::int64_t columns, std::uint64_t seed, DType type);
// The extents that a problem's layout gives groups of these sizes, and the rows of its buffers.
reference::GroupExtents extents_of(const Problem& problem, const std::vector<std::int64_t>& sizes);

struct QuantizeCase {
  Problem problem;
  reference::GroupExtents groups;
  std::int64_t capacity = 0;
  QuantizeShape shape;
  Bytes in, pre, bias, probs;
  std::vector<float> given;
  float amax_floor = 0;
  bool noop = false;

  // Inputs are random; rows of no group are NaN.
  QuantizeCase(const std::string& text, const std::vector<std::int64_t>& sizes, std::int64_t rows,
               std::uint64_t seed = 1);
  // Another value for an element of `in`.
  void set(std::int64_t row, std::int64_t column, float value);
  bool exists(std::int64_t row) const;
  reference::QuantizeInputs inputs() const;
  QuantizeBuffers run() const;
  void run(QuantizeBuffers& out) const;
};

// Lines of a file of tests/golden.
inline std::vector<Words> quantizer_lines(const std::string& name) { return golden_lines("../../golden/" + name); }

// An array in a buffer of bytes.
template <class T>
const T* as(const Bytes& bytes) {
  return reinterpret_cast<const T*>(bytes.data());
}
float element(const Bytes& bytes, DType type, std::int64_t index);
bool is_canary(const Bytes& bytes, std::size_t first, std::size_t count);

}  // namespace octet::test
