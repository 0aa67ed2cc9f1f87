#include "runtime/plan_memory.h"

#include <algorithm>

#include "octet/layout.h"
#include "runtime/gemm_traits.h"
#include "runtime/integers.h"
#include "runtime/workspace.h"

namespace octet {
namespace {

Problem of_tokens(const PlanFacts& facts) {
  Problem problem;
  problem.op = Operation::quantize;
  problem.layout = facts.layout;
  problem.g = facts.groups;
  problem.m = facts.max_m;
  return problem;
}

std::int64_t role_bytes(const Plan& plan, PlanRole role, const PlanPass* pass, std::int64_t capacity) {
  std::int64_t bytes = 0;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.role != role || (pass != nullptr && buffer.pass != *pass)) continue;
    bytes += buffer.tensors * tensor_stride(plan.bytes(buffer, capacity));
  }
  return bytes;
}

// A kernel of weights has the rows that its problem fixes.
std::int64_t capacity_of(const Problem& problem, std::int64_t capacity) {
  return problem.layout == Layout::uniform ? 0 : capacity;
}

}  // namespace

std::int64_t tensor_stride(const PlanBytes& bytes) {
  return round_up(bytes.data, kPlanAlignment) + round_up(bytes.sf, kPlanAlignment);
}

std::int64_t most_workspace_bytes(const Problem& problem, std::int64_t capacity) {
  if (!is_gemm(problem)) return workspace_bytes(problem, QuantizeConfig{}, capacity_of(problem, capacity));
  const bool is_mx = problem.a->granularity == Granularity::mx_1x32 && !problem.weights_by_pointer;
  return std::max(workspace_bytes(problem, GemmConfig{}, capacity),
                  is_mx ? workspace_bytes(problem, MxConfig{}, capacity) : std::int64_t{0});
}

std::int64_t workspace_offset(const Plan& plan, PlanPass pass, std::int64_t capacity) {
  return role_bytes(plan, PlanRole::scratch, &pass, capacity);
}

PlanBytes Plan::bytes(const PlanBuffer& buffer, std::int64_t capacity) const {
  if (buffer.producer) {
    const QuantizeShape shape = quantize_shape(*buffer.producer, capacity_of(*buffer.producer, capacity));
    const QuantizedBytes& part = buffer.columnwise ? shape.col : shape.row;
    return {part.data, part.sf};
  }
  const std::int64_t rows = buffer.rows > 0 ? buffer.rows : buffer_rows(of_tokens(facts), capacity);
  return {rows * buffer.columns * size_bytes(buffer.type), 0};
}

std::int64_t Plan::bytes(PlanRole role, std::int64_t capacity) const {
  if (role != PlanRole::scratch) return role_bytes(*this, role, nullptr, capacity);
  std::int64_t most = 0;
  for (const PlanPass pass : kPlanPasses) {
    std::int64_t workspace = 0;
    for (const PlanStep& step : steps(pass)) {
      workspace = std::max(workspace, most_workspace_bytes(step.problem, capacity));
    }
    most = std::max(most, workspace_offset(*this, pass, capacity) + round_up(workspace, kPlanAlignment));
  }
  return most;
}

}  // namespace octet
