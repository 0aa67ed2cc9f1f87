#include "runtime/portable_gemm.h"

#include <algorithm>

#include <fmt/format.h>

#include "octet/error.h"
#include "octet/layout.h"
#include "runtime/gemm_args.h"
#include "runtime/gemm_traits.h"
#include "runtime/integers.h"
#include "runtime/launch.h"
#include "runtime/param_tables.h"
#include "runtime/portable_traits.h"
#include "runtime/rules.h"
#include "templates/abi.h"

namespace octet {
namespace {

// The parameters as a kernel with w=pointers declares them (templates/gemm_portable.cu).
struct TableParams {
  abi::PortableGemmParams gemm;
  const void* pointers[2 * kMaxGroups];
};

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

void add_pointers(const Problem& problem, const GemmArgs& args, TableParams& params) {
  if (is_wgrad(problem)) {
    params.gemm.d_pointers = place_pointers(args.d_data, problem.g, params.pointers);
  } else {
    params.gemm.b_pointers = place_pointers(args.b_data, problem.g, params.pointers);
    params.gemm.b_sf_pointers = place_pointers(args.b_sf, problem.g, params.pointers + problem.g);
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

void launch_portable(const LoadedKernel& kernel, const GemmArgs& args, Stream stream) {
  const std::int64_t rows = checked_capacity(kernel, args.capacity);
  require_layout(kernel, "a", args.a.layout, kernel.a);
  if (!kernel.spec.problem.weights_by_pointer || is_wgrad(kernel.spec.problem)) {
    require_layout(kernel, "b", args.b.layout, kernel.b);
  }
  if (rows == 0 && !is_wgrad(kernel.spec.problem)) return;
  const InnerExtent inner = inner_extent(kernel.spec.problem, rows);
  require_gemm_arguments(kernel, args, rows, inner);
  const LaunchScope scope(kernel, stream);
  const std::int64_t blocks = grid_blocks(kernel, args, rows);
  const bool programmatic = args.programmatic && has_dependent_launch(kernel.spec.arch);
  abi::PortableGemmParams params = make_params(kernel, args, rows, inner);
  if (!kernel.spec.problem.weights_by_pointer) {
    return launch_pass(kernel, kernel.kernel, blocks, &params, stream, programmatic);
  }
  TableParams with_tables{params, {}};
  add_pointers(kernel.spec.problem, args, with_tables);
  launch_pass(kernel, kernel.kernel, blocks, &with_tables, stream, programmatic);
}

}  // namespace octet
