// The parts of the MXFP8 GEMM.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/mx_traits.h"
#include "runtime/render_parts.h"
#include "runtime/shared_memory.h"

namespace octet {
namespace {

using Facts = std::set<std::string>;

void add_operand_facts(const Problem& problem, Facts& facts) {
  const bool columns = problem.op == Operation::gemm && problem.dir == Direction::col;
  const bool compact = problem.b->scale_layout == ScaleLayout::mx_compact;
  facts.insert(fmt::format("a_{}", to_string(problem.a->type)));
  facts.insert(fmt::format("b_{}", to_string(problem.b->type)));
  facts.insert(fmt::format("d_{}", to_string(*problem.d)));
  facts.insert(fmt::format("sfa_{}", to_string(problem.a->scale_layout)));
  facts.insert(fmt::format("sfb_{}{}", columns && compact ? "col_" : "", to_string(problem.b->scale_layout)));
}

}  // namespace

Parts mx_parts(const Spec& spec, const MxConfig& config) {
  const Problem problem = mx_view(spec.problem);
  const bool wgrad = problem.op == Operation::wgrad;
  // The scheduler's word for tiles whose tokens are the columns of the matrix instruction is "swapped".
  Parts parts{"gemm_mx.cu", {"rendered", "mx", "swapped", "visit_groups", "programmatic"}, {}};
  if (config.direct > 0) parts.facts.insert("direct");
  if (config.direct == 0 || !wgrad) parts.facts.insert("group_table");  // a wgrad's is the pass's
  if (wgrad) parts.facts.insert("wgrad");
  if (mx_turns(spec.problem)) parts.facts.insert("d_turned");
  if (mx_sub_blocks(problem)) parts.facts.insert("sub_blocks");
  if (config.cluster_n > 1) parts.facts.insert({"cluster", "multicast"});
  for (const auto& [flag, fact] : {std::pair{Flag::bias, "bias"}, {Flag::acc, "acc"}, {Flag::checked, "checked"}}) {
    if (problem.has(flag)) parts.facts.insert(fact);
  }
  parts.facts.insert(fmt::format("step_{}", config.block_n));
  add_operand_facts(problem, parts.facts);
  add_splits_facts(problem, parts.facts);

  ConfigText& text = parts.config;
  text.add("kGroups", problem.g, "experts");
  text.add("kN", problem.n, wgrad ? "rows of A as it lies" : "output features: columns of D");
  text.add("kK", problem.k, wgrad ? "rows of B as it lies" : "inner size; the last scale block may be partial");
  if (problem.layout == Layout::padded) text.add("kAlignment", problem.al, "rows; every group starts at a multiple");
  if (problem.layout == Layout::masked) text.add("kMaxM", problem.m, "rows that the buffers have for each group");
  text.add("kBlockM", config.block_m, "columns of D per block");
  text.add("kBlockN", config.block_n, "rows of D per block, columns of one matrix instruction");
  text.add("kStages", config.stages, "depth of the TMA ring, in blocks of 64 along K");
  if (config.direct > 0) text.add("kRightStages", config.direct, "depth of the ring of A as bf16");
  text.add("kClusterM", 1, "no cluster along the rows of D");
  text.add("kClusterN", config.cluster_n,
           config.cluster_n > 1 ? "blocks of a cluster: neighbours that share A by multicast" : "no cluster");
  text.add("kPanelTiles", std::max(1, 2048 / config.block_n), "row tiles that share a slab of B: 2048 rows stay in L2");
  text.add("kMathRegisters", 240, "per thread, after setmaxnreg; 168 at launch");
  text.add("kProducerRegisters", 24, "per thread, after setmaxnreg");
  text.add("kSharedBytes", mx_shared_memory_bytes(problem, config), "dynamic shared memory that the launch asks for");
  return parts;
}

}  // namespace octet
