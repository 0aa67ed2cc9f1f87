#include "runtime/quantize_traits.h"

#include "runtime/integers.h"

namespace octet {
namespace {

constexpr std::int64_t kTile = 128, kSectionAlignment = 256;
constexpr std::int64_t kSmallestChunk =
    64 * 8 * 8;                          // elements of quantize_current.cu: threads, vectors, elements of one
constexpr std::int64_t kFewGroups = 64;  // two per lane

// Whether rows alone, one strip at a time, give the result.
bool rows_suffice(const QuantizeTraits& traits) {
  if (traits.col || traits.backward || traits.dbias || traits.amax_of_tiles) return false;
  if (!traits.quantized) return true;
  switch (traits.granularity) {
    case Granularity::tensor:
    case Granularity::block_1x128:
      return true;
    case Granularity::mx_1x32:
      return traits.scales == ScaleLayout::mx_compact;
    default:
      return false;
  }
}

}  // namespace

std::int64_t columns_of(const Problem& problem) noexcept {
  return problem.layout == Layout::uniform ? problem.k : problem.c;
}

bool has_splits(const Problem& problem) noexcept {
  return problem.layout != Layout::uniform && problem.layout != Layout::dense;
}

QuantizeTraits::QuantizeTraits(const Problem& problem) {
  quantized = problem.op == Operation::quantize;
  if (problem.out) {
    granularity = problem.out->granularity;
    scales = problem.out->scale_layout;
  }
  row = quantized && problem.dir != Direction::col;
  col = quantized && problem.dir != Direction::row;
  has_activation = problem.act != Activation::none;
  gated = is_gated(problem.act);
  backward = problem.has(Flag::grad) && has_activation;
  both_halves = backward && gated && problem.il == 0 && columns_of(problem) % kTile == 0;
  dbias = problem.has(Flag::dbias);
  dprobs = backward && problem.has(Flag::probs);
  const bool given = problem.has(Flag::given);
  const bool tensor = quantized && granularity == Granularity::tensor;
  current = tensor && !given && !col && !has_activation && !dbias && problem.layout != Layout::uniform;
  amax_pass = !current && quantized && (granularity == Granularity::row || (tensor && !given));
  amax_of_tiles = tensor && given && problem.has(Flag::amax);
  finish_pass = dbias || dprobs || amax_of_tiles;
  by_tiles = !current && !rows_suffice(*this);
  const bool pads_rows = scales == ScaleLayout::swizzled;
  square_warps = quantized && col && granularity == Granularity::mx_1x32;
  whole_extent = problem.layout == Layout::masked && by_tiles && quantized && (col || pads_rows);
  const bool walks_groups = problem.layout == Layout::padded || problem.layout == Layout::masked;
  strips_by_group = !current && !by_tiles && walks_groups;
  row_groups = !current && !by_tiles && problem.layout == Layout::packed && (tensor || problem.has(Flag::bias));
  // Where the blocks that find nothing would be many, or finding a group among many takes long, blocks walk.
  const bool mostly_full = problem.layout != Layout::masked || whole_extent;
  one_shot = by_tiles && mostly_full && (problem.layout == Layout::uniform || problem.g <= kFewGroups);
  needs_table = problem.layout != Layout::uniform &&
                ((by_tiles && !one_shot) || strips_by_group || amax_pass || finish_pass || current);
}

const char* suffix(Pass pass) noexcept {
  switch (pass) {
    case Pass::amax:
      return "_amax";
    case Pass::scales:
      return "_scales";
    case Pass::pointers:
      return "_pointers";
    case Pass::dequantize:
      return "_dequantize";
    case Pass::main:
      return "";
    case Pass::finish:
      return "_finish";
  }
  return "";
}

std::vector<Pass> passes_of(const Problem& problem) {
  const bool wgrad_of_blocks = problem.op == Operation::wgrad && problem.from == Packing::deepgemm;
  if (problem.weights_by_pointer || wgrad_of_blocks) return {Pass::pointers, Pass::main};
  if (problem.op != Operation::quantize && problem.op != Operation::activation) return {Pass::main};
  const QuantizeTraits traits(problem);
  std::vector<Pass> passes;
  if (traits.amax_pass) passes = {Pass::amax, Pass::scales};
  passes.push_back(Pass::main);
  if (traits.finish_pass) passes.push_back(Pass::finish);
  return passes;
}

std::vector<Pass> passes_of(const Spec& spec) {
  if (const auto* mx = std::get_if<MxConfig>(&spec.config)) {
    return mx->direct > 0 ? std::vector{Pass::main} : std::vector{Pass::dequantize, Pass::main};
  }
  if (std::holds_alternative<PortableConfig>(spec.config)) return {Pass::main};
  return passes_of(spec.problem);
}

std::int64_t column_tiles(const QuantizeShape& shape) { return ceil_div(shape.out_columns, kTile); }

QuantizeWorkspace quantize_workspace(const Problem& problem, std::int64_t capacity) {
  return quantize_workspace(problem, QuantizeTraits(problem), quantize_shape(problem, capacity));
}

QuantizeWorkspace quantize_workspace(const Problem& problem, const QuantizeTraits& traits, const QuantizeShape& shape) {
  const std::int64_t tiles = column_tiles(shape);
  QuantizeWorkspace workspace;
  const auto reserve = [&](std::int64_t floats) {
    const std::int64_t at = workspace.bytes;
    workspace.bytes += round_up(floats * 4, kSectionAlignment);
    return at;
  };
  const bool by_row = traits.quantized && traits.granularity == Granularity::row;
  if (traits.amax_of_tiles || (traits.amax_pass && !by_row)) workspace.tile_amax = reserve(shape.row_blocks * tiles);
  if (traits.amax_pass && !by_row) workspace.group_q = reserve(problem.g);
  if (traits.current) {
    workspace.tile_amax = reserve(ceil_div(shape.rows * shape.out_columns, kSmallestChunk) + problem.g);
    workspace.counter_words = 1 + problem.g;
    workspace.counters = reserve(workspace.counter_words);
  }
  if (by_row && traits.row) {
    workspace.tile_amax = reserve(shape.rows * tiles);
    workspace.row_q = reserve(shape.rows);
  }
  if (by_row && traits.col) {
    workspace.column_amax = reserve(shape.row_blocks * shape.out_columns);
    workspace.group_q = reserve(problem.g * shape.out_columns);
  }
  if (traits.dprobs) workspace.dprobs_partial = reserve(shape.rows * tiles * (traits.square_warps ? 2 : 1));
  if (traits.dbias) workspace.dbias_partial = reserve(shape.row_blocks * shape.out_columns);
  return workspace;
}

}  // namespace octet
