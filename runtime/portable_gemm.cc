#include "runtime/portable_gemm.h"

#include <algorithm>

#include <fmt/format.h>

#include "octet/error.h"
#include "octet/layout.h"
#include "runtime/gemm_args.h"
#include "runtime/gemm_traits.h"
#include "runtime/integers.h"
#include "runtime/launch.h"
#include "runtime/portable_traits.h"
#include "templates/abi.h"

namespace octet {
namespace {

// Where the kernel finds the pointers; those on the host are written to the workspace's part `index`.
const void* const* place_pointers(const LoadedKernel& kernel, const Pointers& pointers, const GemmArgs& args, int index,
                                  Stream stream) {
  if (pointers.device != nullptr) return pointers.device;
  const std::int64_t groups = kernel.spec.problem.g;
  const void** to = static_cast<const void**>(args.workspace) + index * groups;
  constexpr std::int64_t kAtOnce = std::size(decltype(abi::PointerParams::pointers){});
  for (std::int64_t first = 0; first < groups; first += kAtOnce) {
    abi::PointerParams params{to + first, std::min(kAtOnce, groups - first), {}};
    std::copy_n(pointers.host + first, params.count, params.pointers);
    launch_pass(kernel, kernel.passes.front(), 1, &params, stream);
  }
  return to;
}

abi::PortableGemmParams make_params(const LoadedKernel& kernel, const GemmArgs& args, std::int64_t rows,
                                    const InnerExtent& inner) {
  const GemmStrides strides = gemm_strides(kernel.spec.problem, args, inner);
  abi::PortableGemmParams params{};
  params.a = args.a.data, params.a_sf = args.a.sf;
  params.b = args.b.data, params.b_sf = args.b.sf;
  params.d = args.d;
  params.splits = args.splits;
  params.bias = args.bias;
  params.status = static_cast<int*>(args.status);
  params.capacity = rows;
  params.a_stride = strides.a, params.b_stride = strides.b, params.d_stride = strides.d;
  params.alpha = args.alpha, params.beta = args.beta;
  return params;
}

void add_pointers(const LoadedKernel& kernel, const GemmArgs& args, abi::PortableGemmParams& params, Stream stream) {
  if (is_wgrad(kernel.spec.problem)) {
    const void* const* d = place_pointers(kernel, args.d_data, args, 0, stream);
    params.d_pointers = const_cast<void* const*>(d);
  } else {
    params.b_pointers = place_pointers(kernel, args.b_data, args, 0, stream);
    params.b_sf_pointers = place_pointers(kernel, args.b_sf, args, 1, stream);
  }
}

// As many persistent blocks as fit, but no more than there can be tiles.
std::int64_t grid_blocks(const LoadedKernel& kernel, const GemmArgs& args, std::int64_t rows) {
  const Problem& problem = kernel.spec.problem;
  const auto& config = std::get<PortableConfig>(kernel.spec.config);
  const bool wgrad = is_wgrad(problem);
  const std::int64_t columns = ceil_div(wgrad ? problem.k : problem.n, config.block_n);
  const std::int64_t row_tiles =
      wgrad ? problem.g * ceil_div(problem.n, config.block_m) : ceil_div(rows, config.block_m) + problem.g;
  return std::clamp<std::int64_t>(row_tiles * columns, 1, usable_blocks(kernel, args));
}

}  // namespace

std::int64_t portable_workspace_bytes(const Problem& problem) {
  if (!problem.weights_by_pointer) return 0;
  return problem.g * 8 * (is_wgrad(problem) ? 1 : 2);
}

void launch_portable(const LoadedKernel& kernel, const GemmArgs& args, Stream stream) {
  const std::int64_t rows = checked_capacity(kernel, args.capacity);
  require_layout(kernel, "a", args.a.layout, kernel.a);
  if (!kernel.spec.problem.weights_by_pointer || is_wgrad(kernel.spec.problem)) {
    require_layout(kernel, "b", args.b.layout, kernel.b);
  }
  if (rows == 0 && !is_wgrad(kernel.spec.problem)) return;
  const InnerExtent inner = inner_extent(kernel.spec.problem, rows);
  require_gemm_arguments(kernel, args, rows, inner);
  const bool copies = args.b_data.host != nullptr || args.b_sf.host != nullptr || args.d_data.host != nullptr;
  if (kernel.spec.problem.weights_by_pointer && copies) require_pointer(kernel, "workspace", args.workspace, 256);
  abi::PortableGemmParams params = make_params(kernel, args, rows, inner);
  const LaunchScope scope(kernel, stream);
  if (kernel.spec.problem.weights_by_pointer) add_pointers(kernel, args, params, stream);
  launch_pass(kernel, kernel.kernel, grid_blocks(kernel, args, rows), &params, stream,
              args.programmatic && has_dependent_launch(kernel.spec.arch));
}

}  // namespace octet
