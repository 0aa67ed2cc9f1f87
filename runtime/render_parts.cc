#include "runtime/render_parts.h"

#include <fmt/format.h>

namespace octet {

void ConfigText::add(const char* name, std::int64_t value, const char* reason) {
  text_ += fmt::format("constexpr int {} = {};  // {}\n", name, value, reason);
}

const std::set<std::string>& known_facts() {
  static const std::set<std::string> facts = {
      "rendered", "gemm", "portable", "quantize", "convert",
      // where groups lie
      "packed", "padded", "masked", "uniform", "dense", "splits_i32", "splits_i64", "splits_sizes", "splits_ends",
      "splits_starts", "prefix_sums", "from_ends", "from_starts", "group_table", "row_range", "row_groups",
      "whole_extent", "sub_blocks", "strips_by_group", "find_entry", "visit_groups", "one_shot", "tile_walk",
      // gemm.cu
      "cluster", "multicast", "cluster_m", "split_k", "whole_tile", "split_narrow", "wgrad", "swapped",
      "even_registers", "read_once", "narrow_chunks", "early_wait", "dense", "step_16", "step_32", "step_64",
      "step_128", "left_e4m3_right_e4m3", "left_e4m3_right_e5m2", "left_e5m2_right_e4m3", "left_e5m2_right_e5m2",
      "left_vector", "right_vector", "token_vector", "left_token_vector", "right_token_vector", "weight_vector",
      "weight_columns", "tile_scales", "sfb_turned", "streamed_scales", "block_scales", "row_factors", "group_scales",
      "row_scales", "scaled_output", "maps", "left_maps", "right_maps", "left_sf_maps", "right_sf_maps", "sfb_pointers",
      "d_pointers", "group_pointers", "param_tables", "param_pointers", "acc", "reduce", "fastacc", "checked",
      // gemm_portable.cu
      "b_e4m3", "b_e5m2", "whole_scales", "promote", "reads_d", "reads_fp16", "pointers", "programmatic",
      "first_blocks", "group_blocks", "sfa_per_group", "sfa_per_row", "sfa_mn_major", "sfa_k_major", "sfa_col_mn_major",
      "sfa_block2d", "sfa_mx_compact", "sfa_swizzled", "sfb_per_group", "sfb_per_row", "sfb_mn_major", "sfb_k_major",
      "sfb_col_mn_major", "sfb_block2d", "sfb_block2d_t", "sfb_mx_compact", "sfb_col_mx_compact", "sfb_swizzled",
      "sfb_mx_32x32",
      // gemm_mx.cu
      "mx", "step_256", "d_turned", "direct",
      // element types
      "in_bf16", "in_fp16", "in_f32", "out_e4m3", "out_e5m2", "d_fp16",
      // what is quantized
      "forward", "grad", "computed", "act", "gated", "gate_second", "interleaved", "pairwise", "both_halves", "bias",
      "probs", "dbias", "dprobs", "sums_apart", "uses_sigmoid", "plain_up", "act_relu", "act_srelu", "act_gelu",
      "act_qgelu", "act_silu", "act_swiglu", "act_geglu", "act_qgeglu", "act_reglu", "act_sreglu", "act_glu",
      "act_clamped_swiglu", "act_situ_glu",
      // how, and where to
      "quantized", "plain", "row", "col", "noop", "amax", "given", "f32_scales", "e8m0", "pow2", "scale_tensor",
      "scale_row", "scale_1x128", "scale_128x128", "scale_1x32", "scale_32x32", "one_scale", "sf_mn_major",
      "sf_k_major", "sf_per_row", "sf_block2d_t", "sf_compact", "sf_swizzled", "column_maxima", "column_scales",
      "own_row_scales", "shared_row_scales", "square_warps", "guessed", "shared_row_words", "columns_wait",
      "block_maxima", "mx_columns", "current", "amax_pass", "finish_pass", "amax_of_tiles", "tile_amax",
      // dequantize.cu, convert.cu
      "dequantize", "converter", "a_e4m3", "a_e5m2", "d_bf16", "d_f32", "deepgemm", "from_rows", "to_rows",
      "from_columns", "to_columns", "from_deepgemm", "to_deepgemm", "from_per_group", "from_per_row", "from_mn_major",
      "to_mn_major", "from_k_major", "to_k_major", "from_col_mn_major", "to_col_mn_major", "from_block2d", "to_block2d",
      "from_block2d_t", "to_block2d_t", "from_mx_compact", "to_mx_compact", "from_swizzled", "to_swizzled",
      "from_mx_32x32"};
  return facts;
}

void add_splits_facts(const Problem& problem, std::set<std::string>& facts) {
  facts.insert(to_string(problem.layout));
  if (problem.layout == Layout::uniform || problem.layout == Layout::dense) return;
  const bool masked = problem.layout == Layout::masked;
  facts.insert(problem.splits.is_i64 ? "splits_i64" : "splits_i32");
  switch (problem.splits.form) {
    case SplitsForm::sizes:
      facts.insert("splits_sizes");
      if (!masked) facts.insert("prefix_sums");
      break;
    case SplitsForm::ends:
      facts.insert("splits_ends");
      if (!masked) facts.insert("from_ends");
      break;
    case SplitsForm::starts:
      facts.insert("splits_starts");
      if (!masked) facts.insert("from_starts");
      break;
  }
}

}  // namespace octet
