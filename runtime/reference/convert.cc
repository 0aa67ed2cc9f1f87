// The same data and scales in another arrangement. Data and scales are two passes that know nothing of each other.
#include <cstring>

#include <fmt/format.h>

#include "octet/layout.h"
#include "octet/reference.h"
#include "runtime/reference/checks.h"
#include "runtime/reference/data_map.h"
#include "runtime/reference/scale_map.h"
#include "runtime/reference/scales.h"

namespace octet::reference {
namespace {

void check_packing(const char* name, Packing packing, const Recipe& recipe, bool columnwise) {
  if (packing == Packing::octet) return;
  if (!columnwise)
    throw bad_argument(fmt::format("reference: {}: another packing is of columnwise data; add dir=col", name));
  const Granularity granularity = packing == Packing::deepgemm ? Granularity::block_1x128 : Granularity::mx_1x32;
  if (recipe.granularity != granularity)
    throw bad_argument(fmt::format("reference: {}: this packing is of {} scales, not of {}", name,
                                   to_string(granularity), to_string(recipe)));
}

void check_problem(const Problem& problem) {
  if (problem.op != Operation::convert)
    throw bad_argument(fmt::format("reference: {} is not convert", to_string(problem.op)));
  if (!problem.a || !problem.out) throw bad_argument("reference: a= or out= is missing: the recipes of both sides");
  if (problem.a->type != problem.out->type || problem.a->granularity != problem.out->granularity)
    throw bad_argument(fmt::format("reference: a={} to out={}: convert changes the arrangement alone",
                                   to_string(*problem.a), to_string(*problem.out)));
  if (problem.dir == Direction::row_col)
    throw bad_argument("reference: dir=row,col: convert takes one direction; choose row or col");
  check_packing("from", problem.from, *problem.a, problem.dir == Direction::col);
  check_packing("to", problem.to, *problem.out, problem.dir == Direction::col);
}

// Rows past a masked group's count become zeros, as the quantizer writes them.
void convert_data(const Placement& placement, const DataMap& from, const DataMap& to, const std::uint8_t* data,
                  std::uint8_t* out) {
  for (std::size_t i = 0; i < placement.groups.size(); ++i) {
    const auto g = static_cast<std::int64_t>(i);
    for (std::int64_t row = 0; row < to.rows(g); ++row) {
      const bool exists = row < placement.groups[i].rows;
      for (std::int64_t column = 0; column < placement.columns; ++column)
        out[to.index(g, row, column)] = exists ? data[from.index(g, row, column)] : std::uint8_t{0};
    }
  }
  to.for_each_padding([&](std::int64_t element) { out[element] = 0; });
}

// Whether a block holds a row that exists. One scale for all rows belongs to the group, also to an empty one.
bool holds_rows(const GroupPlace& group, const BlockUnit& unit, std::int64_t row_block) {
  return unit.rows == BlockUnit::kAll || row_block * unit.rows < group.rows;
}

void convert_scales(const Placement& placement, const ScaleMap& from, const ScaleMap& to, Granularity granularity,
                    const void* sf, void* out_sf) {
  const ScaleArray out(granularity, out_sf);
  const std::size_t size = is_e8m0(granularity) ? 1 : sizeof(float);
  for (std::size_t i = 0; i < placement.groups.size(); ++i) {
    const auto g = static_cast<std::int64_t>(i);
    for (std::int64_t row = 0; row < to.row_blocks(g); ++row) {
      for (std::int64_t column = 0; column < to.column_blocks(); ++column) {
        const std::size_t place = static_cast<std::size_t>(to.index(g, row, column)) * size;
        if (holds_rows(placement.groups[i], to.unit(), row)) {
          const std::size_t source = static_cast<std::size_t>(from.index(g, row, column)) * size;
          std::memcpy(static_cast<char*>(out_sf) + place, static_cast<const char*>(sf) + source, size);
        } else {
          out.pad(to.index(g, row, column));
        }
      }
    }
  }
  to.for_each_padding([&](std::int64_t slot) { out.pad(slot); });
}

// Whether a pass is asked for: both of its pointers are given, or none.
bool is_wanted(const char* name, const void* from, const char* out_name, const void* to, bool writes) {
  if (!writes || (from == nullptr && to == nullptr)) return false;
  check_pointer(name, from);
  check_pointer(out_name, to);
  return true;
}

}  // namespace

void convert(const Problem& problem, const std::uint8_t* data, const void* sf, const GroupExtents& groups,
             std::int64_t capacity, std::uint8_t* out_data, void* out_sf) {
  check_problem(problem);
  const QuantizeShape shape = quantize_shape(problem, capacity);
  const Placement placement = place(problem, groups, shape.out_columns, capacity);
  const bool columnwise = problem.dir == Direction::col;
  const DataMap from(placement, columnwise, shape.ld_col, problem.from);
  const DataMap to(placement, columnwise, shape.ld_col, problem.to);
  const ScaleMap from_scales(placement, *problem.a, columnwise, problem.from);
  const ScaleMap to_scales(placement, *problem.out, columnwise, problem.to);
  const bool with_data = is_wanted("data", data, "out_data", out_data, to.writes());
  const bool with_scales = is_wanted("sf", sf, "out_sf", out_sf, to_scales.writes());
  if (with_data) convert_data(placement, from, to, data, out_data);
  if (with_scales) convert_scales(placement, from_scales, to_scales, problem.out->granularity, sf, out_sf);
}

}  // namespace octet::reference
