// Launch of the quantizers and activations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "octet/error.h"
#include "octet/layout.h"
#include "octet/runtime.h"
#include "runtime/integers.h"
#include "runtime/launch.h"
#include "runtime/quantize_traits.h"
#include "templates/abi.h"

namespace octet {
namespace {

constexpr int kWorkspaceAlignment = 256;

// Null is fine for what holds nothing: buffers without rows still have the scales of their groups, where a recipe has
// any.
void require_outputs(const LoadedKernel& kernel, const QuantizeTraits& traits, const QuantizeShape& shape,
                     const QuantizeArgs& args) {
  const bool has_rows = shape.rows > 0;
  if (traits.row) {
    require_layout(kernel, "out", args.out.layout, kernel.out);
    if (has_rows) require_pointer(kernel, "out.data", args.out.data, 16);
    if (shape.row.sf > 0) require_pointer(kernel, "out.sf", args.out.sf, 16);
  }
  if (traits.col) {
    require_layout(kernel, "out_col", args.out_col.layout, kernel.out_col);
    if (has_rows) require_pointer(kernel, "out_col.data", args.out_col.data, 16);
    if (shape.col.sf > 0) require_pointer(kernel, "out_col.sf", args.out_col.sf, 16);
  }
  if (!traits.quantized && has_rows) require_pointer(kernel, "d", args.d, 16);
}

void require_flags(const LoadedKernel& kernel, const QuantizeTraits& traits, bool has_rows, const QuantizeArgs& args) {
  const Problem& problem = kernel.spec.problem;
  if (problem.has(Flag::bias) && has_rows) require_pointer(kernel, "bias", args.bias, 16);
  if (problem.has(Flag::probs) && has_rows) require_pointer(kernel, "probs", args.probs, 4);
  if (traits.dprobs && has_rows) require_pointer(kernel, "dprobs", args.dprobs, 4);
  if (traits.dbias) require_pointer(kernel, "dbias", args.dbias, 4);
  if (problem.has(Flag::amax)) require_pointer(kernel, "amax", args.amax, 4);
  if (problem.has(Flag::given)) require_pointer(kernel, "given", args.given, 4);
  if (problem.has(Flag::noop)) require_pointer(kernel, "noop", args.noop, 4);
  if (!(args.amax_floor >= 0) || std::isinf(args.amax_floor)) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: amax_floor is {}; it must be 0 or more, and finite",
                                                         problem.to_string(), args.amax_floor));
  }
}

void require_arguments(const LoadedKernel& kernel, const QuantizeTraits& traits, const QuantizeShape& shape,
                       std::int64_t workspace_bytes, const QuantizeArgs& args) {
  require_outputs(kernel, traits, shape, args);
  require_flags(kernel, traits, shape.rows > 0, args);
  if (shape.rows > 0) {
    require_pointer(kernel, "in", args.in, 16);
    if (traits.backward) require_pointer(kernel, "pre", args.pre, 16);
  }
  if (kernel.spec.problem.layout != Layout::uniform) require_splits(kernel, args.splits);
  if (workspace_bytes > 0) require_pointer(kernel, "workspace", args.workspace, kWorkspaceAlignment);
}

// Whether a launch on buffers without rows has anything to write: values of groups, where the caller wants them.
bool writes_without_rows(const QuantizeTraits& traits, const QuantizeArgs& args) {
  const bool scales_of_groups = traits.quantized && (traits.granularity == Granularity::tensor ||
                                                     (traits.granularity == Granularity::row && traits.col));
  const bool wants_scales = args.out.sf != nullptr || args.out_col.sf != nullptr;
  return (scales_of_groups && wants_scales) || (traits.dbias && args.dbias != nullptr) || args.amax != nullptr;
}

abi::QuantizeParams params_of(const QuantizeArgs& args, const QuantizeShape& shape,
                              const QuantizeWorkspace& workspace) {
  const auto section = [&](std::int64_t offset) {
    return args.workspace == nullptr ? nullptr : reinterpret_cast<float*>(static_cast<char*>(args.workspace) + offset);
  };
  abi::QuantizeParams params{};
  params.in = args.in;
  params.pre = args.pre;
  params.bias = args.bias;
  params.probs = args.probs;
  params.given = args.given;
  params.splits = args.splits;
  params.noop = static_cast<const unsigned*>(args.noop);
  params.data = args.out.data;
  params.sf = args.out.sf;
  params.data_col = args.out_col.data;
  params.sf_col = args.out_col.sf;
  params.d = args.d;
  params.amax = args.amax;
  params.dprobs = args.dprobs;
  params.dbias = args.dbias;
  params.tile_amax = section(workspace.tile_amax);
  params.column_amax = section(workspace.column_amax);
  params.group_q = section(workspace.group_q);
  params.row_q = section(workspace.row_q);
  params.dprobs_partial = section(workspace.dprobs_partial);
  params.dbias_partial = section(workspace.dbias_partial);
  params.counters = reinterpret_cast<unsigned*>(section(workspace.counters));
  params.capacity = shape.rows;
  params.ld_col = shape.ld_col;
  params.amax_floor = args.amax_floor;
  return params;
}

