#include "runtime/wgmma_gemm.h"

#include <algorithm>

#include "octet/layout.h"
#include "runtime/integers.h"
#include "runtime/launch.h"
#include "runtime/param_tables.h"
#include "runtime/wgmma_views.h"

namespace octet {
namespace {

bool is_deepgemm(const Problem& problem) { return problem.from == Packing::deepgemm; }
bool has_maps(const Problem& problem) { return problem.weights_by_pointer || is_deepgemm(problem); }

// Tables of [G]: maps of the weights (wgrad: of D), maps of their scales or pointers to them (wgrad: pointers to D),
// and maps of A and B as DeepGEMM packs them.
enum class Table { matrices, beside, a, b };
constexpr std::int64_t kMapBytes = sizeof(abi::TensorMap);

// The parameters as a kernel with tables behind them declares them: maps, then pointers (templates/gemm_tables.cuh).
struct TableParams {
  abi::GemmParams gemm;
  alignas(abi::TensorMap) unsigned char tables[kMostParamBytes - sizeof(abi::GemmParams)];
};

// One launch that makes maps. `params` lies where the kernel expects it, also where no table is in use.
struct MapCall {
  const GemmCall& call;
  TableParams& params;
  Stream stream;

  std::int64_t groups() const { return call.problem.g; }
  void* in_workspace(Table table) const {
    return static_cast<char*>(call.args.workspace) + static_cast<int>(table) * kMapBytes * groups();
  }
  abi::TensorMap* map_behind(Table table) const {
    return reinterpret_cast<abi::TensorMap*>(params.tables) + static_cast<int>(table) * groups();
  }
  const void** pointers_behind() const {
    return reinterpret_cast<const void**>(params.tables + wgmma_tables(call.problem).maps * kMapBytes * groups());
  }
};

// Whether pointers reach the kernel in its parameters, without the pass.
bool lie_behind(const Problem& problem, const Pointers& pointers) {
  return pointers.host != nullptr && tables_fit(problem);
}

bool needs_workspace(const GemmCall& call) {
  const Problem& problem = call.problem;
  if (is_deepgemm(problem)) return true;
  if (is_wgrad(problem)) return !lie_behind(problem, call.args.d_data);
  // An array of pointers to scales on the device is read where it is.
  const bool is_read = !call.traits.weight_vector && call.args.b_sf.device != nullptr;
  return !lie_behind(problem, call.args.b_data) || !(is_read || lie_behind(problem, call.args.b_sf));
}

void launch_maps(const MapCall& maps, abi::MapParams& params) {
  launch_pass(maps.call.kernel, maps.call.kernel.passes.front(), 1, &params, maps.stream);
}

// One map, or one entry of a table, for each group's pointer.
void run_pass(const MapCall& maps, const Pointers& pointers, abi::MapParams& params) {
  params.pointers = pointers.device;
  for (std::int64_t first = 0; first < maps.groups(); first += kPointersPerPass) {
    const std::int64_t count = std::min(kPointersPerPass, maps.groups() - first);
    params.first = static_cast<int>(first);
    params.count = static_cast<int>(count);
    if (pointers.device == nullptr) std::copy_n(pointers.host + first, count, params.values);
    launch_maps(maps, params);
  }
}

// Null: behind the parameters. `base`: all but the address.
const abi::TensorMap* place_maps(const MapCall& maps, const Pointers& pointers, Table table,
                                 const abi::TensorMap& base) {
  if (lie_behind(maps.call.problem, pointers)) {
    abi::TensorMap* behind = maps.map_behind(table);
    for (std::int64_t g = 0; g < maps.groups(); ++g) behind[g] = with_address(base, pointers.host[g]);
    return nullptr;
  }
  abi::MapParams params{};
  params.base = base;
  params.maps = static_cast<abi::TensorMap*>(maps.in_workspace(table));
  run_pass(maps, pointers, params);
  return params.maps;
}

// Where the kernel finds the pointers themselves. Null: behind the parameters.
const void* const* place_table(const MapCall& maps, const Pointers& pointers) {
  if (pointers.device != nullptr || tables_fit(maps.call.problem)) {
    return place_pointers(pointers, maps.groups(), maps.pointers_behind());
  }
  abi::MapParams params{};
  params.table = static_cast<const void**>(maps.in_workspace(Table::beside));
  run_pass(maps, pointers, params);
  return params.table;
}

const abi::TensorMap* place_blocks(const MapCall& maps, const void* data, std::int64_t rows, Table table,
                                   const abi::TensorMap& base) {
  abi::MapParams params{};
  params.base = base;
  params.maps = static_cast<abi::TensorMap*>(maps.in_workspace(table));
  params.count = static_cast<int>(maps.groups());
  params.data = data;
  params.operand_rows = rows;
  params.splits = maps.call.args.splits;
  params.capacity = maps.call.capacity;
  launch_maps(maps, params);
  return params.maps;
}

void add_weight_pointers(const MapCall& maps) {
  const GemmTraits& traits = maps.call.traits;
  const GemmArgs& args = maps.call.args;
  abi::GemmParams& params = maps.params.gemm;
  (traits.swapped ? params.left_maps : params.right_maps) =
      place_maps(maps, args.b_data, Table::matrices, traits.swapped ? params.left : params.right);
  if (traits.weight_vector) {
    params.sf_maps = place_maps(maps, args.b_sf, Table::beside, traits.swapped ? params.left_sf : params.right_sf);
  } else {
    params.pointers = place_table(maps, args.b_sf);
  }
}

void add_maps(const MapCall& maps) {
  const Problem& problem = maps.call.problem;
  const GemmArgs& args = maps.call.args;
  abi::GemmParams& params = maps.params.gemm;
  if (is_deepgemm(problem) && maps.call.capacity > 0) {
    params.left_maps = place_blocks(maps, args.a.data, problem.n, Table::a, params.left);
    params.right_maps = place_blocks(maps, args.b.data, problem.k, Table::b, params.right);
  }
  if (!problem.weights_by_pointer) return;
  if (!is_wgrad(problem)) return add_weight_pointers(maps);
  params.d_maps = place_maps(maps, args.d_data, Table::matrices, params.d);
  if (wgmma_tables(problem).pointers > 0) params.pointers = place_table(maps, args.d_data);
}

void fill(abi::GemmParams& params, const GemmCall& call) {
  const GemmTraits& traits = call.traits;
  const auto encode = [&](auto view_of_a, auto view_of_b, bool left, int rows) {
    return encode_tensor_map(left != traits.swapped ? view_of_a(call, rows) : view_of_b(call, rows));
  };
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

void launch_alone(const GemmCall& call, Stream stream) {
  abi::GemmParams params{};
  fill(params, call);
  launch_pass(call.kernel, call.kernel.kernel, grid_blocks(call), &params, stream, call.args.programmatic);
}

void launch_with_maps(const GemmCall& call, Stream stream) {
  TableParams params{};
  fill(params.gemm, call);
  add_maps({call, params, stream});
  launch_pass(call.kernel, call.kernel.kernel, grid_blocks(call), &params, stream, call.args.programmatic);
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
  const auto& config = std::get<GemmConfig>(kernel.spec.config);
  const GemmCall call{
      kernel, problem, config, args, GemmTraits(problem, config), capacity, inner, gemm_strides(problem, args, inner)};
  if (has_maps(problem) && needs_workspace(call)) require_pointer(kernel, "workspace", args.workspace, 256);
  const LaunchScope scope(kernel, stream);  // encoding tensor maps wants a context too
  has_maps(problem) ? launch_with_maps(call, stream) : launch_alone(call, stream);
}

}  // namespace octet
