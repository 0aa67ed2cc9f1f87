// A quantizer on random data. On a GPU it must equal the reference bit for bit. The reference itself is judged by what
// rounding to the nearest FP8 value and dividing by the block's maximum must give.
#include <algorithm>
#include <cstring>

#include "octet/runtime.h"
#include "tools/cli/execute.h"
#include "tools/cli/quantize_check.h"

namespace octet::cli {
namespace {

constexpr std::uint16_t kNanBf16 = 0x7FC0;

// NaN in every row that belongs to no group: what uses it shows.
std::vector<std::uint16_t> make_input(const Case& run) {
  const std::int64_t c = columns(run);
  if (is_uniform(run)) return reference::random_weights(run.problem.g, run.problem.n, c, run.seed);
  std::vector<std::uint16_t> in = reference::random_tokens(run.capacity, c, run.seed);
  const std::vector<bool> inside = rows_in_groups(run);
  for (std::int64_t row = 0; row < run.capacity; ++row) {
    if (!inside[static_cast<std::size_t>(row)]) std::fill_n(in.begin() + row * c, c, kNanBf16);
  }
  return in;
}

QuantizeOutput poisoned_output(const Case& run) {
  QuantizeOutput out;
  out.data.assign(static_cast<std::size_t>(run.capacity * columns(run)), kOutputPoison);
  out.sf.resize(static_cast<std::size_t>(reference::scale_count(quantize_problem(run), run.capacity)));
  std::memset(out.sf.data(), kOutputPoison, out.sf.size() * sizeof(float));
  return out;
}

QuantizeOutput execute_on_host(const Case& run, const std::vector<std::uint16_t>& in) {
  QuantizeOutput out = poisoned_output(run);
  const QuantizeProblem problem = quantize_problem(run);
  if (is_uniform(run)) {
    reference::quantize_blocks(problem, in.data(), out.data.data(), out.sf.data());
  } else {
    reference::quantize_rows(problem, in.data(), run.groups, run.capacity, out.data.data(), out.sf.data());
  }
  return out;
}

QuantizeOutput execute_on_device(const Case& run, const std::vector<std::uint16_t>& host_in, int ordinal,
                                 const Effort& effort, Execution& execution) {
  const DeviceContext context(ordinal);
  const DeviceStream stream;
  Runtime runtime;
  const Quantize quantize = effort.spec ? runtime.prepare_quantize(*effort.spec, ordinal)
                                        : runtime.prepare_quantize(run.problem, {effort.expected_m, ordinal});
  const QuantizeOutput poisoned = poisoned_output(run);
  const DeviceBuffer in(host_in), data(poisoned.data), sf(poisoned.sf);
  const DeviceBuffer splits =
      is_uniform(run) ? DeviceBuffer()
                      : upload_splits(run.problem.splits, reference::splits_array(run.groups, run.problem.splits.form));
  const DeviceBuffer workspace(quantize.workspace_bytes(run.capacity));
  QuantizeArgs args;
  args.in = in.data();
  args.out = {data.data(), sf.data(), quantize.out_layout()};
  args.splits = splits.data();
  args.capacity = run.capacity;
  args.workspace = workspace.data();
  execution.times_us = time_on_device(effort.repeat, stream, [&](CUstream on) { quantize.launch(args, on); });
  execution.device = context.name();
  execution.kernel = quantize.spec().name();
  execution.config = to_string(quantize.spec().config);
  execution.compiled = runtime.statistics().compiled != 0;
  return {data.download<std::uint8_t>(), sf.download<float>()};
}

}  // namespace

Verdict run_quantize(const Case& run, Device device, const Effort& effort) {
  const std::vector<std::uint16_t> in = make_input(run);
  Execution execution;
  QuantizeOutput out;
  if (device) {
    out = execute_on_device(run, in, *device, effort, execution);
  } else {
    execution.device = "reference";
    execution.times_us = time_on_host(effort.repeat, [&] { out = execute_on_host(run, in); });
  }
  Verdict verdict = device ? judge_equality(run, out, execute_on_host(run, in)) : judge_rounding(run, in, out);
  verdict.execution = execution;
  if (verdict.fault.empty()) verdict.fault = find_written_tail(run, out);
  const auto elements = static_cast<double>(run.rows) * static_cast<double>(columns(run));
  const double scales = elements / (is_uniform(run) ? 128 * 128 : 128);
  verdict.bytes = elements * 3 + scales * 4;  // bf16 in, FP8 out
  return verdict;
}

}  // namespace octet::cli
