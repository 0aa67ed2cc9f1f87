// octet plan: the kernels of a layer of experts and how they fit together, as text, JSON or a picture.
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "octet/plan.h"
#include "tools/cli/command.h"
#include "tools/cli/json.h"
#include "tools/cli/numbers.h"

namespace octet::cli {
namespace {

struct Request {
  std::string plan;
  Target target;
  std::optional<std::int64_t> capacity;
  bool dot = false, mermaid = false, json = false;
};

Json buffer_json(const Plan& plan, const PlanBuffer& buffer, std::optional<std::int64_t> capacity) {
  Json json = {{"name", buffer.name}, {"role", to_string(buffer.role)}, {"type", to_string(buffer.type)}};
  if (buffer.producer) {
    json["recipe"] = to_string(*buffer.producer->out);
    json["layout"] = to_string(buffer.layout);
  } else {
    json["rows"] = buffer.rows > 0 ? Json(buffer.rows) : Json(nullptr);
  }
  json["columns"] = buffer.columns;
  json["tensors"] = buffer.tensors;
  if (capacity) {
    const PlanBytes bytes = plan.bytes(buffer, *capacity);
    json["data_bytes"] = bytes.data;
    json["sf_bytes"] = bytes.sf;
  }
  return json;
}

Json step_json(const Plan& plan, const PlanStep& step) {
  Json arguments = Json::object();
  for (std::size_t i = 0; i < kPlanArguments; ++i) {
    if (step.buffers[i] < 0) continue;
    arguments[to_string(static_cast<PlanArgument>(i))] = plan.buffers[static_cast<std::size_t>(step.buffers[i])].name;
  }
  return {{"name", step.name}, {"problem", step.problem.to_string()}, {"arguments", arguments}};
}

Json to_json(const Plan& plan, std::optional<std::int64_t> capacity) {
  Json json = {{"plan", plan.facts.to_string()}, {"buffers", Json::array()}, {"passes", Json::object()}};
  for (const PlanBuffer& buffer : plan.buffers) json["buffers"].push_back(buffer_json(plan, buffer, capacity));
  for (const PlanPass pass : kPlanPasses) {
    Json steps = Json::array();
    for (const PlanStep& step : plan.steps(pass)) steps.push_back(step_json(plan, step));
    json["passes"][to_string(pass)] = steps;
  }
  if (!capacity) return json;
  for (const PlanRole role : {PlanRole::quantized_weights, PlanRole::saved, PlanRole::deferred, PlanRole::scratch}) {
    json["bytes"][to_string(role)] = plan.bytes(role, *capacity);
  }
  return json;
}

int print_plan(const Request& request) {
  const Plan plan = make_plan(PlanFacts::parse(request.plan), request.target.facts());
  if (request.json) {
    print_json(to_json(plan, request.capacity));
  } else if (request.dot) {
    print_text(to_dot(plan));
  } else if (request.mermaid) {
    print_text(to_mermaid(plan));
  } else {
    print_text(to_string(plan, request.capacity));
  }
  return kSuccess;
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  const auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("plan", "Show the kernels of a layer of experts, chosen together");
  command->add_option("plan", request->plan, "A plan, in quotes: 'mlp.packed g8 h7168 i2048 act=swiglu'")->required();
  CLI::Option* capacity =
      require_whole(command->add_option("--capacity", request->capacity, "Say bytes for this many rows"), 0);
  add_target(*command, request->target);
  CLI::Option* dot = command->add_flag("--dot", request->dot, "Print a Graphviz graph")->excludes(capacity);
  CLI::Option* mermaid =
      command->add_flag("--mermaid", request->mermaid, "Print a Mermaid flowchart")->excludes(capacity)->excludes(dot);
  command->add_flag("--json", request->json, "Print JSON")->excludes(dot)->excludes(mermaid);
  command->callback([&action, request] { action = [request] { return print_plan(*request); }; });
}

}  // namespace octet::cli
