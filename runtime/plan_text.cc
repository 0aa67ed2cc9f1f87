// A plan as text: its facts, buffers and steps.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "octet/plan.h"
#include "runtime/plan_memory.h"
#include "runtime/words.h"

namespace octet {
namespace {

constexpr Word<PlanRole> kRoles[] = {{"input", PlanRole::input},    {"weight", PlanRole::weight},
                                     {"output", PlanRole::output},  {"quantized_weights", PlanRole::quantized_weights},
                                     {"saved", PlanRole::saved},    {"deferred", PlanRole::deferred},
                                     {"scratch", PlanRole::scratch}};
constexpr Word<PlanPass> kPasses[] = {{"quantize_weights", PlanPass::quantize_weights},
                                      {"forward", PlanPass::forward},
                                      {"backward_data", PlanPass::backward_data},
                                      {"backward_weights", PlanPass::backward_weights}};
constexpr Word<PlanArgument> kArguments[] = {
    {"a", PlanArgument::a},       {"b", PlanArgument::b},           {"in", PlanArgument::in},
    {"pre", PlanArgument::pre},   {"bias", PlanArgument::bias},     {"probs", PlanArgument::probs},
    {"noop", PlanArgument::noop}, {"out", PlanArgument::out},       {"out_col", PlanArgument::out_col},
    {"d", PlanArgument::d},       {"dprobs", PlanArgument::dprobs}, {"dbias", PlanArgument::dbias}};

std::string shape_of(const PlanBuffer& buffer) {
  std::string shape;
  if (buffer.producer) {
    shape = fmt::format("{} {}", to_string(*buffer.producer->out), to_string(buffer.layout));
  } else if (buffer.rows > 0) {
    shape = fmt::format("{} [{}, {}]", to_string(buffer.type), buffer.rows, buffer.columns);
  } else {
    shape = fmt::format("{} [rows, {}]", to_string(buffer.type), buffer.columns);
  }
  return buffer.tensors > 1 ? fmt::format("{} x {}", buffer.tensors, shape) : shape;
}

std::string buffer_line(const Plan& plan, const PlanBuffer& buffer, std::optional<std::int64_t> capacity) {
  std::string line = fmt::format("  {:<10}  {:<17}  {}", buffer.name, to_string(buffer.role), shape_of(buffer));
  if (!capacity) return line + "\n";
  const PlanBytes bytes = plan.bytes(buffer, *capacity);
  line = fmt::format("{:<72}  {:>12}", line, buffer.tensors * bytes.data);
  return bytes.sf > 0 ? fmt::format("{} + {}\n", line, buffer.tensors * bytes.sf) : line + "\n";
}

std::string step_line(const Plan& plan, const PlanStep& step) {
  std::string line = fmt::format("  {:<12}  {}\n               ", step.name, step.problem.to_string());
  for (const Word<PlanArgument>& argument : kArguments) {
    const int buffer = step.buffer(argument.value);
    if (buffer < 0) continue;
    line += fmt::format(" {}={}", argument.text, plan.buffers[static_cast<std::size_t>(buffer)].name);
  }
  return line + "\n";
}

std::string totals(const Plan& plan, std::int64_t capacity) {
  std::string text = fmt::format("bytes with room for {} rows\n", rows_of_tokens(plan.facts, capacity));
  for (const PlanRole role : {PlanRole::quantized_weights, PlanRole::saved, PlanRole::deferred, PlanRole::scratch}) {
    text += fmt::format("  {:<17}  {:>14}\n", to_string(role), plan.bytes(role, capacity));
  }
  return text;
}

}  // namespace

const char* to_string(PlanRole role) noexcept { return text_of(kRoles, role); }
const char* to_string(PlanPass pass) noexcept { return text_of(kPasses, pass); }
const char* to_string(PlanArgument argument) noexcept { return text_of(kArguments, argument); }

bool is_written(PlanArgument argument) noexcept { return argument >= PlanArgument::out; }

std::string to_string(const Plan& plan, std::optional<std::int64_t> capacity) {
  std::string text = fmt::format("{}\nbuffers\n", plan.facts.to_string());
  for (const PlanBuffer& buffer : plan.buffers) text += buffer_line(plan, buffer, capacity);
  for (const PlanPass pass : kPlanPasses) {
    if (plan.steps(pass).empty()) continue;
    text += fmt::format("{}\n", to_string(pass));
    for (const PlanStep& step : plan.steps(pass)) text += step_line(plan, step);
  }
  return capacity ? text + totals(plan, *capacity) : text;
}

}  // namespace octet
