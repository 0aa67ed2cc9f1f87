#include "runtime/gemm_args.h"

#include <algorithm>

#include <fmt/format.h>

#include "octet/error.h"
#include "runtime/launch.h"
#include "runtime/quantize_traits.h"

namespace octet {
namespace {

[[noreturn]] void refuse(const Problem& problem, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", problem.to_string(), what));
}

std::int64_t stride_of(const Problem& problem, const char* name, std::int64_t given, std::int64_t row, int size) {
  if (given == 0) return row;
  if (given < row)
    refuse(problem,
           fmt::format("{} is {}, but a row has {} elements; pass that or more, or 0 for no gaps", name, given, row));
  if (given * size % 16 != 0) {
    refuse(problem, fmt::format("{} is {}: rows must start at multiples of 16 bytes", name, given));
  }
  return given;
}

void require_tokens(const LoadedKernel& kernel, const char* data, const char* sf, const Operand& operand) {
  require_pointer(kernel, data, operand.data, 16);
  require_pointer(kernel, sf, operand.sf, alignment_of_scales(operand.layout));
}

void require_pointers(const LoadedKernel& kernel, const char* name, const Pointers& pointers, int alignment) {
  if ((pointers.host == nullptr) == (pointers.device == nullptr)) {
    refuse(kernel.spec.problem, fmt::format("give one of {0}.host and {0}.device: G pointers", name));
  }
  if (pointers.device != nullptr) require_pointer(kernel, name, pointers.device, 8);
  if (pointers.host == nullptr) return;
  for (std::int64_t g = 0; g < kernel.spec.problem.g; ++g) {
    const void* pointer = pointers.host[g];
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    if (pointer != nullptr && address % static_cast<std::uintptr_t>(alignment) == 0)
      continue;  // no text where all is well
    require_pointer(kernel, fmt::format("{}.host[{}]", name, g).c_str(), pointer, alignment);
  }
}

}  // namespace

int alignment_of_scales(const OperandLayout& layout) {
  switch (layout.scales) {
    case ScaleLayout::mn_major:
    case ScaleLayout::col_mn_major:
    case ScaleLayout::per_row:
      return 16;
    case ScaleLayout::mx_compact:
    case ScaleLayout::mx_32x32:
    case ScaleLayout::swizzled:
      return 1;
    default:
      return 4;
  }
}

GemmStrides gemm_strides(const Problem& problem, const GemmArgs& args, const InnerExtent& inner) {
  return {
      stride_of(problem, "a_stride", args.a_stride, inner.elements, 1),
      stride_of(problem, "b_stride", args.b_stride, inner.elements, 1),
      stride_of(problem, "d_stride", args.d_stride, is_wgrad(problem) ? problem.k : problem.n, size_bytes(*problem.d))};
}

void require_gemm_arguments(const LoadedKernel& kernel, const GemmArgs& args, std::int64_t rows,
                            const InnerExtent& inner) {
  const Problem& problem = kernel.spec.problem;
  const bool wgrad = is_wgrad(problem), pointers = problem.weights_by_pointer;
  if (rows > 0) require_tokens(kernel, "a.data", "a.sf", args.a);
  if (wgrad) {
    if (rows > 0) require_tokens(kernel, "b.data", "b.sf", args.b);
    pointers ? require_pointers(kernel, "d_data", args.d_data, 16) : require_pointer(kernel, "d", args.d, 16);
  } else {
    if (pointers) {
      require_pointers(kernel, "b_data", args.b_data, 16);
      require_pointers(kernel, "b_sf", args.b_sf, alignment_of_scales(kernel.b));
    } else {
      require_tokens(kernel, "b.data", "b.sf", args.b);
    }
    require_pointer(kernel, "d", args.d, 16);
  }
  if (has_splits(problem)) require_splits(kernel, args.splits);
  if (problem.has(Flag::bias)) require_pointer(kernel, "bias", args.bias, 16);
  if (problem.has(Flag::checked)) require_pointer(kernel, "status", args.status, 16);
  if (args.max_sms < 0) {
    refuse(problem, fmt::format("max_sms is {}; give 0 for all multiprocessors, or how many", args.max_sms));
  }
  if (wgrad && inner.elements > kMaxRowLength) {
    refuse(problem,
           fmt::format("capacity is {}: with each group in whole 128 rows, more than {}; split the call by groups",
                       rows, kMaxRowLength));
  }
  if (problem.from == Packing::deepgemm && (args.a_stride != 0 || args.b_stride != 0)) {
    refuse(problem, "a_stride and b_stride must be 0 with from=deepgemm, whose blocks have the rows of their groups");
  }
  if (problem.from == Packing::deepgemm && rows % 128 != 0) {
    refuse(problem,
           fmt::format("capacity is {}; DeepGEMM's blocks have multiples of 128 rows, and so has their buffer", rows));
  }
}

std::int64_t usable_blocks(const LoadedKernel& kernel, const GemmArgs& args) {
  const std::int64_t resident = std::int64_t{kernel.sm_count} * kernel.blocks_per_sm;
  return args.max_sms > 0 ? std::min<std::int64_t>(args.max_sms, resident) : resident;
}

}  // namespace octet
