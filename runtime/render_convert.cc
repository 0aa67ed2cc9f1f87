// The parts of dequantizers and converters.
#include <fmt/format.h>

#include "octet/layout.h"
#include "runtime/render_parts.h"

namespace octet {
namespace {

using Facts = std::set<std::string>;

// How data of this packing is read or written.
const char* data_order(const Problem& problem, Packing packing) {
  if (problem.dir == Direction::row || packing == Packing::te) return "rows";
  return packing == Packing::deepgemm ? "deepgemm" : "columns";
}

ScaleLayout scale_layout(const Problem& problem, const Recipe& recipe) {
  return problem.dir == Direction::col ? columnwise_scale_layout(recipe.scale_layout) : recipe.scale_layout;
}

// Scales of a tile of 128 x 128.
struct Slots {
  int rows, columns;
};
Slots slots_of(Granularity granularity, bool columnwise) {
  switch (granularity) {
    case Granularity::block_1x128:
      return columnwise ? Slots{1, 128} : Slots{128, 1};
    case Granularity::mx_1x32:
      return columnwise ? Slots{4, 128} : Slots{128, 4};
    case Granularity::mx_32x32:
      return {4, 4};
    default:
      return {1, 1};
  }
}

void add_operand_facts(const Problem& problem, const char* side, const Recipe& recipe, Packing packing, Facts& facts) {
  facts.insert(fmt::format("{}_{}", side, data_order(problem, packing)));
  facts.insert(fmt::format("{}_{}", side, to_string(scale_layout(problem, recipe))));
  if (packing == Packing::deepgemm) facts.insert("deepgemm");
}

bool is(const std::optional<Recipe>& recipe, ScaleLayout layout) { return recipe && recipe->scale_layout == layout; }

void add_walk_facts(const Problem& problem, Facts& facts) {
  add_splits_facts(problem, facts);
  const bool columnwise = problem.dir == Direction::col;
  facts.insert(columnwise ? "col" : "row");
  facts.insert("tile_walk");
  if (problem.layout != Layout::uniform) facts.insert({"visit_groups", "group_table"});
  const bool pads = columnwise || is(problem.out, ScaleLayout::swizzled);
  if (problem.layout == Layout::masked && problem.op == Operation::convert && pads) facts.insert("whole_extent");
  const bool compact = is(problem.a, ScaleLayout::mx_compact) || is(problem.out, ScaleLayout::mx_compact);
  if (!columnwise || !compact) return;
  facts.insert("mx_columns");
  if (problem.layout != Layout::masked && problem.layout != Layout::uniform) facts.insert("sub_blocks");
}

}  // namespace

Parts convert_parts(const Spec& spec, const QuantizeConfig& config) {
  const Problem& problem = spec.problem;
  const bool dequantizes = problem.op == Operation::dequantize;
  Parts parts{dequantizes ? "dequantize.cu" : "convert.cu", {"rendered", "convert"}, {}};
  add_operand_facts(problem, "from", *problem.a, problem.from, parts.facts);
  add_walk_facts(problem, parts.facts);
  const Granularity granularity = problem.a->granularity;
  if (granularity == Granularity::mx_1x32 || granularity == Granularity::mx_32x32) parts.facts.insert("e8m0");
  if (dequantizes) {
    parts.facts.insert("dequantize");
    parts.facts.insert(fmt::format("a_{}", to_string(problem.a->type)));
    parts.facts.insert(fmt::format("d_{}", to_string(*problem.d)));
  } else {
    parts.facts.insert("converter");
    add_operand_facts(problem, "to", *problem.out, problem.to, parts.facts);
  }

  ConfigText& text = parts.config;
  const bool uniform = problem.layout == Layout::uniform;
  text.add("kGroups", problem.g, "experts");
  if (uniform) text.add("kN", problem.n, "rows of each group's weights");
  text.add("kColumns", uniform ? problem.k : problem.c, "columns");
  if (problem.layout == Layout::masked) text.add("kMaxM", problem.m, "rows that each group has room for");
  if (problem.layout == Layout::padded) text.add("kAlignment", problem.al, "rows; every group starts at a multiple");
  if (!dequantizes) {
    const Slots slots = slots_of(granularity, problem.dir == Direction::col);
    text.add("kSlotRows", slots.rows, "scales along the rows of a tile of 128 x 128");
    text.add("kSlotColumns", slots.columns, "and along its columns");
  }
  text.add("kThreads", config.threads, "per block");
  text.add("kBlocksPerSm", config.blocks_per_sm, "blocks that a multiprocessor should hold");
  return parts;
}

}  // namespace octet
