#include "tests/unit/reference_case.h"

#include <algorithm>

#include "runtime/integers.h"
#include "runtime/reference/elements.h"
#include "runtime/reference/random.h"

namespace octet::test {
namespace {

Bytes canaries(std::int64_t count) { return Bytes(static_cast<std::size_t>(count), kCanaryByte); }

void poison_tail(const QuantizeCase& c, std::int64_t row_bytes, Bytes& rows) {
  if (rows.empty()) return;
  for (std::int64_t row = 0; row < c.shape.rows; ++row)
    if (!c.exists(row)) std::fill_n(rows.begin() + row * row_bytes, row_bytes, std::uint8_t{0xFF});
}

}  // namespace

QuantizeBuffers::QuantizeBuffers(const QuantizeShape& shape)
    : data(canaries(shape.row.data)),
      sf(canaries(shape.row.sf)),
      data_col(canaries(shape.col.data)),
      sf_col(canaries(shape.col.sf)),
      d(canaries(shape.d_bytes)),
      amax(canaries(shape.amax_bytes)),
      dprobs(canaries(shape.probs_bytes)),
      dbias(canaries(shape.dbias_bytes)) {}

reference::QuantizeOutputs QuantizeBuffers::pointers() {
  const auto floats = [](Bytes& bytes) { return reinterpret_cast<float*>(bytes.data()); };
  reference::QuantizeOutputs out;
  out.data = data.data();
  out.sf = sf.data();
  out.data_col = data_col.data();
  out.sf_col = sf_col.data();
  out.d = d.data();
  out.amax = floats(amax);
  out.dprobs = floats(dprobs);
  out.dbias = floats(dbias);
  return out;
}

Bytes random_elements(std::int64_t rows, std::int64_t columns, std::uint64_t seed, DType type) {
  Bytes bytes(static_cast<std::size_t>(rows * columns * size_bytes(type)));
  const std::int64_t blocks = ceil_div(columns, 128);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const auto place = static_cast<std::uint64_t>(row * columns + column);
      const auto block = static_cast<std::uint64_t>(row * blocks + column / 128);
      const float value = reference::random_normal(seed, place) * reference::random_magnitude(seed, block);
      reference::store_element(bytes.data(), type, row * columns + column, value);
    }
  }
  return bytes;
}

reference::GroupExtents extents_of(const Problem& problem, const std::vector<std::int64_t>& sizes) {
  if (problem.layout == Layout::masked) return reference::masked_extents(sizes, problem.m);
  if (problem.layout == Layout::uniform) return reference::uniform_extents(problem.g, problem.n);
  return reference::extents(sizes, problem.layout == Layout::padded ? problem.al : 0);
}

QuantizeCase::QuantizeCase(const std::string& text, const std::vector<std::int64_t>& sizes, std::int64_t rows,
                           std::uint64_t seed)
    : problem(Problem::parse(text)),
      groups(extents_of(problem, sizes)),
      capacity(rows),
      shape(quantize_shape(problem, rows)) {
  const DType type = *problem.in;
  const std::int64_t wide = problem.has(Flag::grad) ? shape.out_columns : shape.in_columns;
  in = random_elements(shape.rows, shape.in_columns, seed, type);
  pre = random_elements(shape.rows, shape.pre_columns, 1005, type);
  if (problem.has(Flag::bias)) bias = random_elements(problem.g, wide, 1003, type);
  if (problem.has(Flag::probs)) probs = random_elements(1, shape.rows, 1001, DType::f32);
  for (std::int64_t g = 1; g <= problem.g; ++g) given.push_back(0.3f * static_cast<float>(g));
  poison_tail(*this, shape.in_columns * size_bytes(type), in);
  poison_tail(*this, shape.pre_columns * size_bytes(type), pre);
  poison_tail(*this, sizeof(float), probs);
}

void QuantizeCase::set(std::int64_t row, std::int64_t column, float value) {
  reference::store_element(in.data(), *problem.in, row * shape.in_columns + column, value);
}

bool QuantizeCase::exists(std::int64_t row) const {
  for (std::size_t g = 0; g < groups.begin.size(); ++g)
    if (groups.begin[g] <= row && row < groups.end[g]) return true;
  return false;
}

reference::QuantizeInputs QuantizeCase::inputs() const {
  reference::QuantizeInputs inputs;
  inputs.in = in.data();
  inputs.pre = pre.data();
  inputs.bias = bias.data();
  inputs.probs = as<float>(probs);
  inputs.given = given.data();
  inputs.noop = noop;
  inputs.amax_floor = amax_floor;
  return inputs;
}

void QuantizeCase::run(QuantizeBuffers& out) const {
  reference::quantize(problem, inputs(), groups, capacity, out.pointers());
}

QuantizeBuffers QuantizeCase::run() const {
  QuantizeBuffers out(shape);
  run(out);
  return out;
}

float element(const Bytes& bytes, DType type, std::int64_t index) {
  return reference::load_element(bytes.data(), type, index);
}

bool is_canary(const Bytes& bytes, std::size_t first, std::size_t count) {
  return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(first),
                     bytes.begin() + static_cast<std::ptrdiff_t>(first + count),
                     [](std::uint8_t byte) { return byte == kCanaryByte; });
}

}  // namespace octet::test
