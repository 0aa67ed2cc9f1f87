#include "runtime/wgmma_gemm.h"

#include <algorithm>
#include <iterator>

#include "octet/layout.h"
#include "runtime/integers.h"
#include "runtime/launch.h"
#include "runtime/wgmma_views.h"

namespace octet {
namespace {

bool is_deepgemm(const Problem& problem) { return problem.from == Packing::deepgemm; }
bool has_maps(const Problem& problem) { return problem.weights_by_pointer || is_deepgemm(problem); }

// Tables of the workspace, [G] each: maps of the weights (wgrad: of D), maps of their scales or pointers to them
// (wgrad: pointers to D), and maps of A and B as DeepGEMM packs them.
enum class Table { matrices, beside, a, b };
constexpr std::int64_t kMapBytes = sizeof(abi::TensorMap);

void* table_at(const GemmCall& call, Table table) {
  return static_cast<char*>(call.args.workspace) + static_cast<int>(table) * kMapBytes * call.problem.g;
}
abi::TensorMap* maps_at(const GemmCall& call, Table table) {
  return static_cast<abi::TensorMap*>(table_at(call, table));
}

void launch_maps(const GemmCall& call, abi::MapParams& params, Stream stream) {
  launch_pass(call.kernel, call.kernel.passes.front(), 1, &params, stream);
}

// One map, or one entry of a table, for each group's pointer.
void place_pointers(const GemmCall& call, const Pointers& pointers, abi::MapParams& params, Stream stream) {
  constexpr std::int64_t kAtOnce = std::size(decltype(abi::MapParams::values){});
  params.pointers = pointers.device;
  for (std::int64_t first = 0; first < call.problem.g; first += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, call.problem.g - first);
    params.first = static_cast<int>(first);
    params.count = static_cast<int>(count);
    if (pointers.device == nullptr) std::copy_n(pointers.host + first, count, params.values);
    launch_maps(call, params, stream);
  }
}

abi::TensorMap* place_maps(const GemmCall& call, const Pointers& pointers, Table table, const MatrixView& view,
                           Stream stream) {
  abi::MapParams params{};
  params.base = encode_tensor_map(view);
  params.maps = maps_at(call, table);
  place_pointers(call, pointers, params, stream);
  return params.maps;
}

// Where the kernel finds the pointers themselves: the caller's array, or the workspace's copy of one on the host.
const void* const* place_table(const GemmCall& call, const Pointers& pointers, Stream stream) {
  if (pointers.device != nullptr) return pointers.device;
  abi::MapParams params{};
  params.table = static_cast<const void**>(table_at(call, Table::beside));
  place_pointers(call, pointers, params, stream);
  return params.table;
}

abi::TensorMap* place_blocks(const GemmCall& call, const void* data, std::int64_t rows, Table table,
                             const MatrixView& view, Stream stream) {
  abi::MapParams params{};
  params.base = encode_tensor_map(view);
  params.maps = maps_at(call, table);
  params.count = static_cast<int>(call.problem.g);
  params.data = data;
  params.operand_rows = rows;
  params.splits = call.args.splits;
  params.capacity = call.capacity;
  launch_maps(call, params, stream);
  return params.maps;
}

void add_weight_pointers(const GemmCall& call, abi::GemmParams& params, Stream stream) {
  const GemmTraits& traits = call.traits;
  const int rows = traits.swapped ? call.config.block_m : call.config.block_n;
  abi::TensorMap* maps = place_maps(call, call.args.b_data, Table::matrices, b_view(call, rows), stream);
  (traits.swapped ? params.left_maps : params.right_maps) = maps;
  if (traits.weight_vector) {
    const int boxes = traits.swapped ? traits.left_boxes.rows : traits.right_boxes.rows;
    params.sf_maps = place_maps(call, call.args.b_sf, Table::beside, sfb_view(call, boxes), stream);
  } else {
    params.sfb_pointers = reinterpret_cast<const float* const*>(place_table(call, call.args.b_sf, stream));
  }
}

void add_maps(const GemmCall& call, abi::GemmParams& params, Stream stream) {
  const Problem& problem = call.problem;
  if (is_deepgemm(problem) && call.capacity > 0) {
    params.left_maps =
        place_blocks(call, call.args.a.data, problem.n, Table::a, a_view(call, call.config.block_m), stream);
    params.right_maps =
        place_blocks(call, call.args.b.data, problem.k, Table::b, b_view(call, call.config.block_n), stream);
  }
  if (!problem.weights_by_pointer) return;
  if (!is_wgrad(problem)) return add_weight_pointers(call, params, stream);
  params.d_maps = place_maps(call, call.args.d_data, Table::matrices, d_view(call), stream);
  params.d_pointers = const_cast<void* const*>(place_table(call, call.args.d_data, stream));
}

abi::GemmParams make_params(const GemmCall& call) {
  const GemmTraits& traits = call.traits;
  const auto encode = [&](auto view_of_a, auto view_of_b, bool left, int rows) {
    return encode_tensor_map(left != traits.swapped ? view_of_a(call, rows) : view_of_b(call, rows));
  };
  abi::GemmParams params{};
  params.left = encode(a_view, b_view, true, call.config.block_m);
  params.right = encode(a_view, b_view, false, call.config.block_n);
  if (traits.left_vector) params.left_sf = encode(sfa_view, sfb_view, true, traits.left_boxes.rows);
  if (traits.right_vector) params.right_sf = encode(sfa_view, sfb_view, false, traits.right_boxes.rows);
  if (!traits.swapped) params.d = encode_tensor_map(d_view(call));
  params.splits = call.args.splits;
  params.sfa = static_cast<const float*>(call.args.a.sf);
  params.sfb = static_cast<const float*>(call.args.b.sf);
  params.d_data = call.args.d;
  params.bias = call.args.bias;
  params.status = static_cast<int*>(call.args.status);
  params.capacity = call.capacity;
  params.d_stride = call.strides.d;
  params.alpha = call.args.alpha;
  params.beta = call.problem.has(Flag::acc) ? call.args.beta : 0.f;
  return params;
}

// As many persistent blocks as fit, but no more clusters than there can be units of work.
std::int64_t grid_blocks(const GemmCall& call) {
  const GemmTraits& traits = call.traits;
  const LoadedKernel& kernel = call.kernel;
  const std::int64_t row_tiles = traits.wgrad ? call.problem.g * ceil_div(call.problem.n, traits.tile_rows)
                                              : ceil_div(call.capacity, traits.tile_rows) + call.problem.g;
  const std::int64_t units =
      row_tiles * ceil_div(ceil_div(traits.d_columns, traits.tile_columns), call.config.cluster_n);
  const std::int64_t resident = usable_blocks(kernel, call.args) / kernel.cluster;
  return std::max<std::int64_t>(1, std::min(units, resident)) * kernel.cluster;
}

}  // namespace

