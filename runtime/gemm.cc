// Launch of the grouped GEMM.
#include <algorithm>

#include <fmt/format.h>

#include "octet/error.h"
#include "octet/layout.h"
#include "octet/runtime.h"
#include "runtime/gemm_traits.h"
#include "runtime/integers.h"
#include "runtime/launch.h"
#include "runtime/mx_gemm.h"
#include "runtime/portable_gemm.h"
#include "runtime/tensor_map.h"

namespace octet {
namespace {

MapElement map_element(DType type) {
  return type == DType::bf16 ? MapElement::bf16 : type == DType::fp16 ? MapElement::fp16 : MapElement::f32;
}

// A stride in elements, or the length of a row.
std::int64_t checked_stride(const LoadedKernel& kernel, const char* name, std::int64_t stride, std::int64_t columns,
                            int element_bytes) {
  if (stride == 0) return columns;
  if (stride >= columns && stride * element_bytes % 16 == 0) return stride;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("{}: {} is {}; rows of {} elements need at least that, and a multiple of {} for the copy engine",
                  kernel.spec.problem.to_string(), name, stride, columns, 16 / element_bytes));
}

// Whether there is anything to multiply; without it a wgrad still has its zeros to write.
bool has_rows(std::int64_t capacity) { return capacity > 0; }

void require_arguments(const LoadedKernel& kernel, std::int64_t capacity, const GemmArgs& args) {
  const Problem& problem = kernel.spec.problem;
  require_layout(kernel, "a", args.a.layout, kernel.a);
  require_layout(kernel, "b", args.b.layout, kernel.b);
  if (!has_rows(capacity) && problem.op == Operation::gemm) return;  // nothing to read or write
  if (has_rows(capacity)) {
    require_pointer(kernel, "a.data", args.a.data, 16);
    require_pointer(kernel, "a.sf", args.a.sf, problem.a->granularity == Granularity::block_1x128 ? 16 : 4);
    require_pointer(kernel, "b.data", args.b.data, 16);
    require_pointer(kernel, "b.sf", args.b.sf, problem.b->granularity == Granularity::block_1x128 ? 16 : 4);
  }
  require_pointer(kernel, "d", args.d, 16);
  if (problem.layout != Layout::dense) require_splits(kernel, args.splits);
  if (problem.has(Flag::bias)) require_pointer(kernel, "bias", args.bias, size_bytes(*problem.d) * 2);
  if (problem.has(Flag::checked)) require_pointer(kernel, "status", args.status, 16);
}

// Everything that the parameters of one launch are made from.
struct Call {
  const LoadedKernel& kernel;
  const Problem& problem;
  const GemmConfig& config;
  const GemmArgs& args;
  GemmTraits traits;
  std::int64_t capacity;
};

// An operand's rows of FP8. Pointers may be null where there are no rows; a map needs one, and reads nothing through
// it.
MatrixView data_view(const Call& call, const void* data, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                     int box_rows) {
  return {data != nullptr ? data : call.args.d, MapElement::byte, rows, columns, stride, box_rows, 128, true};
}

MatrixView a_view(const Call& call, int box_rows) {
  const std::int64_t columns = call.traits.wgrad ? wgrad_row_length(call.problem, call.capacity) : call.problem.k;
  return data_view(call, call.args.a.data, call.traits.wgrad ? call.problem.n : call.capacity, columns,
                   checked_stride(call.kernel, "a_stride", call.args.a_stride, columns, 1), box_rows);
}

MatrixView b_view(const Call& call, int box_rows) {
  const Problem& problem = call.problem;
  const std::int64_t columns = call.traits.wgrad ? wgrad_row_length(problem, call.capacity) : problem.k;
  return data_view(call, call.args.b.data, call.traits.wgrad ? problem.k : problem.g * problem.n, columns,
                   checked_stride(call.kernel, "b_stride", call.args.b_stride, columns, 1), box_rows);
}

// 1x128 scales: one row for each block of 128 along K, and its length as it lies.
MatrixView vector_view(const Call& call, const void* sf, std::int64_t blocks, std::int64_t columns, int box_rows) {
  return {sf != nullptr ? sf : call.args.d, MapElement::f32, blocks, columns, round_up(columns, 4), 1, box_rows, false};
}

MatrixView sfa_view(const Call& call, int box_rows) {
  const Problem& problem = call.problem;
  const std::int64_t blocks_k = ceil_div(problem.k, 128);
  if (call.traits.wgrad) {
    return vector_view(call, call.args.a.sf, wgrad_blocks(problem, call.capacity), problem.n, box_rows);
  }
  if (call.traits.masked) return vector_view(call, call.args.a.sf, problem.g * blocks_k, problem.m, box_rows);
  return vector_view(call, call.args.a.sf, blocks_k, call.capacity, box_rows);
}

MatrixView sfb_view(const Call& call, int box_rows) {
  const Problem& problem = call.problem;
  const std::int64_t blocks_k = ceil_div(problem.k, 128);
  if (call.traits.wgrad) {
    return vector_view(call, call.args.b.sf, wgrad_blocks(problem, call.capacity), problem.k, box_rows);
  }
  if (problem.dir == Direction::col) {
    return vector_view(call, call.args.b.sf, problem.g * blocks_k, problem.n, box_rows);
  }
  return vector_view(call, call.args.b.sf, blocks_k, problem.g * problem.n, box_rows);
}

MatrixView d_view(const Call& call, std::int64_t stride) {
  MatrixView view{call.args.d, map_element(*call.problem.d),    call.capacity, call.traits.d_columns, stride,
                  64,          128 / call.traits.element_bytes, true};
  if (call.traits.wgrad) {
    view.rows = call.problem.n;
    view.matrices = call.problem.g;
  }
  return view;
}

abi::GemmParams make_params(const Call& call) {
  const GemmTraits& traits = call.traits;
  const auto encode = [&](auto view_of_a, auto view_of_b, bool left, int rows) {
    return encode_tensor_map(left != traits.swapped ? view_of_a(call, rows) : view_of_b(call, rows));
  };
  abi::GemmParams params{};
  params.left = encode(a_view, b_view, true, call.config.block_m);
  params.right = encode(a_view, b_view, false, call.config.block_n);
  if (traits.left_vector) params.left_sf = encode(sfa_view, sfb_view, true, traits.left_boxes.rows);
  if (traits.right_vector) params.right_sf = encode(sfa_view, sfb_view, false, traits.right_boxes.rows);
  params.d_stride = checked_stride(call.kernel, "d_stride", call.args.d_stride, traits.d_columns, traits.element_bytes);
  if (!traits.swapped) params.d = encode_tensor_map(d_view(call, params.d_stride));
  params.splits = call.args.splits;
  params.sfa = static_cast<const float*>(call.args.a.sf);
  params.sfb = static_cast<const float*>(call.args.b.sf);
  params.d_data = call.args.d;
  params.bias = call.args.bias;
  params.status = static_cast<int*>(call.args.status);
  params.capacity = call.capacity;
  params.alpha = call.args.alpha;
  params.beta = call.problem.has(Flag::acc) ? call.args.beta : 0.f;
  return params;
}

// As many persistent blocks as fit, but no more clusters than there can be units of work.
std::int64_t grid_blocks(const Call& call) {
  const GemmTraits& traits = call.traits;
  const LoadedKernel& kernel = call.kernel;
  const std::int64_t row_tiles = traits.wgrad ? call.problem.g * ceil_div(call.problem.n, traits.tile_rows)
                                              : ceil_div(call.capacity, traits.tile_rows) + call.problem.g;
  const std::int64_t units =
      row_tiles * ceil_div(ceil_div(traits.d_columns, traits.tile_columns), call.config.cluster_n);
  const std::int64_t sms =
      call.args.max_sms > 0 ? std::min(call.args.max_sms, kernel.sm_count) : std::int64_t{kernel.sm_count};
  const std::int64_t resident = sms * kernel.blocks_per_sm / kernel.cluster;
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
  if (std::holds_alternative<MxConfig>(kernel.spec.config)) return launch_mx(kernel, args, stream);
  const Problem& problem = kernel.spec.problem;
  const std::int64_t capacity = checked_capacity(kernel, args.capacity);
  require_arguments(kernel, capacity, args);
  if (!has_rows(capacity) && problem.op == Operation::gemm) return;
  const auto& config = std::get<GemmConfig>(kernel.spec.config);
  const LaunchScope scope(kernel, stream);  // encoding tensor maps wants a context too
  const Call call{kernel, problem, config, args, GemmTraits(problem, config), capacity};
  abi::GemmParams params = make_params(call);
  launch_kernel(kernel, grid_blocks(call), &params, stream);
}

}  // namespace octet
