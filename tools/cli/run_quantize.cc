// A quantizer or an activation on random data. On a GPU it is compared with the reference; the reference itself is
// judged by the formulas.
#include <algorithm>

#include "octet/runtime.h"
#include "tools/cli/elements.h"
#include "tools/cli/execute.h"
#include "tools/cli/quantize_check.h"

namespace octet::cli {
namespace {

QuantizeOutput execute_on_host(const Case& run, const QuantizeShape& shape, const QuantizeInput& input,
                               bool noop = false) {
  QuantizeOutput output = poisoned_output(run, shape);
  reference::quantize(run.problem, input.host(noop), run.groups, run.capacity, output.host());
  return output;
}

// Inputs and poisoned outputs on the device.
class DeviceCase {
 public:
  DeviceCase(const Case& run, const QuantizeShape& shape, const QuantizeInput& input, const Quantize& kernel)
      : in_(input.in), pre_(input.pre), bias_(input.bias), probs_(input.probs), given_(input.given) {
    const QuantizeOutput poisoned = poisoned_output(run, shape);
    data_ = DeviceBuffer(poisoned.data), sf_ = DeviceBuffer(poisoned.sf);
    data_col_ = DeviceBuffer(poisoned.data_col), sf_col_ = DeviceBuffer(poisoned.sf_col);
    d_ = DeviceBuffer(poisoned.d), amax_ = DeviceBuffer(poisoned.amax);
    dprobs_ = DeviceBuffer(poisoned.dprobs), dbias_ = DeviceBuffer(poisoned.dbias);
    if (run.problem.layout != Layout::uniform && run.problem.layout != Layout::dense) {
      splits_ = upload_splits(run.problem.splits, reference::splits_array(run.groups, run.problem.splits.form));
    }
    workspace_ = DeviceBuffer(kernel.workspace_bytes(run.capacity));
    capacity_ = run.capacity;
    row_layout_ = kernel.out_layout();
    col_layout_ = kernel.out_col_layout();
  }

  void set_noop(std::uint32_t value) { noop_ = DeviceBuffer(std::vector<std::uint32_t>{value}); }

  QuantizeArgs args() const {
    QuantizeArgs args;
    args.in = in_.data();
    args.out = {data_.data(), sf_.data(), row_layout_};
    args.splits = splits_.data();
    args.capacity = capacity_;
    args.workspace = workspace_.data();
    args.out_col = {data_col_.data(), sf_col_.data(), col_layout_};
    args.d = d_.data();
    args.pre = pre_.data();
    args.bias = bias_.data();
    args.probs = static_cast<const float*>(probs_.data());
    args.dprobs = static_cast<float*>(dprobs_.data());
    args.dbias = static_cast<float*>(dbias_.data());
    args.amax = static_cast<float*>(amax_.data());
    args.given = static_cast<const float*>(given_.data());
    args.noop = noop_.data();
    return args;
  }

  QuantizeOutput download() const {
    return {data_.download<std::uint8_t>(),   sf_.download<std::uint8_t>(), data_col_.download<std::uint8_t>(),
            sf_col_.download<std::uint8_t>(), d_.download<std::uint8_t>(),  amax_.download<float>(),
            dprobs_.download<float>(),        dbias_.download<float>()};
  }

 private:
  DeviceBuffer in_, pre_, bias_, probs_, given_;
  DeviceBuffer data_, sf_, data_col_, sf_col_, d_, amax_, dprobs_, dbias_;
  DeviceBuffer splits_, workspace_, noop_;
  OperandLayout row_layout_, col_layout_;
  std::int64_t capacity_ = 0;
};

struct Result {
  QuantizeOutput output;
  Execution execution;
  bool noop_wrote = false;  // a launch with its flag set wrote something
};

Result execute_on_device(const Case& run, const QuantizeShape& shape, const QuantizeInput& input, int ordinal,
                         const Effort& effort) {
  const DeviceContext context(ordinal);
  const DeviceStream stream;
  Runtime runtime;
  const Quantize kernel =
      effort.spec ? runtime.prepare_quantize(*effort.spec, ordinal)
                  : runtime.prepare_quantize(run.problem, {effort.expected_m, ordinal, effort.no_workspace});
  DeviceCase buffers(run, shape, input, kernel);
  Result result;
  if (run.problem.has(Flag::noop)) {
    buffers.set_noop(1);
    kernel.launch(buffers.args(), stream.get());
    stream.synchronize();
    result.noop_wrote = !(buffers.download() == poisoned_output(run, shape));
    buffers.set_noop(0);
  }
  const QuantizeArgs args = buffers.args();
  result.execution.times_us = time_on_device(effort.repeat, stream, [&](CUstream on) { kernel.launch(args, on); });
  result.execution.device = context.name();
  result.execution.kernel = kernel.spec().name();
  result.execution.config = to_string(kernel.spec().config);
  result.execution.compiled = runtime.statistics().compiled != 0;
  result.output = buffers.download();
  return result;
}

Result execute_reference(const Case& run, const QuantizeShape& shape, const QuantizeInput& input, int repeat) {
  Result result;
  if (run.problem.has(Flag::noop)) {
    result.noop_wrote = !(execute_on_host(run, shape, input, true) == poisoned_output(run, shape));
  }
  result.execution.device = "reference";
  result.execution.times_us = time_on_host(repeat, [&] { result.output = execute_on_host(run, shape, input); });
  return result;
}

// The reference's own math is f64; without an activation a kernel has nothing to round another way.
Verdict judge_device(const Case& run, const QuantizeShape& shape, const QuantizeInput& input,
                     const QuantizeOutput& output) {
  const QuantizeOutput want = execute_on_host(run, shape, input);
  return run.problem.act == Activation::none ? judge_equality(run, shape, output, want)
                                             : judge_nearness(run, shape, output, want);
}

// Of the rows that exist, each input and each output once; what has no rows (biases, amax) is small.
double bytes_moved(const Case& run, const QuantizeShape& shape) {
  const std::int64_t all = shape.in_bytes + shape.pre_bytes + shape.d_bytes + shape.row.sf + shape.col.sf +
                           shape.probs_bytes * (run.problem.has(Flag::grad) ? 2 : 1);
  const double share = run.capacity == 0 ? 0 : static_cast<double>(run.rows) / static_cast<double>(run.capacity);
  const double fp8 = static_cast<double>(run.rows) * static_cast<double>(shape.out_columns) *
                     ((shape.row.data != 0 ? 1 : 0) + (shape.col.data != 0 ? 1 : 0));
  return static_cast<double>(all) * share + fp8 +
         static_cast<double>(shape.bias_bytes + shape.dbias_bytes + shape.amax_bytes);
}

}  // namespace

Verdict run_quantize(const Case& run, Device device, const Effort& effort) {
  const QuantizeShape shape = quantize_shape(run.problem, run.capacity);
  const QuantizeInput input = make_quantize_input(run, shape);
  const Result result = device ? execute_on_device(run, shape, input, *device, effort)
                               : execute_reference(run, shape, input, effort.repeat);
  Verdict verdict =
      device ? judge_device(run, shape, input, result.output) : judge_formulas(run, shape, input, result.output);
  verdict.execution = result.execution;
  verdict.bytes = bytes_moved(run, shape);
  if (result.noop_wrote) verdict.fault = "with its noop flag set, a launch wrote outputs";
  return verdict;
}

}  // namespace octet::cli
