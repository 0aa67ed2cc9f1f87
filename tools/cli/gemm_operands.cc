#include "tools/cli/gemm_operands.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "octet/reference.h"

namespace octet::cli {
namespace {

constexpr std::uint8_t kNanFp8 = 0x7F;

GemmProblem gemm_problem(const Problem& problem) {
  GemmProblem gemm;
  gemm.layout = problem.layout;
  gemm.groups = problem.g;
  gemm.n = problem.n;
  gemm.k = problem.k;
  gemm.a = problem.a.value_or(gemm.a);
  gemm.b = problem.b.value_or(gemm.b);
  gemm.d = problem.d.value_or(gemm.d);
  gemm.alignment = problem.al;
  gemm.splits = problem.splits;
  return gemm;
}

void quantize_tokens(const Case& run, GemmOperands& operands) {
  QuantizeProblem quantize;
  quantize.layout = run.problem.layout;
  quantize.groups = run.problem.g;
  quantize.columns = run.problem.k;
  quantize.out = operands.problem.a;
  quantize.alignment = run.problem.al;
  operands.x = reference::random_tokens(run.capacity, quantize.columns, run.seed);
  operands.a.assign(operands.x.size(), kNanFp8);  // rows outside every group keep it
  operands.sfa.assign(static_cast<std::size_t>(reference::scale_count(quantize, run.capacity)),
                      std::numeric_limits<float>::quiet_NaN());
  reference::quantize_rows(quantize, operands.x.data(), run.groups, run.capacity, operands.a.data(),
                           operands.sfa.data());
}

void quantize_weights(const Case& run, GemmOperands& operands) {
  QuantizeProblem quantize;
  quantize.layout = Layout::uniform;
  quantize.groups = run.problem.g;
  quantize.rows_per_group = run.problem.n;
  quantize.columns = run.problem.k;
  quantize.out = operands.problem.b;
  operands.w = reference::random_weights(quantize.groups, quantize.rows_per_group, quantize.columns, run.seed + 1);
  operands.b.assign(operands.w.size(), 0);
  operands.sfb.assign(static_cast<std::size_t>(reference::scale_count(quantize)), 0);
  reference::quantize_blocks(quantize, operands.w.data(), operands.b.data(), operands.sfb.data());
}

}  // namespace

GemmOperands make_operands(const Case& run) {
  GemmOperands operands;
  operands.problem = gemm_problem(run.problem);
  quantize_tokens(run, operands);
  quantize_weights(run, operands);
  return operands;
}

int host_threads() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

std::int64_t samples_per_group(const Case& run) {
  const auto groups = static_cast<double>(std::max<std::int64_t>(1, run.problem.g));
  const double samples = kCheckedMacs / (static_cast<double>(run.problem.k) * groups);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(samples), 256, 65536);
}

}  // namespace octet::cli
