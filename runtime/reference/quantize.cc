// Quantizers and activations, group by group: the values of all of the group's rows, then each direction's blocks.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "octet/layout.h"
#include "octet/reference.h"
#include "runtime/reference/checks.h"
#include "runtime/reference/data_map.h"
#include "runtime/reference/elements.h"
#include "runtime/reference/features.h"
#include "runtime/reference/scale_map.h"
#include "runtime/reference/scales.h"

namespace octet::reference {
namespace {

// [rows][columns] of one group, rounded to the input's type.
struct Values {
  std::int64_t rows, columns;
  std::vector<float> x;
  float at(std::int64_t row, std::int64_t column) const { return x[static_cast<std::size_t>(row * columns + column)]; }
};

// A rectangle of a group.
struct Block {
  std::int64_t first_row, end_row, first_column, end_column;
};

// Largest |x|, NaN left out.
float block_amax(const Values& values, const Block& block) {
  float amax = 0;
  for (std::int64_t row = block.first_row; row < block.end_row; ++row) {
    for (std::int64_t column = block.first_column; column < block.end_column; ++column) {
      const float magnitude = std::abs(values.at(row, column));
      if (magnitude > amax) amax = magnitude;  // false for NaN
    }
  }
  return amax;
}

// One direction of the output.
struct Target {
  const Problem& problem;
  DataMap data_map;
  ScaleMap scale_map;
  std::uint8_t* data;
  void* sf;

  Target(const Problem& p, const Placement& placement, const QuantizeShape& shape, const QuantizeOutputs& out,
         bool columnwise)
      : problem(p),
        data_map(placement, columnwise, shape.ld_col),
        scale_map(placement, *p.out, columnwise),
        data(columnwise ? out.data_col : out.data),
        sf(columnwise ? out.sf_col : out.sf) {
    if (data_map.writes()) check_pointer(columnwise ? "data_col" : "data", data);
    if (scale_map.writes()) check_pointer(columnwise ? "sf_col" : "sf", sf);
  }

