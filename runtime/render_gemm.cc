// Facts and constants of the wgmma GEMM.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/gemm_traits.h"
#include "runtime/param_tables.h"
#include "runtime/render_parts.h"
#include "runtime/shared_memory.h"

namespace octet {
namespace {

// Registers per thread of math and producer warpgroups. setmaxnreg moves what the launch allocated, 65536 registers
// shared by all warpgroups of the multiprocessor; more than that hangs.
struct RegisterBudget {
  int math, producer;
};
RegisterBudget register_budget(const GemmTraits& traits, int math_warpgroups) {
  switch (math_warpgroups) {
    case 1:
      return {208, 40};  // two blocks per multiprocessor, 128 per thread at launch
    case 2:
      // 168 at launch. With scales of columns too, the math needs the last of them.
      return traits.left_vector && traits.right_vector ? RegisterBudget{240, 24} : RegisterBudget{232, 40};
    default:
      return {152, 56};  // three math warpgroups, 128 at launch
  }
}

void add_recipe_facts(const Problem& problem, const GemmTraits& traits, std::set<std::string>& facts) {
  const auto add = [&](bool holds, const char* fact) {
    if (holds) facts.insert(fact);
  };
  const DType left = traits.swapped ? problem.b->type : problem.a->type;
  const DType right = traits.swapped ? problem.a->type : problem.b->type;
  facts.insert(fmt::format("left_{}_right_{}", to_string(left), to_string(right)));
  facts.insert(fmt::format("d_{}", to_string(*problem.d)));
  add(traits.left_vector, "left_vector");
  add(traits.right_vector, "right_vector");
  add(traits.token_vector, "token_vector");
  add(traits.token_vector && !traits.swapped, "left_token_vector");
  add(traits.token_vector && traits.swapped, "right_token_vector");
  add(traits.weight_vector, "weight_vector");
  add(traits.weight_vector && problem.dir == Direction::col, "weight_columns");
  add(traits.tile_scales, "tile_scales");
  add(traits.tile_scales && problem.b->scale_layout == ScaleLayout::block2d_t, "sfb_turned");
  add(traits.streamed_scales, "streamed_scales");
  add(traits.tile_scales || traits.streamed_scales, "block_scales");
  add(traits.left_vector || traits.tile_scales || traits.streamed_scales, "row_factors");
  add(traits.group_scales, "group_scales");
  add(traits.row_scales, "row_scales");
  add(traits.row_scales || traits.group_scales, "scaled_output");
}

void add_gemm_facts(const Problem& problem, const GemmConfig& config, const GemmTraits& traits,
                    std::set<std::string>& facts) {
  const auto add = [&](bool holds, const char* fact) {
    if (holds) facts.insert(fact);
  };
  add_splits_facts(problem, facts);
  add_recipe_facts(problem, traits, facts);
  facts.insert(fmt::format("step_{}", traits.step));
  add(traits.wgrad, "wgrad");
  add(!traits.wgrad, "group_table");
  add(traits.swapped, "swapped");
  add(traits.swapped, "even_registers");
  add(traits.swapped, "read_once");
  add(traits.narrow_chunks, "narrow_chunks");
  add(traits.right_vector && !traits.swapped, "early_wait");
  add(cluster_blocks(config) > 1, "cluster");
  add(config.cluster_m * config.cluster_n > 1, "multicast");
  add(config.split_k > 1, "split_k");
  add(config.cluster_m > 1, "cluster_m");
  add(config.whole_tile_store, "whole_tile");
  // Rows for one of two warpgroups: they can share the columns, where a warpgroup has two matrix instructions of them.
  add(!traits.wgrad && !traits.swapped && config.warpgroups_m == 2 && config.warpgroups_n == 1 && traits.slabs == 1 &&
          traits.steps == 2,
      "split_narrow");
  add(problem.has(Flag::bias), "bias");
  add(problem.has(Flag::acc), "acc");
  add(problem.has(Flag::acc) && traits.wgrad && problem.d == DType::f32, "reduce");
  add(problem.has(Flag::fastacc), "fastacc");
  add(problem.has(Flag::checked), "checked");
  facts.insert("programmatic");
  const bool pointers = problem.weights_by_pointer, weights = pointers && !traits.wgrad;
  const bool deepgemm = problem.from == Packing::deepgemm;
  add(pointers || deepgemm, "maps");
  add(weights, "pointers");
  add(deepgemm, "deepgemm");
  add((weights && traits.swapped) || deepgemm, "left_maps");
  add((weights && !traits.swapped) || deepgemm, "right_maps");
  add(weights && traits.weight_vector, traits.swapped ? "left_sf_maps" : "right_sf_maps");
  add(weights && !traits.weight_vector, "sfb_pointers");
  add(pointers && traits.wgrad, "d_pointers");
  add(wgmma_tables(problem).pointers > 0, "group_pointers");
  add(tables_fit(problem), "param_tables");
  add(tables_fit(problem) && wgmma_tables(problem).pointers > 0, "param_pointers");
}

// More than one step of the K loop at a time is 1 to 3 % faster; more than four registers' worth costs compile time,
// and with scales of columns it spills.
int unroll(const GemmTraits& traits) {
  return traits.wgrad || (traits.right_vector && !traits.swapped) ? 1 : std::max(1, 4 / (traits.slabs * traits.steps));
}

}  // namespace

Parts gemm_parts(const Spec& spec, const GemmConfig& config) {
  const Problem& problem = spec.problem;
  const GemmTraits traits(problem, config);
  const RegisterBudget registers = register_budget(traits, config.warpgroups_m * config.warpgroups_n);
  Parts parts{"gemm.cu", {"rendered", "gemm", "visit_groups"}, {}};
  add_gemm_facts(problem, config, traits, parts.facts);

  ConfigText& text = parts.config;
  text.add("kGroups", problem.g, "experts; splits on the device say how many rows each has");
  text.add("kN", problem.n, traits.wgrad ? "rows of D: output features" : "output features: columns of D");
  text.add("kK", problem.k,
           traits.wgrad ? "columns of D: input features" : "inner size; the last scale block may be partial");
  if (problem.layout == Layout::padded) text.add("kAlignment", problem.al, "rows; every group starts at a multiple");
  if (problem.layout == Layout::masked) text.add("kMaxM", problem.m, "rows that the buffers have for each group");
  text.add("kBlockM", config.block_m, traits.swapped ? "columns of D per block" : "rows of D per block");
  text.add("kBlockN", config.block_n, traits.swapped ? "rows of D per block" : "columns of D per block");
  text.add("kStep", traits.step, "columns of one matrix instruction");
  text.add("kWarpgroupsM", config.warpgroups_m, "math warpgroups along the instruction's rows");
  text.add("kWarpgroupsN", config.warpgroups_n, "math warpgroups along its columns");
  text.add("kStages", config.stages, "depth of the TMA ring, in blocks of 128 along K");
  text.add("kClusterM", config.cluster_m,
           config.cluster_m > 1 ? "blocks of a cluster along M: neighbours that share B by multicast"
                                : "no cluster along M");
  text.add("kClusterN", config.cluster_n,
           config.cluster_n > 1 ? "blocks of a cluster along N: neighbours that share A by multicast"
                                : "no cluster along N");
  if (config.split_k > 1)
    text.add("kSplitK", config.split_k, "blocks of a cluster, which sum a tile together, each a part of K");
  text.add("kPanelTiles", std::max<std::int64_t>(1, 2048 / traits.tile_rows),
           "row tiles that share a weight slab: 2048 rows stay in L2");
  text.add("kUnrollK", unroll(traits), "K loop: 1 to 3 % faster than rolled; more costs compile time");
  if (traits.left_vector) {
    text.add("kLeftScaleRows", traits.left_boxes.rows, "scales per TMA box");
    text.add("kLeftScaleBoxes", traits.left_boxes.count, "and boxes per block along K");
  }
  if (traits.right_vector) text.add("kRightScaleRows", traits.right_boxes.rows, "scales per TMA box");
  if (traits.tile_scales)
    text.add("kTileScaleRows", traits.tile_scale_rows, "rows of 128 x 128 scales that a tile has");
  if (!traits.swapped) {
    text.add("kMathRegisters", registers.math, "per thread, after setmaxnreg");
    text.add("kProducerRegisters", registers.producer, "per thread, after setmaxnreg");
  }
  if (tables_fit(problem)) {
    text.add("kGroupMaps", wgmma_tables(problem).maps * problem.g, "tensor maps behind the parameters");
    text.add("kParamBytes", wgmma_param_bytes(problem), "of parameters, with what lies behind them");
  }
  text.add("kBlocksPerSm", config.blocks_per_sm, "blocks that a multiprocessor holds");
  text.add("kSharedBytes", gemm_shared_memory_bytes(problem, config), "dynamic shared memory that the launch asks for");
  return parts;
}

}  // namespace octet