std::int64_t wgmma_workspace_bytes(const Problem& problem) {
  if (!has_maps(problem)) return 0;
  return (is_deepgemm(problem) ? 4 : 2) * kMapBytes * problem.g;
}

void launch_wgmma(const LoadedKernel& kernel, const GemmArgs& args, Stream stream) {
  const Problem& problem = kernel.spec.problem;
  const std::int64_t capacity = checked_capacity(kernel, args.capacity);
  require_layout(kernel, "a", args.a.layout, kernel.a);
  if (!problem.weights_by_pointer || is_wgrad(problem)) require_layout(kernel, "b", args.b.layout, kernel.b);
  if (capacity == 0 && !is_wgrad(problem)) return;
  const InnerExtent inner = inner_extent(problem, capacity);
  require_gemm_arguments(kernel, args, capacity, inner);
  if (has_maps(problem)) require_pointer(kernel, "workspace", args.workspace, 256);
  const auto& config = std::get<GemmConfig>(kernel.spec.config);
  const GemmCall call{
      kernel, problem, config, args, GemmTraits(problem, config), capacity, inner, gemm_strides(problem, args, inner)};
  const LaunchScope scope(kernel, stream);  // encoding tensor maps wants a context too
  abi::GemmParams params = make_params(call);
  if (has_maps(problem)) add_maps(call, params, stream);
  launch_pass(kernel, kernel.kernel, grid_blocks(call), &params, stream, args.programmatic);
}

}  // namespace octet