  ScaleArray scales() const { return {problem.out->granularity, sf}; }
  void write_padding() const {
    data_map.for_each_padding([&](std::int64_t i) { data[i] = 0; });
    scale_map.for_each_padding([&](std::int64_t i) { scales().pad(i); });
  }
};

// The block's elements that exist; none of a block past a masked group's count.
Block block_at(const BlockUnit& unit, std::int64_t row_block, std::int64_t column_block, const Values& values) {
  const std::int64_t rows = unit.rows == BlockUnit::kAll ? values.rows : unit.rows;
  const std::int64_t columns = unit.columns == BlockUnit::kAll ? values.columns : unit.columns;
  const std::int64_t row = row_block * rows, column = column_block * columns;
  return {std::min(row, values.rows), std::min(row + rows, values.rows), column,
          std::min(column + columns, values.columns)};
}

BlockScale scale_of(const Problem& problem, const QuantizeInputs& inputs, std::int64_t group, const Values& values,
                    const Block& block) {
  if (problem.has(Flag::given)) return given_scale(inputs.given[group]);
  if (block.first_row == block.end_row) return {};  // nothing to scale: the floor has no say
  return recipe_scale(*problem.out, *problem.in, block_amax(values, block), inputs.amax_floor);
}

void quantize_group(const Target& to, const QuantizeInputs& inputs, std::int64_t group, const Values& values) {
  const DType type = to.problem.out->type;
  for (std::int64_t i = 0; i < to.scale_map.row_blocks(group); ++i) {
    for (std::int64_t j = 0; j < to.scale_map.column_blocks(); ++j) {
      const Block block = block_at(to.scale_map.unit(), i, j, values);
      const BlockScale scale = scale_of(to.problem, inputs, group, values, block);
      to.scales().set(to.scale_map.index(group, i, j), scale);
      for (std::int64_t row = block.first_row; row < block.end_row; ++row) {
        for (std::int64_t column = block.first_column; column < block.end_column; ++column)
          to.data[to.data_map.index(group, row, column)] = to_fp8(values.at(row, column) * scale.q, type);
      }
    }
  }
  for (std::int64_t row = values.rows; row < to.data_map.rows(group); ++row) {
    for (std::int64_t column = 0; column < values.columns; ++column) to.data[to.data_map.index(group, row, column)] = 0;
  }
}

void check_problem(const Problem& problem) {
  const bool activation = problem.op == Operation::activation;
  if (!activation && problem.op != Operation::quantize)
    throw bad_argument(fmt::format("reference: {} is not a quantizer or an activation", to_string(problem.op)));
  if (!problem.in) throw bad_argument("reference: in= is missing: the type of the elements to read");
  largest_finite("in", *problem.in);
  if (activation && problem.d) largest_finite("d", *problem.d);
  if (!activation && !problem.out) throw bad_argument("reference: out= is missing: the recipe to quantize to");
  if (!activation && problem.has(Flag::given) && problem.out->granularity != Granularity::tensor)
    throw bad_argument(
        fmt::format("reference: out={} +given: scales are given to tensor recipes only", to_string(*problem.out)));
  const bool of_features = problem.has(Flag::grad) || problem.act == Activation::none;
  if (problem.has(Flag::dbias) && !of_features) throw bad_argument("reference: +dbias sums a gradient; add +grad");
}

void check_pointers(const Problem& problem, const QuantizeInputs& in, const Placement& placement,
                    const Features& features, const QuantizeOutputs& out) {
  const bool bias_used = problem.has(Flag::bias) && (!problem.has(Flag::grad) || problem.act != Activation::none);
  if (placement.rows_that_exist > 0) {
    check_pointer("in", in.in);
    if (problem.has(Flag::grad) && problem.act != Activation::none) check_pointer("pre", in.pre);
    if (bias_used) check_pointer("bias", in.bias);
    if (problem.has(Flag::probs)) check_pointer("probs", in.probs);
    if (features.has_dprob()) check_pointer("dprobs", out.dprobs);
    if (problem.op == Operation::activation) check_pointer("d", out.d);
  }
  if (problem.has(Flag::given)) check_pointer("given", in.given);
  if (problem.has(Flag::amax)) check_pointer("amax", out.amax);
  if (problem.has(Flag::dbias)) check_pointer("dbias", out.dbias);
}

std::vector<Target> targets_of(const Problem& problem, const Placement& placement, const QuantizeShape& shape,
                               const QuantizeOutputs& out) {
  std::vector<Target> targets;
  if (problem.op == Operation::activation) return targets;
  if (problem.dir != Direction::col) targets.emplace_back(problem, placement, shape, out, false);
  if (problem.dir != Direction::row) targets.emplace_back(problem, placement, shape, out, true);
  return targets;
}

// The group's values; the sums that need them before they are rounded are written on the way.
Values compute(const Problem& problem, const Features& features, std::int64_t group, const GroupPlace& place,
               const QuantizeOutputs& out) {
  const std::int64_t columns = features.columns();
  Values values{place.rows, columns, std::vector<float>(static_cast<std::size_t>(place.rows * columns))};
  std::vector<double> sums(static_cast<std::size_t>(columns));
  for (std::int64_t row = 0; row < place.rows; ++row) {
    float* x = values.x.data() + row * columns;
    const float dprob = features.row(group, place.begin + row, x);
    if (features.has_dprob()) out.dprobs[place.begin + row] = dprob;
    for (std::int64_t column = 0; column < columns; ++column) {
      sums[static_cast<std::size_t>(column)] += x[column];
      x[column] = round_to(*problem.in, x[column]);
    }
  }
  if (problem.has(Flag::dbias)) std::copy(sums.begin(), sums.end(), out.dbias + group * columns);
  return values;
}

void store(const Problem& problem, const GroupPlace& place, const Values& values, void* d) {
  for (std::size_t i = 0; i < values.x.size(); ++i)
    store_element(d, problem.d.value_or(*problem.in), place.begin * values.columns + static_cast<std::int64_t>(i),
                  values.x[i]);
}

}  // namespace

void quantize(const Problem& problem, const QuantizeInputs& inputs, const GroupExtents& groups, std::int64_t capacity,
              const QuantizeOutputs& outputs) {
  check_problem(problem);
  const QuantizeShape shape = quantize_shape(problem, capacity);
  const Placement placement = place(problem, groups, shape.out_columns, capacity);
  const Features features(problem, inputs, shape);
  check_pointers(problem, inputs, placement, features, outputs);
  const std::vector<Target> targets = targets_of(problem, placement, shape, outputs);
  if (problem.has(Flag::noop) && inputs.noop) return;

  for (std::int64_t g = 0; g < problem.g; ++g) {
    const GroupPlace& at = placement.groups[static_cast<std::size_t>(g)];
    const Values values = compute(problem, features, g, at, outputs);
    if (problem.has(Flag::amax)) outputs.amax[g] = block_amax(values, {0, values.rows, 0, values.columns});
    if (problem.op == Operation::activation) store(problem, at, values, outputs.d);
    for (const Target& target : targets) quantize_group(target, inputs, g, values);
  }
  for (const Target& target : targets) target.write_padding();
}

}  // namespace octet::reference
