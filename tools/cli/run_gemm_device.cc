// A GEMM on a GPU, judged against the reference: the f64 product of the same quantized operands.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "octet/runtime.h"
#include "tools/cli/execute.h"
#include "tools/cli/gemm_operands.h"

namespace octet::cli {
namespace {

constexpr std::uint8_t kPoison = 0xFF;  // a NaN in every element type, whichever way it is cut

std::vector<std::uint8_t> execute_on_device(const Case& run, const GemmOperands& operands, int ordinal,
                                            const Effort& effort, Execution& execution) {
  const DeviceContext context(ordinal);
  const DeviceStream stream;
  Runtime runtime;
  const Gemm gemm = effort.spec ? runtime.prepare_gemm(*effort.spec, ordinal)
                                : runtime.prepare_gemm(run.problem, {effort.expected_m, ordinal});
  const DeviceBuffer a(operands.a), b(operands.b), sfa(operands.sfa), sfb(operands.sfb);
  const DeviceBuffer splits =
      upload_splits(run.problem.splits, reference::splits_array(run.groups, run.problem.splits.form));
  const DeviceBuffer workspace(gemm.workspace_bytes(run.capacity));
  DeviceBuffer d(static_cast<std::size_t>(run.capacity * run.problem.n * size_bytes(operands.problem.d)));
  d.fill(kPoison, stream.get());
  GemmArgs args;
  args.a = {a.data(), sfa.data(), gemm.a_layout()};
  args.b = {b.data(), sfb.data(), gemm.b_layout()};
  args.d = d.data();
  args.splits = splits.data();
  args.capacity = run.capacity;
  args.workspace = workspace.data();
  execution.times_us = time_on_device(effort.repeat, stream, [&](CUstream on) { gemm.launch(args, on); });
  execution.device = context.name();
  execution.kernel = gemm.spec().name();
  execution.config = to_string(gemm.spec().config);
  execution.compiled = runtime.statistics().compiled != 0;
  return d.download<std::uint8_t>();
}

bool is_nan(const std::uint8_t* element, DType type) {
  if (type == DType::f32) {
    float value = 0;
    std::memcpy(&value, element, sizeof value);
    return std::isnan(value);
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, element, sizeof bits);
  const int infinity = type == DType::fp16 ? 0x7C00 : 0x7F80;
  return (bits & 0x7FFF) > infinity;
}

// Every row, not only sampled ones: rows of groups are written everywhere, all others nowhere.
std::string find_fault(const Case& run, const std::vector<std::uint8_t>& d, DType type) {
  const std::vector<bool> inside = rows_in_groups(run);
  const auto element = static_cast<std::size_t>(size_bytes(type));
  const std::size_t row_bytes = static_cast<std::size_t>(run.problem.n) * element;
  for (std::size_t row = 0; row < inside.size(); ++row) {
    const std::uint8_t* bytes = d.data() + row * row_bytes;
    for (std::size_t i = 0; i < row_bytes; i += element) {
      if (inside[row] && is_nan(bytes + i, type)) return fmt::format("row {} holds NaN at n={}", row, i / element);
    }
    if (!inside[row] && std::any_of(bytes, bytes + row_bytes, [](std::uint8_t byte) { return byte != kPoison; })) {
      return fmt::format("row {} is outside every group, but was written", row);
    }
  }
  return "";
}

Verdict judge_device(const Case& run, const GemmOperands& operands, const std::vector<std::uint8_t>& d) {
  Verdict verdict;
  verdict.measure = "relative Frobenius error against the f64 product of the same operands";
  const DType type = operands.problem.d;
  const double limit = type == DType::bf16 ? 3e-3 : 5e-4;
  const auto errors = reference::compare_gemm(operands.problem, operands.a.data(), operands.sfa.data(),
                                              operands.b.data(), operands.sfb.data(), run.groups, run.capacity,
                                              d.data(), samples_per_group(run), run.seed, host_threads());
  for (std::size_t g = 0; g < errors.size(); ++g) {
    verdict.groups.push_back({errors[g].rows, errors[g].samples, errors[g].frobenius, limit});
    if (verdict.fault.empty() && !reference::within_bounds(errors[g], type) && errors[g].frobenius <= limit) {
      verdict.fault = fmt::format("group {}: the DeepGEMM metric is {:.2e}", g, errors[g].metric);
    }
  }
  if (verdict.fault.empty()) verdict.fault = find_fault(run, d, type);
  return verdict;
}

}  // namespace

Verdict run_gemm_on_device(const Case& run, const GemmOperands& operands, int ordinal, const Effort& effort) {
  Execution execution;
  const std::vector<std::uint8_t> d = execute_on_device(run, operands, ordinal, effort, execution);
  Verdict verdict = judge_device(run, operands, d);
  verdict.execution = execution;
  return verdict;
}

}  // namespace octet::cli
