// Launch of the grouped GEMM.
#include <algorithm>

#include <fmt/format.h>

#include "octet/error.h"
#include "octet/runtime.h"
#include "runtime/launch.h"
#include "runtime/portable_gemm.h"
#include "runtime/shared_memory.h"
#include "runtime/tensor_map.h"

namespace octet {
namespace {

std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

void require_arguments(const LoadedKernel& kernel, const GemmArgs& args) {
  require_capacity(kernel, args.capacity);
  require_layout(kernel, "a", args.a.layout, kernel.a);
  require_layout(kernel, "b", args.b.layout, kernel.b);
  if (args.capacity == 0) return;  // nothing to read or write
  require_pointer(kernel, "a.data", args.a.data, 16);
  require_pointer(kernel, "a.sf", args.a.sf, 16);
  require_pointer(kernel, "b.data", args.b.data, 16);
  require_pointer(kernel, "b.sf", args.b.sf, 4);
  require_pointer(kernel, "d", args.d, 16);
  require_splits(kernel, args.splits);
}

abi::GemmParams make_params(const Problem& problem, const GemmConfig& config, const GemmArgs& args) {
  const std::int64_t blocks_k = divide_up(problem.k, 128);
  abi::GemmParams params;
  params.a = encode_tensor_map(
      {args.a.data, MapElement::byte, args.capacity, problem.k, problem.k, config.block_m, 128, true});
  params.b = encode_tensor_map(
      {args.b.data, MapElement::byte, problem.g * problem.n, problem.k, problem.k, config.block_n, 128, true});
  params.sfa = encode_tensor_map({args.a.sf, MapElement::f32, blocks_k, args.capacity, divide_up(args.capacity, 4) * 4,
                                  1, scale_boxes(config).rows, false});
  params.d = encode_tensor_map({args.d, MapElement::bf16, args.capacity, problem.n, problem.n, 64, 64, true});
  params.splits = args.splits;
  params.sfb = static_cast<const float*>(args.b.sf);
  params.d_data = args.d;
  params.capacity = args.capacity;
  return params;
}

// As many persistent blocks as fit, but no more clusters than there can be units of work.
std::int64_t grid_blocks(const LoadedKernel& kernel, const Problem& problem, const GemmConfig& config,
                         std::int64_t capacity) {
  const std::int64_t row_tiles = divide_up(capacity, config.block_m) + problem.g;
  const std::int64_t units = row_tiles * divide_up(divide_up(problem.n, config.block_n), config.cluster_n);
  const std::int64_t resident = std::int64_t{kernel.sm_count} * kernel.blocks_per_sm / kernel.cluster;
  return std::max<std::int64_t>(1, std::min(units, resident)) * kernel.cluster;
}

}  // namespace

OperandLayout Gemm::a_layout() const {
  require_loaded(loaded_.get());
  return loaded_->a;
}

OperandLayout Gemm::b_layout() const {
  require_loaded(loaded_.get());
  return loaded_->b;
}

std::string status_text(const std::int32_t (&status)[4]) {
  const auto [code, group, value, limit] = status;
  switch (code) {
    case 0:
      return "";
    case 1:
      return fmt::format("splits[{}] is {}: no size is negative", group, value);
    case 2:
      return fmt::format("splits[{}] is {}, past the {} rows of the buffers (capacity, or max_m of masked)", group,
                         value, limit);
    default:
      return fmt::format("splits[{}] is {}, before {}: ends and starts never go down", group, value, limit);
  }
}

void Gemm::launch(const GemmArgs& args, Stream stream) const {
  require_loaded(loaded_.get());
  const LoadedKernel& kernel = *loaded_;
  if (std::holds_alternative<PortableConfig>(kernel.spec.config)) return launch_portable(kernel, args, stream);
  require_arguments(kernel, args);
  if (args.capacity == 0) return;
  const Problem& problem = kernel.spec.problem;
  const auto& config = std::get<GemmConfig>(kernel.spec.config);
  const LaunchScope scope(kernel, stream);  // encoding tensor maps wants a context too
  abi::GemmParams params = make_params(problem, config, args);
  launch_kernel(kernel, grid_blocks(kernel, problem, config, args.capacity), &params, stream);
}

}  // namespace octet
