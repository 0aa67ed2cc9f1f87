#include "tools/cli/choice.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "octet/error.h"
#include "octet/explain.h"

namespace octet::cli {
namespace {

std::string legal_configs(const std::vector<Candidate>& candidates) {
  std::vector<std::string> texts;
  for (const Candidate& candidate : candidates) {
    if (!candidate.refused) texts.push_back(fmt::format("'{}'", to_string(candidate.spec.config)));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

CLI::Option* add_config(CLI::App& app, std::string& config) {
  return app.add_option("--config", config,
                        "The candidate with this config, as `octet explain` spells it, not the best one");
}

CLI::Option* add_no_workspace(CLI::App& app, bool& no_workspace) {
  return app.add_flag("--no-workspace", no_workspace, "Only kernels that need no workspace");
}

Spec choose_spec(const Problem& problem, const DeviceFacts& facts, const Wish& wish) {
  const std::string& config = wish.config;
  if (config.empty()) return select(problem, facts, wish.expected_m, wish.no_workspace);
  const Explanation explanation = explain(problem, facts, wish.expected_m, wish.no_workspace);
  if (explanation.refused) throw Error(explanation.refused->code, explanation.refused->message);
  for (const Candidate& candidate : explanation.candidates) {
    if (to_string(candidate.spec.config) != config) continue;
    if (!candidate.refused) return candidate.spec;
    throw Error(candidate.refused->code, fmt::format("--config '{}': {}", config, candidate.refused->message));
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("--config '{}': no candidate of '{}' has it; use one of {}", config, problem.to_string(),
                          legal_configs(explanation.candidates)));
}

}  // namespace octet::cli
