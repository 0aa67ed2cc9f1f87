#include "runtime/mx_gemm.h"

#include <algorithm>
#include <utility>

#include "octet/layout.h"
#include "runtime/gemm_args.h"
#include "runtime/gemm_traits.h"
#include "runtime/integers.h"
#include "runtime/launch.h"
#include "runtime/mx_traits.h"
#include "runtime/tensor_map.h"
#include "templates/abi.h"

namespace octet {
namespace {

constexpr int kStageK = 64;  // elements along K of a stage
constexpr int kWorkspaceAlignment = 256;

bool is_direct(const LoadedKernel& kernel) { return std::get<MxConfig>(kernel.spec.config).direct > 0; }

// A as bf16: its rows, and elements from one to the next.
struct Wide {
  std::int64_t rows, stride;
};
Wide wide_of(const Problem& problem, std::int64_t rows, const InnerExtent& inner) {
  if (is_wgrad(problem)) return {std::min(problem.n, problem.k), inner.elements};
  return {rows, round_up(problem.k, 128)};
}

// Pointers may be null where there are no rows; a tensor map needs one, and reads nothing through it.
const void* or_d(const void* pointer, const GemmArgs& args) { return pointer != nullptr ? pointer : args.d; }

// Exchanges A and B where the kernel does.
GemmArgs view_of(const LoadedKernel& kernel, GemmArgs args) {
  if (mx_turns(kernel.spec.problem)) {
    std::swap(args.a, args.b);
  }
  return args;
}

abi::MxGemmParams make_params(const LoadedKernel& kernel, const GemmArgs& original, std::int64_t rows,
                              const InnerExtent& inner, const Wide& wide) {
  const GemmArgs args = view_of(kernel, original);
  const Problem& problem = kernel.spec.problem;
  const auto& config = std::get<MxConfig>(kernel.spec.config);
  const bool wgrad = is_wgrad(problem), turns = mx_turns(problem);
  const std::int64_t left_rows = wgrad ? std::max(problem.n, problem.k) : problem.g * problem.n;
  abi::MxGemmParams params{};
  const GemmStrides strides = gemm_strides(problem, original, inner);
  params.a_stride = turns ? strides.b : strides.a;
  params.b_stride = turns ? strides.a : strides.b;
  params.d_stride = strides.d;
  params.wide_stride = wide.stride;
  params.left = encode_tensor_map({or_d(args.b.data, args), MapElement::byte, left_rows, inner.elements,
                                   params.b_stride, config.block_m, kStageK, false});
  params.right = config.direct > 0 ? encode_tensor_map({or_d(args.a.data, args), MapElement::byte, wide.rows,
                                                        inner.elements, params.a_stride, config.block_n, kStageK, true})
                                   : encode_tensor_map({or_d(args.workspace, args), MapElement::bf16, wide.rows,
                                                        wide.stride, wide.stride, config.block_n, kStageK, true});
  params.a = static_cast<const unsigned char*>(args.a.data);
  params.a_sf = static_cast<const unsigned char*>(args.a.sf);
  params.b = static_cast<const unsigned char*>(args.b.data);
  params.b_sf = static_cast<const unsigned char*>(args.b.sf);
  params.a_wide = config.direct > 0 ? nullptr : static_cast<unsigned short*>(args.workspace);
  params.d = args.d;
  params.splits = args.splits;
  params.bias = args.bias;
  params.status = static_cast<int*>(args.status);
  params.capacity = rows;
  params.alpha = args.alpha;
  params.beta = problem.has(Flag::acc) ? args.beta : 0.f;
  return params;
}

// As many persistent blocks as fit, but no more clusters than there can be units of work.
std::int64_t grid_blocks(const LoadedKernel& kernel, const GemmArgs& args, std::int64_t rows) {
  const Problem problem = mx_view(kernel.spec.problem);
  const auto& config = std::get<MxConfig>(kernel.spec.config);
  const bool wgrad = is_wgrad(problem);
  const std::int64_t row_tiles =
      wgrad ? problem.g * ceil_div(problem.n, config.block_n) : ceil_div(rows, config.block_n) + problem.g;
  const std::int64_t units =
      row_tiles * ceil_div(wgrad ? problem.k : problem.n, std::int64_t{config.block_m} * config.cluster_n);
  const std::int64_t resident = usable_blocks(kernel, args) / kernel.cluster;
  return std::max<std::int64_t>(1, std::min(units, resident)) * kernel.cluster;
}

// Blocks of the pass, whose warps take 16 rows by 128 elements at a time.
std::int64_t pass_blocks(const LoadedKernel& kernel, const GemmArgs& args, const Wide& wide) {
  constexpr int kPerSm = 3;
  const std::int64_t items = (ceil_div(wide.rows, 16) + kernel.spec.problem.g) * (wide.stride / 128);
  return std::clamp<std::int64_t>(ceil_div(items, kernel.threads / 32), 1,
                                  args.max_sms > 0 ? args.max_sms : std::int64_t{kernel.sm_count} * kPerSm);
}

}  // namespace

std::int64_t mx_workspace_bytes(const Problem& problem, const MxConfig& config, std::int64_t capacity) {
  if (config.direct > 0) return 0;
  const std::int64_t rows = buffer_rows(problem, capacity);
  const Wide wide = wide_of(problem, rows, inner_extent(problem, rows));
  return round_up(wide.rows * wide.stride * 2, kWorkspaceAlignment);
}

void launch_mx(const LoadedKernel& kernel, const GemmArgs& args, Stream stream) {
  const std::int64_t rows = checked_capacity(kernel, args.capacity);
  require_layout(kernel, "a", args.a.layout, kernel.a);
  require_layout(kernel, "b", args.b.layout, kernel.b);
  if (rows == 0 && !is_wgrad(kernel.spec.problem)) return;  // nothing to read or write
  const InnerExtent inner = inner_extent(kernel.spec.problem, rows);
  const Wide wide = wide_of(kernel.spec.problem, rows, inner);
  require_gemm_arguments(kernel, args, rows, inner);
  const bool has_pass = rows > 0 && !is_direct(kernel);
  if (has_pass) require_pointer(kernel, "workspace", args.workspace, kWorkspaceAlignment);
  const LaunchScope scope(kernel, stream);  // encoding tensor maps wants a context too
  abi::MxGemmParams params = make_params(kernel, args, rows, inner, wide);
  if (has_pass) {
    launch_pass(kernel, kernel.passes.front(), pass_blocks(kernel, args, wide), &params, stream, args.programmatic);
  }
  // After a pass it may start while the last blocks of that end, and waits before it reads the workspace or writes. The
  // splits it reads at once: the pass itself has waited for whoever made them.
  launch_pass(kernel, kernel.kernel, grid_blocks(kernel, args, rows), &params, stream,
              has_pass || (is_direct(kernel) && args.programmatic));
}

}  // namespace octet
