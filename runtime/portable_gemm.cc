#include "runtime/portable_gemm.h"

#include <algorithm>

#include <fmt/format.h>

#include "octet/error.h"
#include "octet/layout.h"
#include "runtime/integers.h"
#include "runtime/launch.h"
#include "runtime/portable_traits.h"
#include "templates/abi.h"

namespace octet {
namespace {

bool is_wgrad(const Problem& problem) { return problem.op == Operation::wgrad; }

[[noreturn]] void refuse(const Problem& problem, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", problem.to_string(), what));
}

// Strides of a launch, with what 0 stands for filled in.
struct Strides {
  std::int64_t a, b, d;
};

std::int64_t stride_of(const Problem& problem, const char* name, std::int64_t given, std::int64_t row, int size) {
  if (given == 0) return row;
  if (given < row) refuse(problem, fmt::format("{} is {}, but a row has {} elements", name, given, row));
  if (given * size % 16 != 0) {
    refuse(problem, fmt::format("{} is {}: rows must start at multiples of 16 bytes", name, given));
  }
  return given;
}

Strides strides_of(const Problem& problem, const GemmArgs& args, std::int64_t rows) {
  const bool wgrad = is_wgrad(problem);
  const std::int64_t inner = wgrad ? round_up(rows, 128) + 128 * problem.g : problem.k;
  return {stride_of(problem, "a_stride", args.a_stride, inner, 1),
          stride_of(problem, "b_stride", args.b_stride, inner, 1),
          stride_of(problem, "d_stride", args.d_stride, wgrad ? problem.k : problem.n, size_bytes(*problem.d))};
}

int alignment_of_scales(const OperandLayout& layout) {
  switch (layout.scales) {
    case ScaleLayout::mn_major:
      return 16;
    case ScaleLayout::mx_compact:
    case ScaleLayout::mx_32x32:
    case ScaleLayout::swizzled:
      return 1;
    default:
      return 4;
  }
}

void require_tokens(const LoadedKernel& kernel, const char* data, const char* sf, const Operand& operand) {
  require_pointer(kernel, data, operand.data, 16);
  require_pointer(kernel, sf, operand.sf, alignment_of_scales(operand.layout));
}

void require_pointers(const LoadedKernel& kernel, const char* name, const Pointers& pointers) {
  if ((pointers.host == nullptr) == (pointers.device == nullptr)) {
    refuse(kernel.spec.problem, fmt::format("give one of {0}.host and {0}.device: G pointers", name));
  }
  if (pointers.device != nullptr) require_pointer(kernel, name, pointers.device, 8);
  if (pointers.host == nullptr) return;
  const int alignment = std::string_view(name) == "b_sf" ? 1 : 16;
  for (std::int64_t g = 0; g < kernel.spec.problem.g; ++g) {
    require_pointer(kernel, fmt::format("{}.host[{}]", name, g).c_str(), pointers.host[g], alignment);
  }
}

void require_arguments(const LoadedKernel& kernel, const GemmArgs& args, std::int64_t rows) {
  const Problem& problem = kernel.spec.problem;
  const bool wgrad = is_wgrad(problem), pointers = problem.weights_by_pointer;
  if (rows > 0) require_tokens(kernel, "a.data", "a.sf", args.a);
  if (wgrad) {
    if (rows > 0) require_tokens(kernel, "b.data", "b.sf", args.b);
    pointers ? require_pointers(kernel, "d_data", args.d_data) : require_pointer(kernel, "d", args.d, 16);
  } else {
    if (pointers) {
      require_pointers(kernel, "b_data", args.b_data);
      require_pointers(kernel, "b_sf", args.b_sf);
    } else {
      require_tokens(kernel, "b.data", "b.sf", args.b);
    }
    require_pointer(kernel, "d", args.d, 16);
  }
  if (problem.layout != Layout::dense) require_splits(kernel, args.splits);
  if (problem.has(Flag::bias)) require_pointer(kernel, "bias", args.bias, size_bytes(*problem.d));
  if (problem.has(Flag::checked)) require_pointer(kernel, "status", args.status, 4);
  const bool copies = args.b_data.host != nullptr || args.b_sf.host != nullptr || args.d_data.host != nullptr;
  if (pointers && copies) require_pointer(kernel, "workspace", args.workspace, 256);
}

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

abi::PortableGemmParams make_params(const LoadedKernel& kernel, const GemmArgs& args, std::int64_t rows) {
  const Strides strides = strides_of(kernel.spec.problem, args, rows);
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
  const int sms = args.max_sms > 0 ? std::min(args.max_sms, kernel.sm_count) : kernel.sm_count;
  return std::clamp<std::int64_t>(row_tiles * columns, 1, std::int64_t{sms} * kernel.blocks_per_sm);
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
  require_arguments(kernel, args, rows);
  abi::PortableGemmParams params = make_params(kernel, args, rows);
  const LaunchScope scope(kernel, stream);
  if (kernel.spec.problem.weights_by_pointer) add_pointers(kernel, args, params, stream);
  launch_pass(kernel, kernel.kernel, grid_blocks(kernel, args, rows), &params, stream,
              args.programmatic && has_dependent_launch(kernel.spec.arch));
}

}  // namespace octet
