// An Explanation as text for people. Programs read the value.
#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "octet/explain.h"
#include "runtime/cost.h"

namespace octet {
namespace {

// Masked groups have at most max_m rows, whatever is said or not.
std::string expected_text(const Problem& problem, std::int64_t expected_m) {
  const bool masked = problem.layout == Layout::masked && problem.m > 0;
  const std::int64_t most = masked ? problem.m : std::numeric_limits<std::int64_t>::max();
  if (expected_m <= 0) return fmt::format("not said, counts as {} rows per group", std::min(kUnknownRows, most));
  const char* limited = expected_m > most ? ", as masked groups have no more" : "";
  return fmt::format("{} rows per group{}", std::min(expected_m, most), limited);
}

// The choice may be a little dearer than the cheapest: select.cc says why.
bool is_cheapest(const Explanation& explanation, std::size_t chosen) {
  return std::none_of(explanation.candidates.begin(), explanation.candidates.end(), [&](const Candidate& candidate) {
    return !candidate.refused && candidate.cost_us < explanation.candidates[chosen].cost_us;
  });
}

std::string candidates_text(const Explanation& explanation) {
  std::size_t width = 0;
  for (const Candidate& candidate : explanation.candidates) {
    if (!candidate.refused) width = std::max(width, to_string(candidate.spec.config).size());
  }
  std::string text;
  for (std::size_t row = 0; row < explanation.candidates.size(); ++row) {
    const Candidate& candidate = explanation.candidates[row];
    if (candidate.refused) continue;
    const bool chosen = static_cast<int>(row) == explanation.chosen;
    text += fmt::format("  {} {:<{}}  {:.1f} us estimated\n", chosen ? '*' : ' ', to_string(candidate.spec.config),
                        width, candidate.cost_us);
  }
  return text.empty() ? text : "candidates (* chosen)\n" + text;
}

// Words between commas, in lines of at most kWidth characters.
std::string list_text(const std::vector<std::string>& words, std::string_view indent) {
  constexpr std::size_t kWidth = 100;
  std::string text, line;
  for (const std::string& word : words) {
    if (!line.empty() && indent.size() + line.size() + 2 + word.size() > kWidth) {
      text += fmt::format("{}{},\n", indent, line);
      line.clear();
    }
    line += (line.empty() ? "" : ", ") + word;
  }
  return text + fmt::format("{}{}\n", indent, line);
}

// Each reason once, with the configs that it removed.
std::string removed_text(const Explanation& explanation) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const Candidate& candidate : explanation.candidates) {
    if (!candidate.refused) continue;
    const std::string& message = candidate.refused->message;
    auto reason =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& other) { return other.first == message; });
    if (reason == reasons.end()) reason = reasons.insert(reasons.end(), {message, {}});
    reason->second.push_back(to_string(candidate.spec.config));
  }
  std::string text;
  for (const auto& [message, configs] : reasons) text += fmt::format("  {}\n{}", message, list_text(configs, "      "));
  return text.empty() ? text : "removed\n" + text;
}

// The config alone: all of one problem's specs share the rest of their names.
std::string config_text(const Explanation& explanation, const std::string& spec_name) {
  const auto found = std::find_if(explanation.candidates.begin(), explanation.candidates.end(),
                                  [&](const Candidate& candidate) { return candidate.spec.name() == spec_name; });
  return found == explanation.candidates.end() ? spec_name : to_string(found->spec.config);
}

std::string breakpoints_text(const Explanation& explanation) {
  std::string text = "choice by expected rows per group\n";
  for (const Explanation::Breakpoint& breakpoint : explanation.breakpoints) {
    text += fmt::format("  from {:>5}  {}\n", breakpoint.from, config_text(explanation, breakpoint.spec_name));
  }
  return text;
}

}  // namespace

std::string to_text(const Explanation& explanation) {
  std::string text = fmt::format("problem   {}\narch      {}, {} multiprocessors\nexpected  {}\n",
                                 explanation.problem.to_string(), explanation.device.arch, explanation.device.sm_count,
                                 expected_text(explanation.problem, explanation.expected_m));
  if (explanation.no_workspace) text += "workspace none\n";
  if (explanation.refused) return text + fmt::format("refused   {}\n", explanation.refused->message);
  text += candidates_text(explanation) + removed_text(explanation);
  if (explanation.chosen < 0) return text + "no candidate is left\n";
  const auto chosen = static_cast<std::size_t>(explanation.chosen);
  text += fmt::format("chosen    {}{}\n", explanation.candidates[chosen].spec.name(),
                      is_cheapest(explanation, chosen) ? "" : ", kept from larger groups: as good within 2 %");
  return text + breakpoints_text(explanation);
}

}  // namespace octet
