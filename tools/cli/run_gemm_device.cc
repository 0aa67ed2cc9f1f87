// A GEMM on a GPU, judged against the reference: the f64 product of the same quantized operands.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "octet/runtime.h"
#include "tools/cli/elements.h"
#include "tools/cli/execute.h"
#include "tools/cli/gemm_operands.h"

namespace octet::cli {
namespace {

// What a launch reads and writes, on the device.
class DeviceGemm {
 public:
  DeviceGemm(const Case& run, const GemmOperands& operands, const Gemm& gemm)
      : run_(run),
        a_(operands.a),
        a_sf_(operands.a_sf),
        bias_(operands.bias),
        workspace_(gemm.workspace_bytes(run.capacity)),
        d_(operands.old_d) {
    if (run.problem.layout != Layout::dense)
      splits_ = upload_splits(run.problem.splits, reference::splits_array(run.groups, run.problem.splits.form));
    if (operands.b_groups.empty()) b_ = DeviceBuffer(operands.b), b_sf_ = DeviceBuffer(operands.b_sf);
    args_.a = {a_.data(), a_sf_.data(), gemm.a_layout()};
    args_.b = {b_.data(), b_sf_.data(), gemm.b_layout()};
    args_.d = d_.data();
    args_.splits = splits_.data();
    args_.capacity = run.capacity;
    args_.workspace = workspace_.data();
    args_.bias = bias_.data();
    args_.alpha = operands.alpha;
    args_.status = status_.data();
    if (run.problem.has(Flag::checked)) status_.upload(std::vector<std::int32_t>(4, 0));
    if (run.problem.weights_by_pointer) use_pointers(operands);
  }

  const GemmArgs& args() const { return args_; }
  // D after one launch on what D holds before any.
  std::vector<std::uint8_t> once(const Gemm& gemm, const GemmOperands& operands, const DeviceStream& stream) {
    d_.upload(operands.old_d);
    gemm.launch(args_, stream.get());
    stream.synchronize();
    return d_.download<std::uint8_t>();
  }
  // What a checked launch found wrong with the splits.
  std::string complaint() const {
    if (!run_.problem.has(Flag::checked)) return "";
    const auto words = status_.download<std::int32_t>();
    return status_text({words[0], words[1], words[2], words[3]});
  }

 private:
  void use_pointers(const GemmOperands& operands) {
    if (run_.problem.op == Operation::wgrad) {
      // The groups' tensors lie end to end all the same.
      const std::size_t groups = at(run_.problem.g), bytes = d_.size_bytes() / groups;
      for (std::size_t g = 0; g < groups; ++g) d_groups_.push_back(static_cast<const char*>(d_.data()) + g * bytes);
      args_.d = nullptr;
      args_.d_data.host = d_groups_.data();
      return;
    }
    for (const GroupOfB& group : operands.b_groups) {
      b_groups_.push_back(own_.emplace_back(group.data).data());
      b_sf_groups_.push_back(own_.emplace_back(group.sf).data());
    }
    args_.b.data = args_.b.sf = nullptr;
    args_.b_data.host = b_groups_.data();
    args_.b_sf.host = b_sf_groups_.data();
  }

  const Case& run_;
  DeviceBuffer a_, a_sf_, b_, b_sf_, bias_, workspace_, d_, splits_;
  DeviceBuffer status_{16};
  std::vector<DeviceBuffer> own_;  // w=pointers: data and scales of each group of B
  std::vector<const void*> b_groups_, b_sf_groups_, d_groups_;
  GemmArgs args_;
};

std::vector<std::uint8_t> execute_on_device(const Case& run, const GemmOperands& operands, int ordinal,
                                            const Effort& effort, Execution& execution, std::string& fault) {
  const DeviceContext context(ordinal);
  const DeviceStream stream;
  Runtime runtime;
  const Gemm gemm = effort.spec ? runtime.prepare_gemm(*effort.spec, ordinal)
                                : runtime.prepare_gemm(run.problem, {effort.expected_m, ordinal, effort.no_workspace});
  DeviceGemm device(run, operands, gemm);
  execution.times_us = time_on_device(effort.repeat, stream, [&](CUstream on) { gemm.launch(device.args(), on); });
  execution.device = context.name();
  execution.kernel = gemm.spec().name();
  execution.config = to_string(gemm.spec().config);
  execution.compiled = runtime.statistics().compiled != 0;
  std::vector<std::uint8_t> d = device.once(gemm, operands, stream);
  fault = device.complaint();
  return d;
}

// Of each row of D whether a group owns it.
std::vector<bool> rows_owned(const Case& run) {
  if (run.problem.op == Operation::wgrad) return std::vector<bool>(at(d_rows(run)), true);
  return rows_in_groups(run);
}

// Every row, not only sampled ones: rows of groups are written everywhere, all others nowhere.
std::string find_fault(const Case& run, const std::vector<std::uint8_t>& d) {
  const DType type = type_of_d(run);
  const std::vector<bool> owned = rows_owned(run);
  const std::int64_t columns = d_columns(run), row_bytes = columns * size_bytes(type);
  for (std::size_t row = 0; row < owned.size(); ++row) {
    const auto first = static_cast<std::int64_t>(row) * columns;
    for (std::int64_t i = 0; owned[row] && i < columns; ++i) {
      if (std::isnan(element_at(d, type, first + i))) return fmt::format("row {} of D holds NaN at {}", row, i);
    }
    const auto bytes = d.begin() + static_cast<std::int64_t>(row) * row_bytes;
    if (!owned[row] && std::any_of(bytes, bytes + row_bytes, [](std::uint8_t byte) { return byte != kPoison; })) {
      return fmt::format("row {} is outside every group, but was written", row);
    }
  }
  return "";
}

Verdict judge_device(const Case& run, const GemmOperands& operands, const std::vector<std::uint8_t>& d) {
  Verdict verdict;
  verdict.measure = "relative Frobenius error against the f64 product of the same operands";
  const DType type = type_of_d(run);
  const double limit = type == DType::bf16 ? 3e-3 : 5e-4;
  const auto errors = reference::compare_gemm(run.problem, operands.host(), run.groups, run.capacity, d.data(),
                                              operands.old_d.data(), samples_per_group(run), run.seed, host_threads());
  for (std::size_t g = 0; g < errors.size(); ++g) {
    verdict.groups.push_back({errors[g].rows, errors[g].samples, errors[g].frobenius, limit});
    if (verdict.fault.empty() && !reference::within_bounds(errors[g], type) && errors[g].frobenius <= limit) {
      verdict.fault = fmt::format("group {}: the DeepGEMM metric is {:.2e}", g, errors[g].metric);
    }
  }
  if (verdict.fault.empty()) verdict.fault = find_fault(run, d);
  return verdict;
}

}  // namespace

Verdict run_gemm_on_device(const Case& run, const GemmOperands& operands, int ordinal, const Effort& effort) {
  Execution execution;
  std::string fault;
  const std::vector<std::uint8_t> d = execute_on_device(run, operands, ordinal, effort, execution, fault);
  Verdict verdict = judge_device(run, operands, d);
  verdict.execution = execution;
  if (!fault.empty()) verdict.fault = fault;
  return verdict;
}

}  // namespace octet::cli
