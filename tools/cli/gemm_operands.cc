#include "tools/cli/gemm_operands.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "octet/layout.h"
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

Problem quantizer(const Case& run, const Recipe& recipe) {
  Problem problem;
  problem.op = Operation::quantize;
  problem.g = run.problem.g;
  problem.in = DType::bf16;
  problem.out = recipe;
  return problem;
}

// Buffers keep their NaN in rows outside every group.
void quantize(const Problem& problem, const std::vector<std::uint16_t>& in, const reference::GroupExtents& groups,
              std::int64_t capacity, std::vector<std::uint8_t>& data, std::vector<float>& sf) {
  const QuantizedBytes bytes = quantize_shape(problem, capacity).row;
  data.assign(static_cast<std::size_t>(bytes.data), kNanFp8);
  sf.assign(static_cast<std::size_t>(bytes.sf) / sizeof(float), std::numeric_limits<float>::quiet_NaN());
  reference::QuantizeInputs inputs;
  inputs.in = in.data();
  reference::QuantizeOutputs outputs;
  outputs.data = data.data();
  outputs.sf = sf.data();
  reference::quantize(problem, inputs, groups, capacity, outputs);
}

void quantize_tokens(const Case& run, GemmOperands& operands) {
  Problem problem = quantizer(run, operands.problem.a);
  problem.layout = run.problem.layout;
  problem.c = run.problem.k;
  problem.al = run.problem.al;
  operands.x = reference::random_tokens(run.capacity, problem.c, run.seed);
  quantize(problem, operands.x, run.groups, run.capacity, operands.a, operands.sfa);
}

void quantize_weights(const Case& run, GemmOperands& operands) {
  Problem problem = quantizer(run, operands.problem.b);
  problem.layout = Layout::uniform;
  problem.n = run.problem.n;
  problem.k = run.problem.k;
  operands.w = reference::random_weights(problem.g, problem.n, problem.k, run.seed + 1);
  quantize(problem, operands.w, reference::uniform_extents(problem.g, problem.n), problem.g * problem.n, operands.b,
           operands.sfb);
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