// Blocks that share `work` units; persistent ones where they walk.
std::int64_t walking_blocks(const LoadedKernel& kernel, std::int64_t work, int per_sm) {
  const std::int64_t resident = std::int64_t{kernel.sm_count} * per_sm;
  return std::clamp<std::int64_t>(work, 1, resident);
}

std::int64_t blocks_of_rows(const LoadedKernel& kernel, const QuantizeTraits& traits, const QuantizeShape& shape) {
  const Problem& problem = kernel.spec.problem;
  const int rows = std::get<QuantizeConfig>(kernel.spec.config).rows_per_thread;
  const std::int64_t pairs = ceil_div(shape.out_columns, 256), warps = kernel.threads / 32;
  if (!traits.strips_by_group) return std::max<std::int64_t>(1, ceil_div(ceil_div(shape.rows, rows) * pairs, warps));
  return walking_blocks(kernel, ceil_div((ceil_div(shape.rows, rows) + problem.g) * pairs, warps),
                        kernel.blocks_per_sm);
}

// Column tiles of one step of quantize_tiles.cu.
std::int64_t walk_tiles(const QuantizeTraits& traits, const QuantizeShape& shape) {
  const std::int64_t tiles = column_tiles(shape);
  return traits.both_halves ? tiles / 2 : tiles;
}

std::int64_t blocks_of_pass(const LoadedKernel& kernel, const QuantizeTraits& traits, const QuantizeShape& shape,
                            Pass pass) {
  const std::int64_t tiles = shape.row_blocks * column_tiles(shape);
  switch (pass) {
    case Pass::amax:
      return walking_blocks(kernel, tiles, kernel.blocks_per_sm);
    case Pass::main:
      if (traits.one_shot) return std::max<std::int64_t>(1, shape.row_blocks * walk_tiles(traits, shape));
      if (traits.current) {
        return walking_blocks(kernel, ceil_div(shape.rows * shape.out_columns, 64 * kernel.threads),
                              kernel.blocks_per_sm);
      }
      return traits.by_tiles ? walking_blocks(kernel, tiles, kernel.blocks_per_sm)
                             : blocks_of_rows(kernel, traits, shape);
    case Pass::scales:
    case Pass::finish:
    case Pass::pointers:    // of GEMMs
    case Pass::dequantize:  // likewise
      return walking_blocks(kernel,
                            std::max(shape.row_blocks, ceil_div(kernel.spec.problem.g * shape.out_columns, 256)), 2);
  }
  return 1;
}

}  // namespace

OperandLayout Quantize::out_layout() const {
  require_loaded(loaded_.get());
  return loaded_->out;
}

OperandLayout Quantize::out_col_layout() const {
  require_loaded(loaded_.get());
  return loaded_->out_col;
}

void Quantize::launch(const QuantizeArgs& args, Stream stream) const {
  require_loaded(loaded_.get());
  const LoadedKernel& kernel = *loaded_;
  const Problem& problem = kernel.spec.problem;
  const std::int64_t capacity = checked_capacity(kernel, args.capacity);
  const QuantizeTraits traits(problem);
  if (capacity == 0 && !writes_without_rows(traits, args)) {
    if (traits.row) require_layout(kernel, "out", args.out.layout, kernel.out);
    if (traits.col) require_layout(kernel, "out_col", args.out_col.layout, kernel.out_col);
    return;  // nothing to read or write
  }
  const QuantizeShape shape = quantize_shape(problem, capacity);
  const QuantizeWorkspace workspace = quantize_workspace(problem, traits, shape);
  require_arguments(kernel, traits, shape, workspace.bytes, args);
  const LaunchScope scope(kernel, stream);
  abi::QuantizeParams params = params_of(args, shape, workspace);
  const std::vector<Pass>& passes = kernel.pass_list;
  if (workspace.counter_words > 0) zero_words(params.counters, workspace.counter_words, stream);
  for (std::size_t i = 0; i < passes.size(); ++i) {
    launch_pass(kernel, kernel.passes[i], blocks_of_pass(kernel, traits, shape, passes[i]), &params, stream);
  }
}

}  // namespace octet
