// Which parts of the templates a source holds.
#include <algorithm>
#include <string>
#include <vector>

#include "octet/layout.h"
#include "runtime/gemm_traits.h"
#include "runtime/mx_traits.h"
#include "runtime/param_tables.h"
#include "runtime/portable_traits.h"
#include "runtime/quantize_traits.h"
#include "tests/support/catch.h"
#include "tests/unit/render_specs.h"

namespace {

using octet::Activation;
using octet::Direction;
using octet::DType;
using octet::Flag;
using octet::GemmConfig;
using octet::Granularity;
using octet::Layout;
using octet::Operation;
using octet::Packing;
using octet::Pass;
using octet::QuantizeTraits;
using octet::ScaleLayout;
using octet::Spec;
using octet::SplitsForm;
using octet::test::contains;
using octet::test::source_of;
using octet::test::specs;

bool is_wgrad(const Spec& spec) { return spec.problem.op == Operation::wgrad; }
bool is_gemm(const Spec& spec) { return spec.problem.op == Operation::gemm || is_wgrad(spec); }
bool is_wgmma(const Spec& spec) { return std::holds_alternative<GemmConfig>(spec.config); }
bool is_portable(const Spec& spec) { return std::holds_alternative<octet::PortableConfig>(spec.config); }
bool is_mx(const Spec& spec) { return std::holds_alternative<octet::MxConfig>(spec.config); }
const octet::MxConfig& mx(const Spec& spec) { return std::get<octet::MxConfig>(spec.config); }
bool is_direct(const Spec& spec) { return is_mx(spec) && mx(spec).direct > 0; }
bool has_mx_pass(const Spec& spec) { return is_mx(spec) && mx(spec).direct == 0; }
bool is_hopper(const Spec& spec) { return is_wgmma(spec) || is_mx(spec); }
bool has_maps(const Spec& spec) { return spec.problem.weights_by_pointer || spec.problem.from == Packing::deepgemm; }
// With w=pointers scales of B but 1x128, and what D held: not through a tensor map.
bool reads_pointers(const Spec& spec) {
  if (!spec.problem.weights_by_pointer) return false;
  return is_wgrad(spec) ? spec.problem.has(Flag::acc) : spec.problem.b->granularity != Granularity::block_1x128;
}
octet::GemmTraits gemm_traits(const Spec& spec) {
  return octet::GemmTraits(spec.problem, std::get<GemmConfig>(spec.config));
}
bool is_swapped(const Spec& spec) { return is_wgmma(spec) && gemm_traits(spec).swapped; }
bool is_quantizer(const Spec& spec) {
  return spec.problem.op == Operation::quantize || spec.problem.op == Operation::activation;
}
bool is_dequantize(const Spec& spec) { return spec.problem.op == Operation::dequantize; }
bool is_convert(const Spec& spec) { return spec.problem.op == Operation::convert; }
bool converts(const Spec& spec) { return is_dequantize(spec) || is_convert(spec); }
bool is_uniform(const Spec& spec) { return spec.problem.layout == Layout::uniform; }
bool is_padded(const Spec& spec) { return spec.problem.layout == Layout::padded; }
bool is_masked(const Spec& spec) { return spec.problem.layout == Layout::masked; }
bool is_dense(const Spec& spec) { return spec.problem.layout == Layout::dense; }
bool has_splits(const Spec& spec) { return !is_uniform(spec) && !is_dense(spec); }
const GemmConfig& gemm(const Spec& spec) { return std::get<GemmConfig>(spec.config); }
bool splits_k(const Spec& spec) { return is_wgmma(spec) && gemm(spec).split_k > 1; }
bool is_multicast(const Spec& spec) {
  if (is_mx(spec)) return mx(spec).cluster_n > 1;
  return is_wgmma(spec) && gemm(spec).cluster_m * gemm(spec).cluster_n > 1;
}
bool is_cluster(const Spec& spec) { return is_multicast(spec) || splits_k(spec); }

QuantizeTraits traits(const Spec& spec) { return QuantizeTraits(spec.problem); }
bool has(const Spec& spec, Flag flag) { return spec.problem.has(flag); }
bool quantizes(const Spec& spec) { return spec.problem.op == Operation::quantize; }
bool quantizes_to(const Spec& spec, Granularity granularity) {
  return quantizes(spec) && spec.problem.out->granularity == granularity;
}
bool quantizes_to_mx(const Spec& spec) {
  return quantizes_to(spec, Granularity::mx_1x32) || quantizes_to(spec, Granularity::mx_32x32);
}
bool is_columnwise(const Spec& spec) { return quantizes(spec) && spec.problem.dir != Direction::row; }
bool is_backward(const Spec& spec) { return has(spec, Flag::grad) && spec.problem.act != Activation::none; }
bool has_fp8(const Spec& spec, DType type) {
  return (quantizes(spec) && spec.problem.out->type == type) || (is_dequantize(spec) && spec.problem.a->type == type);
}
bool is_one_shot(const Spec& spec) { return is_quantizer(spec) && traits(spec).one_shot; }
// `tensor` whose scale comes from the data, in one kernel.
bool is_current(const Spec& spec) { return is_quantizer(spec) && traits(spec).current; }
bool walks_over_tiles(const Spec& spec) {
  const QuantizeTraits own = traits(spec);
  return converts(spec) ||
         (is_quantizer(spec) && ((own.by_tiles && !own.one_shot) || own.amax_pass || own.finish_pass));
}
bool has_table(const Spec& spec) {
  if (is_portable(spec)) return octet::PortableTraits(spec.problem).group_table;
  if (is_mx(spec)) return !is_direct(spec) || !is_wgrad(spec);  // its pass has one, and tokens in rows have one
  return (is_gemm(spec) && !is_wgrad(spec)) ||
         (has_splits(spec) && (converts(spec) || (is_quantizer(spec) && traits(spec).needs_table)));
}
bool visits_groups(const Spec& spec) {
  return has_table(spec) || is_hopper(spec) || (has_splits(spec) && is_one_shot(spec));
}
// Strips of a packed buffer that need not know which row is whose.
bool has_row_range(const Spec& spec) {
  return is_quantizer(spec) && !traits(spec).by_tiles && spec.problem.layout == Layout::packed &&
         !quantizes_to(spec, Granularity::tensor) && !has(spec, Flag::bias);
}
// Compact scales of columns are counted in blocks of 32 rows.
bool has_compact_columns(const Spec& spec) {
  const auto& recipe = quantizes(spec) ? spec.problem.out : spec.problem.a;
  return !is_gemm(spec) && recipe && recipe->scale_layout == ScaleLayout::mx_compact &&
         spec.problem.dir != Direction::row;
}
bool is_f32(const Spec& spec) { return is_quantizer(spec) && spec.problem.in == DType::f32; }
bool has_activation(const Spec& spec) { return spec.problem.act != Activation::none; }
bool has_sigmoid(const Spec& spec) {
  const Activation act = spec.problem.act;
  return has_activation(spec) && act != Activation::relu && act != Activation::srelu && act != Activation::reglu &&
         act != Activation::sreglu;
}
bool has_gate(const Spec& spec) { return octet::is_gated(spec.problem.act); }
bool has_pass(const Spec& spec, Pass pass) {
  const auto passes = octet::passes_of(spec);
  return std::find(passes.begin(), passes.end(), pass) != passes.end();
}

// Text of a part, and the specs that use it.
struct Part {
  const char* text;
  bool (*used)(const Spec&);
};
const Part kParts[] = {
    // Where groups lie.
    {"static_cast<const i64*>(splits)", [](const Spec& s) { return has_splits(s) && s.problem.splits.is_i64; }},
    {"static_cast<const i32*>(splits)", [](const Spec& s) { return has_splits(s) && !s.problem.splits.is_i64; }},
    {"split_at(splits",
     [](const Spec& s) { return has_splits(s) && (has_table(s) || !is_portable(s)); }},  // else a count, read in place
    {"kGroups - 1)", [](const Spec& s) { return has_row_range(s) && s.problem.splits.form == SplitsForm::ends; }},
    {"align_rows(", is_padded},
    {"kAlignment", is_padded},
    {"kMaxM", is_masked},
    {"visit_groups(", visits_groups},
    {"struct GroupTable", has_table},
    {"struct RowRange", has_row_range},
    {"groups_of_rows(const",
     [](const Spec& s) {
       return is_quantizer(s) && !traits(s).by_tiles && !is_current(s) && s.problem.layout == Layout::packed &&
              !has_row_range(s);
     }},
    {"warp_exclusive_sum(", [](const Spec& s) { return visits_groups(s) || traits(s).row_groups; }},
    {"warp_exclusive_max(",
     [](const Spec& s) { return visits_groups(s) && !is_masked(s) && s.problem.splits.form != SplitsForm::sizes; }},
    {"first_sub_block",
     [](const Spec& s) {
       if (is_mx(s)) return octet::mx_sub_blocks(s.problem);
       if (is_portable(s)) return is_wgrad(s);  // a member of the group's place, filled where it is needed
       return has_compact_columns(s) && !is_masked(s) && !is_uniform(s);
     }},
    {"class TileWalk",
     [](const Spec& s) { return is_hopper(s) || (is_portable(s) && !is_wgrad(s)) || walks_over_tiles(s); }},
    {"find_tile(", is_one_shot},
    {"params.counters", is_current},

    // The GEMM.
    {"GemmParams", is_gemm},
    {"wgmma.mma_async", is_hopper},
    {"mbarrier", is_hopper},
    {"cp.async.bulk.tensor", is_hopper},
    {"MxGemmParams", is_mx},
    {"params.a_wide", has_mx_pass},
    {"OCTET_DEQUANTIZE_ENTRY(", has_mx_pass},
    {"class PassWalk", has_mx_pass},
    {"struct DirectPosition", is_direct},
    {"st.shared.v4.b32", is_direct},
    {"mma.sync", is_portable},
    {"cp.async.cg", is_portable},
    {"barrier.cluster.arrive", is_cluster},
    {"multicast::cluster", is_multicast},
    {"load_shared(", [](const Spec& s) { return is_wgmma(s) && is_multicast(s); }},
    {"st.async", splits_k},
    {"kSplitK", splits_k},
    {"Ring<1> mail", splits_k},
    {"%cluster_ctarank", is_cluster},
    {"shares_columns_", [](const Spec& s) { return is_wgmma(s) && gemm(s).cluster_m > 1; }},
    {"kColumnUnits",
     [](const Spec& s) { return is_portable(s) ? !is_wgrad(s) : is_mx(s) || (is_wgmma(s) && gemm(s).cluster_m == 1); }},
    {"staging[kMathWarpgroups][kSlabs * kChunks]",
     [](const Spec& s) { return is_wgmma(s) && gemm(s).whole_tile_store; }},
    {"staging[kMathWarpgroups][kBuffers]", [](const Spec& s) { return is_wgmma(s) && !gemm(s).whole_tile_store; }},
    {"token_scale_x(", [](const Spec& s) { return is_wgmma(s) && gemm_traits(s).token_vector; }},
    {"params.left_sf", [](const Spec& s) { return is_wgmma(s) && gemm_traits(s).left_vector; }},
    {"params.right_sf", [](const Spec& s) { return is_wgmma(s) && gemm_traits(s).right_vector; }},
    {"tile_sf[2]", [](const Spec& s) { return is_wgmma(s) && gemm_traits(s).tile_scales; }},
    {"streamed_sf", [](const Spec& s) { return is_wgmma(s) && gemm_traits(s).streamed_scales; }},
    {"group_scale ", [](const Spec& s) { return is_wgmma(s) && gemm_traits(s).group_scales; }},
    {"build_block_table(", [](const Spec& s) { return is_hopper(s) && is_wgrad(s); }},
    {"policy_read_once(", is_swapped},
    {"params.beta", [](const Spec& s) { return is_gemm(s) && has(s, Flag::acc); }},
    {"params.b_pointers,",
     [](const Spec& s) { return is_portable(s) && s.problem.weights_by_pointer && !is_wgrad(s); }},
    {"params.d_pointers,", [](const Spec& s) { return is_portable(s) && s.problem.weights_by_pointer && is_wgrad(s); }},
    {"OCTET_POINTERS_ENTRY(", [](const Spec& s) { return is_wgmma(s) && has_maps(s); }},
    {"group_map(", [](const Spec& s) { return is_wgmma(s) && has_maps(s); }},
    // A table for each group's map behind the parameters, and of pointers where the kernel reads through them.
    {"group_maps[", [](const Spec& s) { return is_wgmma(s) && octet::tables_fit(s.problem); }},
    {"group_pointers[",
     [](const Spec& s) {
       if (is_portable(s)) return s.problem.weights_by_pointer;
       return is_wgmma(s) && octet::tables_fit(s.problem) && reads_pointers(s);
     }},
    {"return params.pointers[group]", [](const Spec& s) { return is_wgmma(s) && reads_pointers(s); }},
    {"check_splits(", [](const Spec& s) { return has(s, Flag::checked); }},

    // Quantizers: parameters, elements, and casts.
    {"QuantizeParams", is_quantizer},
    {"e4m3x2", [](const Spec& s) { return has_fp8(s, DType::e4m3); }},
    {"e5m2x2", [](const Spec& s) { return has_fp8(s, DType::e5m2); }},
    {"max.bf16x2", [](const Spec& s) { return is_quantizer(s) && s.problem.in == DType::bf16; }},
    {"max.f16x2", [](const Spec& s) { return is_quantizer(s) && s.problem.in == DType::fp16; }},
    {"using Element = float", [](const Spec& s) { return is_f32(s) || (is_portable(s) && s.problem.d == DType::f32); }},

    // What is quantized.
    {"struct Gate ", has_activation},
    {"sigmoid(float", has_sigmoid},
    {"expf(-", [](const Spec& s) { return has_sigmoid(s) && is_f32(s); }},
    {"tanhf(", [](const Spec& s) { return s.problem.act == Activation::situ_glu; }},
    {"kLimit", [](const Spec& s) { return s.problem.act == Activation::clamped_swiglu; }},
    {"0.03567741f",
     [](const Spec& s) { return s.problem.act == Activation::gelu || s.problem.act == Activation::geglu; }},
    {"struct Pair8", has_gate},
    {"kPartner = kColumns", [](const Spec& s) { return has_gate(s) && s.problem.il == 0; }},
    {"config::kInterleave", [](const Spec& s) { return s.problem.il > 0; }},
    {"float up(i32 i) const { return half(i, false)", [](const Spec& s) { return s.problem.gate_second; }},
    {"Gradient gradient(", is_backward},
    {"params.pre", is_backward},
    {"struct Slice ", [](const Spec& s) { return is_backward(s) && !traits(s).both_halves; }},
    {"both_gradients(", [](const Spec& s) { return is_quantizer(s) && traits(s).both_halves; }},
    {"params.bias", [](const Spec& s) { return has(s, Flag::bias); }},
    {"params.probs", [](const Spec& s) { return has(s, Flag::probs); }},
    {"params.dprobs[", [](const Spec& s) { return is_backward(s) && has(s, Flag::probs); }},
    {"params.dbias[", [](const Spec& s) { return has(s, Flag::dbias); }},
    {"params.noop", [](const Spec& s) { return has(s, Flag::noop); }},

    // Scales, and where results go.
    {"params.given", [](const Spec& s) { return has(s, Flag::given); }},
    {"params.amax[", [](const Spec& s) { return has(s, Flag::amax); }},
    {"params.row_q", [](const Spec& s) { return quantizes_to(s, Granularity::row) && traits(s).row; }},
    {"scale_of_any(", [](const Spec& s) { return quantizes(s) && !quantizes_to_mx(s); }},
    {"e8m0_of(", quantizes_to_mx},
    {"0xff800000u", [](const Spec& s) { return quantizes(s) && s.problem.out->power_of_two; }},
    {"struct RowScales",
     [](const Spec& s) {
       const bool along_rows = quantizes_to(s, Granularity::block_1x128) && s.problem.dir == Direction::row;
       return along_rows ||
              (quantizes_to(s, Granularity::mx_1x32) && traits(s).row);  // else columns' threads find them
     }},
    {"scale_row(",
     [](const Spec& s) { return quantizes_to(s, Granularity::block_1x128) && s.problem.dir == Direction::row_col; }},
    {"struct ColumnScales32", [](const Spec& s) { return quantizes_to(s, Granularity::mx_1x32) && is_columnwise(s); }},
    {"half_word_of_row(",
     [](const Spec& s) { return quantizes_to(s, Granularity::mx_1x32) && s.problem.dir == Direction::row_col; }},
    {"prefetch_guess(",
     [](const Spec& s) {
       const bool reads_tile = quantizes(s) && traits(s).one_shot && !traits(s).gated && !traits(s).backward;
       return reads_tile && s.problem.layout == Layout::packed;
     }},
    {"sub_block_scale(", [](const Spec& s) { return quantizes_to(s, Granularity::mx_32x32); }},
    {"store_block_scale(", [](const Spec& s) { return quantizes_to(s, Granularity::block_128x128); }},
    {"share_column_maxima(",
     [](const Spec& s) {
       return is_columnwise(s) && (quantizes_to(s, Granularity::block_1x128) || quantizes_to(s, Granularity::row));
     }},
    {"share_transposed(", is_columnwise},
    {"store_row(", [](const Spec& s) { return quantizes(s) && traits(s).by_tiles && traits(s).row; }},
    {"(params.d)",
     [](const Spec& s) {
       const bool stores = is_dequantize(s) || s.problem.op == Operation::activation;
       return stores || is_mx(s) || (is_portable(s) && !(is_wgrad(s) && s.problem.weights_by_pointer));
     }},
    {"OCTET_AMAX_ENTRY(", [](const Spec& s) { return has_pass(s, Pass::amax); }},
    {"OCTET_SCALES_ENTRY(", [](const Spec& s) { return has_pass(s, Pass::scales); }},
    {"OCTET_FINISH_ENTRY(", [](const Spec& s) { return has_pass(s, Pass::finish); }},

    // Dequantizers and converters.
    {"ConvertParams", converts},
    {"dequantize_tile(", is_dequantize},
    {"convert_data(", is_convert},
    {"to_scale_index(", is_convert},
    {"deepgemm_offset(", [](const Spec& s) { return !is_gemm(s) && s.problem.from == Packing::deepgemm; }},
    {"fill_padding(",
     [](const Spec& s) {
       return is_convert(s) && s.problem.dir == Direction::row && s.problem.layout == Layout::masked;
     }},
};

}  // namespace

TEST_CASE("render: a source holds the parts that its spec uses and no other") {
  std::vector<int> users(std::size(kParts));
  for (const Spec& spec : specs()) {
    const std::string source = source_of(spec);
    for (std::size_t i = 0; i < std::size(kParts); ++i) {
      INFO(kParts[i].text << " in " << spec.name());
      CHECK(contains(source, kParts[i].text) == kParts[i].used(spec));
      users[i] += kParts[i].used(spec) ? 1 : 0;
    }
  }
  for (std::size_t i = 0; i < std::size(kParts); ++i) {
    INFO(kParts[i].text);
    CHECK(users[i] > 0);
    CHECK(users[i] < static_cast<int>(specs().size()));
  }
}
