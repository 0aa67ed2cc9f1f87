// Launch of the quantizers.
#include <fmt/format.h>

#include <algorithm>

#include "octet/error.h"
#include "octet/runtime.h"
#include "runtime/launch.h"
#include "templates/abi.h"

namespace octet {
namespace {

std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

void require_arguments(const LoadedKernel& kernel, const QuantizeArgs& args) {
  const Problem& problem = kernel.spec.problem;
  const bool weights = problem.layout == Layout::uniform;
  require_capacity(kernel, args.capacity);
  require_layout(kernel, "out", args.out.layout, kernel.out);
  if (weights && args.capacity != 0 && args.capacity != problem.g * problem.n) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: capacity is {}; uniform groups fill their buffer, so pass 0 or G*N = {}",
                            problem.to_string(), args.capacity, problem.g * problem.n));
  }
  if (!weights && args.capacity == 0) return;  // nothing to read or write
  require_pointer(kernel, "in", args.in, 16);
  require_pointer(kernel, "out.data", args.out.data, 16);
  require_pointer(kernel, "out.sf", args.out.sf, 16);
  if (!weights) require_splits(kernel, args.splits);
}

// Units of work that the blocks share: a warp's strips of 8 rows and 256 columns, or a block's 128 x 128 elements.
std::int64_t work_blocks(const LoadedKernel& kernel, std::int64_t capacity) {
  const Problem& problem = kernel.spec.problem;
  if (problem.layout == Layout::uniform) return problem.g * divide_up(problem.n, 128) * divide_up(problem.k, 128);
  const std::int64_t strips = (divide_up(capacity, 8) + problem.g) * divide_up(problem.c, 256);
  return divide_up(strips, kernel.threads / 32);
}

}  // namespace

OperandLayout Quantize::out_layout() const {
  require_loaded(loaded_.get());
  return loaded_->out;
}

void Quantize::launch(const QuantizeArgs& args, Stream stream) const {
  require_loaded(loaded_.get());
  const LoadedKernel& kernel = *loaded_;
  require_arguments(kernel, args);
  if (kernel.spec.problem.layout != Layout::uniform && args.capacity == 0) return;
  const LaunchScope scope(kernel, stream);
  abi::QuantizeParams params{args.in, args.out.data, static_cast<float*>(args.out.sf), args.splits, args.capacity};
  const std::int64_t resident = std::int64_t{kernel.sm_count} * kernel.blocks_per_sm;
  launch_kernel(kernel, std::max<std::int64_t>(1, std::min(work_blocks(kernel, args.capacity), resident)), &params,
                stream);
}

}  // namespace octet
