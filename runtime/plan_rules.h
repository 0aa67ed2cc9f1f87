// Rules of plans: what facts go together, and that what one step writes is what the next one reads.
#pragma once

#include <optional>
#include <vector>

#include "octet/explain.h"
#include "octet/plan.h"

namespace octet {

// The first rule that says no; empty when all hold. Pure functions.
std::optional<Refusal> refuse(const PlanFacts& facts);
// Of a plan whose facts are fine: each step's problem by the rule table, then every buffer by both of its ends.
std::optional<Refusal> refuse(const Plan& plan, const DeviceFacts& device);

// Error with the refusal's code and message, and the plan's line.
[[noreturn]] void throw_refusal(const Refusal& refusal, const PlanFacts& facts);

// For the table that rule_descriptions() returns.
std::vector<RuleDescription> plan_rule_descriptions();

}  // namespace octet
