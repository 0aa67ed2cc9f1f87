#include "runtime/plan_rules.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "octet/error.h"
#include "runtime/plan_agreement.h"
#include "runtime/plan_items.h"
#include "runtime/problem_items.h"
#include "runtime/rules.h"

namespace octet {
namespace {

using Keys = std::vector<std::string_view>;

bool contains(const Keys& keys, std::string_view key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); }

Keys needed_items(const PlanFacts& facts) {
  Keys keys = facts.kind == PlanKind::mlp ? Keys{"g", "h", "i", "act="} : Keys{"g", "n", "k"};
  if (facts.layout == Layout::padded) keys.emplace_back("al");
  if (facts.layout == Layout::masked) keys.emplace_back("m");
  return keys;
}

bool belongs(std::string_view key, const PlanFacts& facts) {
  constexpr std::array of_mlp = {"h", "i", "act=", "gate=", "il=", "+probs"};
  constexpr std::array of_linear = {"n", "k"};
  constexpr std::array of_backward = {"dy=", "dw=", "+acc"};
  const auto is_one_of = [key](const auto& keys) { return std::find(keys.begin(), keys.end(), key) != keys.end(); };
  if (is_one_of(of_mlp)) return facts.kind == PlanKind::mlp;
  if (is_one_of(of_linear)) return facts.kind == PlanKind::linear;
  if (is_one_of(of_backward)) return !facts.inference;
  if (key == "al") return facts.layout == Layout::padded;
  if (key == "m") return facts.layout == Layout::masked;
  if (key == "splits=") return facts.layout != Layout::dense;
  if (key == "+noop") return !facts.primary_weights;
  return true;
}

Keys forms_of(const Keys& keys) {
  Keys forms;
  for (const std::string_view key : keys) forms.push_back(form_of(key, plan_items()));
  return forms;
}

Keys missing_items(const PlanFacts& facts) {
  const Keys given = given_items(plan_items(), facts);
  Keys missing;
  for (const std::string_view key : needed_items(facts)) {
    if (!contains(given, key)) missing.push_back(key);
  }
  return forms_of(missing);
}

Keys unused_items(const PlanFacts& facts) {
  Keys unused;
  for (const std::string_view key : given_items(plan_items(), facts)) {
    if (!belongs(key, facts)) unused.push_back(key);
  }
  return forms_of(unused);
}

bool sizes_in_range(const PlanFacts& f) {
  const std::array sizes = {f.groups, f.max_m, f.hidden, f.intermediate, f.n, f.k, f.alignment};
  return std::all_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size >= 0 && size <= kLargestNumber; });
}

// Whoever wrote act=none is told why that does not count.
std::string advice_of_missing(const PlanFacts& facts) {
  const Keys missing = missing_items(facts);
  return fmt::format(
      "add {}{}", fmt::join(missing, " and "),
      contains(missing, "act=<name>") ? "; act=none is no activation: plan two linear layers for that" : "");
}

std::string kind_of(const PlanFacts& facts) {
  return fmt::format("{}.{}{}{}", to_string(facts.kind), to_string(facts.layout), facts.inference ? " +inference" : "",
                     facts.primary_weights ? " +primary" : "");
}

struct Advice {
  std::string got, next;
};
struct PlanRule {
  const char* id;
  const char* why;
  bool (*holds)(const PlanFacts&);
  Advice (*says)(const PlanFacts&);
};

const PlanRule kRules[] = {
    {"plan.layout-of-tokens", "uniform is a layout of weights",
     [](const PlanFacts& f) { return f.layout != Layout::uniform; },
     [](const PlanFacts& f) -> Advice {
       return {kind_of(f), "use packed, padded, masked or dense"};
     }},
    {"plan.sizes-in-range", "sizes are what a plan's text can say", sizes_in_range,
     [](const PlanFacts& f) -> Advice {
       return {fmt::format("a size out of [1, {}] in '{}'", kLargestNumber, f.to_string()),
               "give another, or 0 for none"};
     }},
    {"plan.missing-item", "a plan's kernels are specialized on these",
     [](const PlanFacts& f) { return missing_items(f).empty(); },
     [](const PlanFacts& f) -> Advice {
       return {fmt::format("{} without {}", kind_of(f), fmt::join(missing_items(f), ", ")), advice_of_missing(f)};
     }},
    {"plan.unused-item", "an item without effect is a misunderstanding",
     [](const PlanFacts& f) { return unused_items(f).empty(); },
     [](const PlanFacts& f) -> Advice {
       return {fmt::format("{} does not take {}", kind_of(f), fmt::join(unused_items(f), ", ")), "leave it out"};
     }},
};

constexpr const char* kAgreement = "plan.producer-feeds-consumer";

Refusal refusal_of(const char* rule, const Advice& advice, ErrorCode code) {
  return {rule, fmt::format("{} (rule {}); {}", advice.got, rule, advice.next), code};
}

}  // namespace

std::optional<Refusal> refuse(const PlanFacts& facts) {
  for (const PlanRule& rule : kRules) {
    if (!rule.holds(facts)) return refusal_of(rule.id, rule.says(facts), ErrorCode::invalid_problem);
  }
  return std::nullopt;
}

std::optional<Refusal> refuse(const Plan& plan, const DeviceFacts& device) {
  for (const std::vector<PlanStep>& steps : plan.passes) {
    for (const PlanStep& step : steps) {
      if (std::optional<Refusal> refused = refuse(step.problem, device)) {
        refused->message = fmt::format("step {} '{}': {}", step.name, step.problem.to_string(), refused->message);
        return refused;
      }
    }
  }
  const std::string disagreement = first_disagreement(plan);
  if (disagreement.empty()) return std::nullopt;
  return refusal_of(kAgreement, {disagreement, "make the plan with make_plan"}, ErrorCode::invalid_problem);
}

void throw_refusal(const Refusal& refusal, const PlanFacts& facts) {
  throw Error(refusal.code, fmt::format("'{}': {}", facts.to_string(), refusal.message));
}

std::vector<RuleDescription> plan_rule_descriptions() {
  std::vector<RuleDescription> descriptions;
  for (const PlanRule& rule : kRules) descriptions.push_back({rule.id, "plan", rule.why});
  descriptions.push_back({kAgreement, "plan", "what one step writes is what the next one reads"});
  return descriptions;
}

}  // namespace octet
