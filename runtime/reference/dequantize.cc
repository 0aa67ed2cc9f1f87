// value * SF, one element after another.
#include <fmt/format.h>

#include "octet/layout.h"
#include "octet/reference.h"
#include "runtime/reference/casts.h"
#include "runtime/reference/checks.h"
#include "runtime/reference/data_map.h"
#include "runtime/reference/elements.h"
#include "runtime/reference/scale_map.h"
#include "runtime/reference/scales.h"

namespace octet::reference {
namespace {

void check_problem(const Problem& problem) {
  if (problem.op != Operation::dequantize)
    throw bad_argument(fmt::format("reference: {} is not dequantize", to_string(problem.op)));
  if (!problem.a) throw bad_argument("reference: a= is missing: the recipe of the data");
  if (!problem.d) throw bad_argument("reference: d= is missing: the type of the output");
  largest_finite("d", *problem.d);
  if (problem.dir == Direction::row_col)
    throw bad_argument("reference: dir=row,col: dequantize reads one direction; choose row or col");
}

}  // namespace

void dequantize(const Problem& problem, const std::uint8_t* data, const void* sf, const GroupExtents& groups,
                std::int64_t capacity, void* d) {
  check_problem(problem);
  const QuantizeShape shape = quantize_shape(problem, capacity);
  const Placement placement = place(problem, groups, shape.out_columns, capacity);
  const bool columnwise = problem.dir == Direction::col;
  const DataMap data_map(placement, columnwise, shape.ld_col);
  const ScaleMap scale_map(placement, *problem.a, columnwise);
  const Fp8Values& values = fp8_values(problem.a->type);
  if (placement.rows_that_exist == 0) return;
  check_pointer("data", data);
  check_pointer("sf", sf);
  check_pointer("d", d);

  const BlockUnit unit = scale_map.unit();
  for (std::int64_t g = 0; g < problem.g; ++g) {
    const GroupPlace& at = placement.groups[static_cast<std::size_t>(g)];
    for (std::int64_t row = 0; row < at.rows; ++row) {
      for (std::int64_t column = 0; column < placement.columns; ++column) {
        const std::int64_t block = scale_map.index(g, block_of(row, unit.rows), block_of(column, unit.columns));
        const float scale = load_scale(problem.a->granularity, sf, block);
        const float value = values[data[data_map.index(g, row, column)]] * scale;
        store_element(d, *problem.d, (at.begin + row) * placement.columns + column, value);
      }
    }
  }
}

}  // namespace octet::reference
