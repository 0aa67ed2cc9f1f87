// The parts of the portable GEMM.
#include <fmt/format.h>

#include <algorithm>

#include "octet/layout.h"

#include "runtime/param_tables.h"
#include "runtime/portable_traits.h"
#include "runtime/render_parts.h"
#include "runtime/shared_memory.h"

namespace octet {
namespace {

using Facts = std::set<std::string>;

// Names of the ways that weights lie where they differ by direction, and of tokens.
std::string scales_of_b(const Problem& problem) {
  const ScaleLayout layout = problem.b->scale_layout;
  const bool transposed = problem.op == Operation::gemm && problem.dir == Direction::col;
  if (transposed && layout == ScaleLayout::mx_compact) return "col_mx_compact";
  return to_string(transposed || problem.op == Operation::wgrad ? columnwise_scale_layout(layout) : layout);
}
std::string scales_of_a(const Problem& problem) {
  const ScaleLayout layout = problem.a->scale_layout;
  return to_string(problem.op == Operation::wgrad ? columnwise_scale_layout(layout) : layout);
}

void add_operand_facts(const Problem& problem, Facts& facts) {
  facts.insert(fmt::format("a_{}", to_string(problem.a->type)));
  facts.insert(fmt::format("b_{}", to_string(problem.b->type)));
  facts.insert(fmt::format("d_{}", to_string(*problem.d)));
  facts.insert("sfa_" + scales_of_a(problem));
  facts.insert("sfb_" + scales_of_b(problem));
}

void add_group_facts(const Problem& problem, const PortableTraits& traits, Facts& facts) {
  add_splits_facts(problem, facts);
  if (traits.group_table) facts.insert({"visit_groups", "group_table"});
  if (traits.group_table && traits.wgrad) facts.insert("find_entry");
  if (traits.sub_blocks) facts.insert("sub_blocks");
  if (traits.first_blocks) facts.insert("first_blocks");
}

void add_epilogue_facts(const Problem& problem, Facts& facts) {
  const bool bias = problem.has(Flag::bias), acc = problem.has(Flag::acc);
  if (bias) facts.insert("bias");
  if (acc) facts.insert("acc");
  if (!bias && !acc) return;
  facts.insert("reads_d");
  if (problem.d == DType::fp16) facts.insert("reads_fp16");
}

}  // namespace

Parts portable_parts(const Spec& spec, const PortableConfig& config) {
  const Problem& problem = spec.problem;
  const PortableTraits traits(problem);
  Parts parts{"gemm_portable.cu", {"rendered", "portable"}, {}};
  if (traits.wgrad) parts.facts.insert("wgrad");
  if (traits.mx) parts.facts.insert("e8m0");
  parts.facts.insert(traits.whole_scales ? "whole_scales" : "block_scales");
  if (!problem.has(Flag::fastacc)) parts.facts.insert("promote");
  if (problem.has(Flag::checked)) parts.facts.insert("checked");
  if (problem.weights_by_pointer) parts.facts.insert("pointers");
  if (has_dependent_launch(spec.arch)) parts.facts.insert("programmatic");
  add_operand_facts(problem, parts.facts);
  add_group_facts(problem, traits, parts.facts);
  add_epilogue_facts(problem, parts.facts);

  ConfigText& text = parts.config;
  text.add("kGroups", problem.g, "experts");
  text.add("kN", problem.n, traits.wgrad ? "rows of each group's D" : "output features: columns of D");
  text.add("kK", problem.k, traits.wgrad ? "columns of D" : "inner size; the last scale block may be partial");
  if (problem.layout == Layout::masked) text.add("kMaxM", problem.m, "rows that each group has room for");
  if (problem.layout == Layout::padded) text.add("kAlignment", problem.al, "rows; every group starts at a multiple");
  text.add("kBlockM", config.block_m, "rows of D per block");
  text.add("kBlockN", config.block_n, "columns of D per block");
  text.add("kWarpsM", config.warps_m, "warps along the rows");
  text.add("kWarpsN", config.warps_n, "warps along the columns");
  text.add("kStages", config.stages, "depth of the ring of loads, in blocks of 128 along the inner axis");
  if (!traits.wgrad) {
    text.add("kClusterM", 1, "no cluster");
    text.add("kClusterN", 1, "no cluster");
    text.add("kPanelTiles", std::max(1, 2048 / config.block_m),
             "row tiles that share a weight slab: 2048 rows stay in L2");
  }
  if (!traits.whole_scales) {
    text.add("kScalesPerStage", traits.scales_per_stage, "of a row along 128 of the inner axis");
  }
  if (problem.weights_by_pointer) {
    text.add("kGroupPointers", portable_tables(problem).pointers * problem.g, "behind the parameters");
    text.add("kParamBytes", portable_param_bytes(problem), "of parameters, with what lies behind them");
  }
  text.add("kBlocksPerSm", portable_blocks_per_sm(config), "blocks that a multiprocessor should hold");
  text.add("kStorageBytes", portable_shared_memory_bytes(problem, config),
           "dynamic shared memory that the launch asks for");
  return parts;
}

}  // namespace octet
