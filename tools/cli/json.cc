#include "tools/cli/json.h"

#include <fmt/format.h>

namespace octet::cli {
namespace {

Json refusal_json(const std::optional<Refusal>& refusal) {
  if (!refusal) return nullptr;
  return {{"code", to_string(refusal->code)}, {"rule", refusal->rule}, {"message", refusal->message}};
}

Json candidate_json(const Candidate& candidate) {
  Json json = to_json(candidate.spec);
  json["refused"] = refusal_json(candidate.refused);
  json["cost_us"] = candidate.refused ? Json(nullptr) : Json(candidate.cost_us);
  return json;
}

}  // namespace

Json to_json(const Resources& resources) {
  return {{"registers", resources.registers},
          {"spill_store_bytes", resources.spill_store_bytes},
          {"spill_load_bytes", resources.spill_load_bytes},
          {"stack_bytes", resources.stack_bytes},
          {"static_shared_bytes", resources.static_shared_bytes},
          {"dynamic_shared_bytes", resources.dynamic_shared_bytes},
          {"barriers", resources.barriers},
          {"wgmma_serialized", resources.wgmma_serialized}};
}

Json to_json(const Spec& spec) {
  return {{"spec", spec.name()},
          {"problem", spec.problem.to_string()},
          {"config", to_string(spec.config)},
          {"arch", spec.arch}};
}

Json to_json(const Explanation& explanation) {
  Json json = {{"problem", explanation.problem.to_string()},
               {"arch", explanation.device.arch},
               {"sm_count", explanation.device.sm_count},
               {"expected_m", explanation.expected_m},
               {"no_workspace", explanation.no_workspace},
               {"refused", refusal_json(explanation.refused)},
               {"chosen", nullptr},
               {"candidates", Json::array()},
               {"breakpoints", Json::array()}};
  if (explanation.chosen >= 0) {
    json["chosen"] = explanation.candidates.at(static_cast<std::size_t>(explanation.chosen)).spec.name();
  }
  for (const Candidate& candidate : explanation.candidates) json["candidates"].push_back(candidate_json(candidate));
  for (const auto& breakpoint : explanation.breakpoints) {
    json["breakpoints"].push_back({{"from", breakpoint.from}, {"spec", breakpoint.spec_name}});
  }
  return json;
}

void print_json(const Json& document) {
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_text(const std::string& text) { fmt::print("{}{}", text, text.empty() || text.back() != '\n' ? "\n" : ""); }

}  // namespace octet::cli
