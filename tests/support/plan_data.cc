#include "tests/support/plan_data.h"

#include <cstring>
#include <limits>
#include <stdexcept>

#include "octet/layout.h"
#include "octet/reference.h"
#include "runtime/integers.h"
#include "runtime/reference/elements.h"
#include "runtime/reference/random.h"
#include "tests/support/plan_binding.h"

namespace octet::test {
namespace {

constexpr float kWeightScale = 1.0f / 32;  // activations are not all saturated

// As tests/golden/make_golden.py makes them: 17 bits each, a power of two per 1 x 128.
void fill(std::vector<std::uint8_t>& bytes, const PlanBuffer& buffer, std::int64_t rows, std::uint64_t seed,
          float scale) {
  const std::int64_t blocks = ceil_div(buffer.columns, 128);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < buffer.columns; ++column) {
      const float value = reference::random_normal(seed, static_cast<std::uint64_t>(row * buffer.columns + column)) *
                          reference::random_magnitude(seed, static_cast<std::uint64_t>(row * blocks + column / 128));
      reference::store_element(bytes.data(), buffer.type, row * buffer.columns + column,
                               reference::round_to(buffer.type, value) * scale);
    }
  }
}

std::uint64_t seed_of(PlanTensor tensor) {
  switch (tensor) {
    case PlanTensor::x:
      return 1;
    case PlanTensor::w1:
      return 3;
    case PlanTensor::w2:
      return 5;
    case PlanTensor::bias1:
      return 7;
    case PlanTensor::bias2:
      return 9;
    case PlanTensor::probs:
      return 11;
    case PlanTensor::dy:
      return 13;
    case PlanTensor::dw1:
      return 15;
    default:
      return 17;
  }
}

// Golden probabilities are one row of numbers, not a column of them: blocks are 128 tokens.
void fill_probs(std::vector<std::uint8_t>& bytes, std::int64_t rows, std::uint64_t seed) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto i = static_cast<std::uint64_t>(row);
    const float value = reference::random_normal(seed, i) * reference::random_magnitude(seed, i / 128);
    reference::store_element(bytes.data(), DType::f32, row, value);
  }
}

// Tensors of a master weight lie 256-byte aligned.
void spread_tensors(std::vector<std::uint8_t>& bytes, const PlanBuffer& buffer, std::int64_t tensor_bytes) {
  if (buffer.tensors == 1) return;
  const std::vector<std::uint8_t> packed = bytes;
  const std::int64_t stride = up_to_256(tensor_bytes);
  bytes.assign(static_cast<std::size_t>(buffer.tensors * stride), 0);
  for (std::int64_t t = 0; t < buffer.tensors; ++t) {
    std::memcpy(bytes.data() + t * stride, packed.data() + t * tensor_bytes, static_cast<std::size_t>(tensor_bytes));
  }
}

}  // namespace

double plan_element(const std::vector<std::uint8_t>& bytes, DType type, std::int64_t index) {
  return reference::load_element(bytes.data(), type, index);
}
void set_plan_element(std::vector<std::uint8_t>& bytes, DType type, std::int64_t index, float value) {
  reference::store_element(bytes.data(), type, index, value);
}

PlanData::PlanData(const std::string& line, std::vector<std::int64_t> of_groups, std::int64_t rows)
    : plan(make_plan(PlanFacts::parse(line))), capacity(rows) {
  set_sizes(std::move(of_groups));
  for (const PlanBuffer& buffer : plan.buffers) {
    std::vector<std::uint8_t>& bytes = buffers.emplace_back();
    if (buffer.tensor == PlanTensor::none) continue;
    const PlanBytes size = plan.bytes(buffer, capacity);
    if (buffer.producer) {
      bytes.assign(static_cast<std::size_t>(buffer.tensors * plan_tensor_bytes(size)), 0);
      continue;
    }
    bytes.assign(static_cast<std::size_t>(buffer.tensors * size.data), buffer.role == PlanRole::output ? 0xA5 : 0);
    const std::int64_t all_rows = buffer.tensors * size.data / size_bytes(buffer.type) / buffer.columns;
    const bool gradient = buffer.tensor == PlanTensor::dw1 || buffer.tensor == PlanTensor::dw2;
    if (buffer.tensor == PlanTensor::probs) {
      fill_probs(bytes, all_rows, seed_of(buffer.tensor));
    } else if (buffer.tensor != PlanTensor::noop &&
               (buffer.role != PlanRole::output || (gradient && plan.facts.accumulate))) {
      const bool weight = buffer.role == PlanRole::weight;
      fill(bytes, buffer, all_rows, seed_of(buffer.tensor), weight ? kWeightScale : 1);
    }
    spread_tensors(bytes, buffer, size.data);
  }
  for (const char* name : {"x", "dy", "probs"}) {
    if (has(name)) fill_tail(name, std::numeric_limits<float>::quiet_NaN());
  }
}

void PlanData::set_sizes(std::vector<std::int64_t> new_sizes) {
  sizes = std::move(new_sizes);
  const PlanFacts& facts = plan.facts;
  const reference::GroupExtents groups =
      facts.layout == Layout::masked ? reference::masked_extents(sizes, facts.max_m)
                                     : reference::extents(sizes, facts.layout == Layout::padded ? facts.alignment : 0);
  splits.clear();
  for (const std::int64_t value : reference::splits_array(groups, facts.splits.form)) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);  // the low half first
    splits.insert(splits.end(), bytes, bytes + (facts.splits.is_i64 ? 8 : 4));
  }
}

bool PlanData::has(const std::string& name) const {
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.name == name) return true;
  }
  return false;
}

std::size_t PlanData::index(const std::string& name) const {
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    if (plan.buffers[i].name == name) return i;
  }
  throw std::runtime_error("no buffer " + name);
}

std::pair<std::int64_t, std::int64_t> PlanData::group(std::size_t g) const {
  const PlanFacts& facts = plan.facts;
  const reference::GroupExtents groups =
      facts.layout == Layout::masked ? reference::masked_extents(sizes, facts.max_m)
                                     : reference::extents(sizes, facts.layout == Layout::padded ? facts.alignment : 0);
  return {groups.begin[g], groups.end[g]};
}

std::vector<bool> PlanData::rows_in_groups() const {
  std::vector<bool> in_group(static_cast<std::size_t>(capacity));
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    const auto [begin, end] = group(g);
    for (std::int64_t row = begin; row < end; ++row) in_group[static_cast<std::size_t>(row)] = true;
  }
  return in_group;
}

void PlanData::fill_tail(const std::string& name, float value) {
  const PlanBuffer& buffer = plan.buffers[index(name)];
  const std::vector<bool> in_group = rows_in_groups();
  for (std::int64_t row = 0; row < capacity; ++row) {
    if (in_group[static_cast<std::size_t>(row)]) continue;
    for (std::int64_t column = 0; column < buffer.columns; ++column) {
      reference::store_element(at(name).data(), buffer.type, row * buffer.columns + column, value);
    }
  }
}

}  // namespace octet::test
