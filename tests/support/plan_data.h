// What the tests of plans run on: inputs that are the same on every machine, and room for the outputs, on the host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "octet/plan.h"

namespace octet::test {

// One byte string for each buffer of the caller's, its tensors end to end with each one's scales behind its data, empty
// for the plan's own; outputs hold 0xA5.
struct PlanData {
  Plan plan;
  std::vector<std::int64_t> sizes;
  std::int64_t capacity = 0;
  std::vector<std::uint8_t> splits;
  std::vector<std::vector<std::uint8_t>> buffers;

  // Tail rows of inputs are NaN. With +primary the weights are still to be filled, and with +acc the gradients hold
  // random numbers.
  PlanData(const std::string& line, std::vector<std::int64_t> sizes, std::int64_t capacity);

  bool has(const std::string& name) const;
  std::size_t index(const std::string& name) const;
  std::vector<std::uint8_t>& at(const std::string& name) { return buffers[index(name)]; }
  const std::vector<std::uint8_t>& at(const std::string& name) const { return buffers[index(name)]; }
  // Fills the rows of an input that belong to no group.
  void fill_tail(const std::string& name, float value);
  std::vector<bool> rows_in_groups() const;
  // Rows [begin, end) of a group in the buffers of tokens.
  std::pair<std::int64_t, std::int64_t> group(std::size_t g) const;
  // Replaces the sizes, and the array that says them.
  void set_sizes(std::vector<std::int64_t> new_sizes);
};

// Element i of a wide type.
double plan_element(const std::vector<std::uint8_t>& bytes, DType type, std::int64_t index);
void set_plan_element(std::vector<std::uint8_t>& bytes, DType type, std::int64_t index, float value);

}  // namespace octet::test
