// Launch of the dequantizers and converters.
#include <fmt/format.h>

#include <algorithm>

#include "octet/layout.h"
#include "octet/runtime.h"
#include "runtime/integers.h"
#include "runtime/launch.h"
#include "runtime/quantize_traits.h"
#include "templates/abi.h"

namespace octet {
namespace {

void require_layouts(const LoadedKernel& kernel, const ConvertArgs& args) {
  require_layout(kernel, "in", args.in.layout, kernel.a);
  if (kernel.spec.problem.op == Operation::convert) require_layout(kernel, "out", args.out.layout, kernel.out);
}

void require_arguments(const LoadedKernel& kernel, const ConvertArgs& args) {
  const Problem& problem = kernel.spec.problem;
  const bool dequantizes = problem.op == Operation::dequantize;
  if (dequantizes) require_pointer(kernel, "d", args.d, 16);
  if (dequantizes || args.out.data != nullptr) require_pointer(kernel, "in.data", args.in.data, 16);
  if (dequantizes || args.out.sf != nullptr) require_pointer(kernel, "in.sf", args.in.sf, 16);
  if (args.out.data != nullptr) require_pointer(kernel, "out.data", args.out.data, 16);
  if (args.out.sf != nullptr) require_pointer(kernel, "out.sf", args.out.sf, 16);
  if (has_splits(problem)) require_splits(kernel, args.splits);
}

}  // namespace

OperandLayout Convert::in_layout() const {
  require_loaded(loaded_.get());
  return loaded_->a;
}

OperandLayout Convert::out_layout() const {
  require_loaded(loaded_.get());
  return loaded_->out;
}

void Convert::launch(const ConvertArgs& args, Stream stream) const {
  require_loaded(loaded_.get());
  const LoadedKernel& kernel = *loaded_;
  const Problem& problem = kernel.spec.problem;
  const std::int64_t capacity = checked_capacity(kernel, args.capacity);
  require_layouts(kernel, args);
  const bool converts = problem.op == Operation::convert;
  const bool asks = !converts || args.out.data != nullptr || args.out.sf != nullptr;
  if (capacity == 0 || !asks) return;  // nothing to read or write
  require_arguments(kernel, args);
  const QuantizeShape shape = quantize_shape(problem, capacity);
  abi::ConvertParams params{args.in.data, args.in.sf,  args.out.data, args.out.sf,
                            args.d,       args.splits, capacity,      shape.ld_col};
  const std::int64_t tiles = shape.row_blocks * ceil_div(shape.out_columns, 128);
  const std::int64_t resident = std::int64_t{kernel.sm_count} * kernel.blocks_per_sm;
  const LaunchScope scope(kernel, stream);
  launch_kernel(kernel, std::clamp<std::int64_t>(tiles, 1, resident), &params, stream);
}

}  // namespace octet
