// The parts of quantizers and activations.
#include <fmt/format.h>

#include "runtime/quantize_traits.h"
#include "runtime/render_parts.h"

namespace octet {
namespace {

using Facts = std::set<std::string>;

void add_if(bool holds, const char* fact, Facts& facts) {
  if (holds) facts.insert(fact);
}

bool uses_sigmoid(Activation act) {
  switch (act) {
    case Activation::none:
    case Activation::relu:
    case Activation::srelu:
    case Activation::reglu:
    case Activation::sreglu:
      return false;
    default:
      return true;
  }
}

void add_source_facts(const Problem& problem, const QuantizeTraits& traits, Facts& facts) {
  facts.insert(fmt::format("in_{}", to_string(*problem.in)));
  facts.insert(traits.backward ? "grad" : "forward");
  add_if(traits.has_activation && !traits.backward, "computed", facts);
  if (traits.has_activation) {
    facts.insert("act");
    facts.insert(fmt::format("act_{}", to_string(problem.act)));
  }
  add_if(uses_sigmoid(problem.act), "uses_sigmoid", facts);
  if (traits.gated) {
    facts.insert("gated");
    const bool bends_up = problem.act == Activation::clamped_swiglu || problem.act == Activation::situ_glu;
    add_if(!bends_up, "plain_up", facts);
    add_if(problem.gate_second, "gate_second", facts);
    add_if(problem.il > 0, "interleaved", facts);
    add_if(problem.il == 1, "pairwise", facts);
    add_if(traits.both_halves, "both_halves", facts);
  }
  add_if(problem.has(Flag::bias), "bias", facts);
  add_if(problem.has(Flag::probs), "probs", facts);
  add_if(traits.dbias, "dbias", facts);
  add_if(traits.dbias && !traits.col, "sums_apart", facts);
  add_if(traits.dprobs, "dprobs", facts);
}

void add_scale_facts(const Problem& problem, const QuantizeTraits& traits, Facts& facts) {
  const bool mx = traits.granularity == Granularity::mx_1x32 || traits.granularity == Granularity::mx_32x32;
  const bool per_block = traits.granularity == Granularity::block_1x128 || traits.granularity == Granularity::mx_1x32;
  const bool tensor = traits.granularity == Granularity::tensor;
  const bool by_row = traits.granularity == Granularity::row;
  facts.insert("quantized");
  facts.insert(fmt::format("out_{}", to_string(problem.out->type)));
  facts.insert(fmt::format("scale_{}", to_string(traits.granularity)));
  facts.insert(mx ? "e8m0" : "f32_scales");
  add_if(problem.out->power_of_two, "pow2", facts);
  add_if(traits.row, "row", facts);
  add_if(traits.col, "col", facts);
  add_if(!per_block && !by_row, "one_scale", facts);
  add_if(traits.row && traits.scales == ScaleLayout::mn_major, "sf_mn_major", facts);
  add_if(traits.row && traits.scales == ScaleLayout::k_major, "sf_k_major", facts);
  add_if(traits.row && by_row, "sf_per_row", facts);
  add_if(traits.scales == ScaleLayout::block2d_t, "sf_block2d_t", facts);
  add_if(traits.scales == ScaleLayout::mx_compact, "sf_compact", facts);
  add_if(traits.scales == ScaleLayout::swizzled, "sf_swizzled", facts);
  const bool column_blocks = traits.col && per_block && !traits.square_warps;
  add_if(traits.row && column_blocks, "shared_row_scales", facts);
  add_if(traits.row && per_block && !column_blocks, "own_row_scales", facts);
  add_if(column_blocks, "column_scales", facts);
  add_if(column_blocks || (traits.col && by_row), "column_maxima", facts);
  add_if(traits.square_warps, "square_warps", facts);
  add_if(traits.square_warps && traits.row, "shared_row_words", facts);
  // Where rows share the barrier of columns, it has been met; a block that does one tile has no earlier one to wait
  // for.
  const bool one_tile = traits.one_shot && !traits.both_halves && !traits.dbias;
  add_if(traits.col && (column_blocks ? !traits.row : !one_tile), "columns_wait", facts);
  const bool compact_columns = traits.col && traits.scales == ScaleLayout::mx_compact;
  add_if(compact_columns, "mx_columns", facts);
  add_if(compact_columns && (problem.layout != Layout::masked && problem.layout != Layout::uniform), "sub_blocks",
         facts);
  add_if(traits.granularity == Granularity::block_128x128 || traits.amax_of_tiles || (tensor && traits.amax_pass),
         "block_maxima", facts);
  add_if(problem.has(Flag::given), "given", facts);
  add_if(problem.has(Flag::amax), "amax", facts);
  add_if(traits.amax_of_tiles, "amax_of_tiles", facts);
  add_if(traits.amax_of_tiles || (tensor && traits.amax_pass), "tile_amax", facts);
}

void add_walk_facts(const Problem& problem, const QuantizeTraits& traits, Facts& facts) {
  add_splits_facts(problem, facts);
  add_if(traits.whole_extent, "whole_extent", facts);
  add_if(traits.needs_table, "group_table", facts);
  add_if(traits.needs_table || (traits.one_shot && problem.layout != Layout::uniform), "visit_groups", facts);
  add_if(traits.one_shot, "one_shot", facts);
  const bool reads_tile = !traits.backward && !traits.gated;
  add_if(traits.one_shot && problem.layout == Layout::packed && reads_tile, "guessed", facts);
  add_if((traits.by_tiles && !traits.one_shot) || traits.amax_pass || traits.finish_pass, "tile_walk", facts);
  add_if(traits.strips_by_group, "strips_by_group", facts);
  add_if(traits.row_groups, "row_groups", facts);
  add_if(!traits.by_tiles && !traits.current && problem.layout == Layout::packed && !traits.row_groups, "row_range",
         facts);
  add_if(traits.current, "current", facts);
  add_if(traits.needs_table && (traits.current || traits.amax_pass || traits.finish_pass), "find_entry", facts);
  add_if(traits.amax_pass, "amax_pass", facts);
  add_if(traits.finish_pass, "finish_pass", facts);
  add_if(problem.has(Flag::noop), "noop", facts);
}

}  // namespace

Parts quantize_parts(const Spec& spec, const QuantizeConfig& config) {
  const Problem& problem = spec.problem;
  const QuantizeTraits traits(problem);
  const char* root = traits.current    ? "quantize_current.cu"
                     : traits.by_tiles ? "quantize_tiles.cu"
                                       : "quantize_rows.cu";
  Parts parts{root, {"rendered", "quantize"}, {}};
  add_source_facts(problem, traits, parts.facts);
  if (traits.quantized) add_scale_facts(problem, traits, parts.facts);
  add_if(!traits.quantized, "plain", parts.facts);
  add_walk_facts(problem, traits, parts.facts);

  ConfigText& text = parts.config;
  text.add("kGroups", problem.g, "experts");
  const bool uniform = problem.layout == Layout::uniform;
  if (uniform) text.add("kN", problem.n, "rows of each group's weights");
  text.add("kColumns", uniform ? problem.k : problem.c, traits.has_activation ? "of the activation" : "columns");
  if (problem.layout == Layout::masked) text.add("kMaxM", problem.m, "rows that each group has room for");
  if (problem.layout == Layout::padded) text.add("kAlignment", problem.al, "rows; every group starts at a multiple");
  if (problem.il > 0) text.add("kInterleave", problem.il, "columns of gate and up that take turns");
  if (!traits.by_tiles && !traits.current)
    text.add("kRowsPerThread", config.rows_per_thread, "rows that a thread holds in registers");
  text.add("kThreads", config.threads, "per block");
  text.add("kBlocksPerSm", config.blocks_per_sm, "blocks that a multiprocessor should hold");
  return parts;
}

}  // namespace octet
