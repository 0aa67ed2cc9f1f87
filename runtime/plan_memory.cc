#include "runtime/plan_memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "octet/error.h"
#include "octet/layout.h"
#include "runtime/gemm_args.h"
#include "runtime/gemm_traits.h"
#include "runtime/integers.h"
#include "runtime/workspace.h"

namespace octet {
namespace {

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

// Whichever config is chosen.
std::int64_t most_workspace_bytes(const Problem& problem, std::int64_t capacity) {
  if (!is_gemm(problem)) return workspace_bytes(problem, QuantizeConfig{}, capacity_of(problem, capacity));
  const bool is_mx = problem.a->granularity == Granularity::mx_1x32 && !problem.weights_by_pointer;
  return std::max(workspace_bytes(problem, GemmConfig{}, capacity),
                  is_mx ? workspace_bytes(problem, MxConfig{}, capacity) : std::int64_t{0});
}

}  // namespace

std::int64_t tensor_stride(const PlanBytes& bytes) {
  return round_up(bytes.data, kPlanAlignment) + round_up(bytes.sf, kPlanAlignment);
}

std::int64_t most_workspace_bytes(const Plan& plan, PlanPass pass, std::int64_t capacity) {
  std::int64_t most = 0;
  for (const PlanStep& step : plan.steps(pass)) most = std::max(most, most_workspace_bytes(step.problem, capacity));
  return most;
}

std::int64_t rows_of_tokens(const PlanFacts& facts, std::int64_t capacity) {
  return facts.layout == Layout::masked ? facts.groups * facts.max_m : capacity;
}

void require_capacity(const PlanFacts& facts, std::int64_t capacity) {
  constexpr std::int64_t kMostRows = (std::int64_t{1} << 31) - 1024;  // as a launch takes
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::invalid_argument, fmt::format("'{}': capacity is {}{}", facts.to_string(), capacity, why));
  };
  if (capacity < 0 || capacity > kMostRows) refuse(fmt::format("; it must be in [0, {}]", kMostRows));
  if (facts.inference || facts.layout == Layout::masked) return;
  // What a forward writes along columns a wgrad could not read any more.
  const std::int64_t row_length = round_up(capacity, 128) + 128 * facts.groups;
  if (row_length <= kMaxRowLength) return;
  refuse(fmt::format(": with each group in whole 128 rows, more than {}; split the call by groups", kMaxRowLength));
}

PlanBytes Plan::bytes(const PlanBuffer& buffer, std::int64_t capacity) const {
  require_capacity(facts, capacity);
  if (buffer.producer) {
    const QuantizeShape shape = quantize_shape(*buffer.producer, capacity_of(*buffer.producer, capacity));
    const QuantizedBytes& part = buffer.columnwise ? shape.col : shape.row;
    return {part.data, part.sf};
  }
  const std::int64_t rows = buffer.rows > 0 ? buffer.rows : rows_of_tokens(facts, capacity);
  return {rows * buffer.columns * size_bytes(buffer.type), 0};
}

std::int64_t Plan::bytes(PlanRole role, std::int64_t capacity) const {
  require_capacity(facts, capacity);
  if (role != PlanRole::scratch) return role_bytes(*this, role, nullptr, capacity);
  std::int64_t most = 0;
  for (const PlanPass pass : kPlanPasses) {
    most = std::max(most, role_bytes(*this, PlanRole::scratch, &pass, capacity) +
                              round_up(most_workspace_bytes(*this, pass, capacity), kPlanAlignment));
  }
  return most;
}

}  // namespace octet
