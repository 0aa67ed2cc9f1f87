// The rule table: named predicates that say which problems and configs are legal, and why the others are not.
#pragma once

#include <optional>

#include "octet/device.h"
#include "octet/explain.h"
#include "octet/problem.h"
#include "octet/spec.h"

namespace octet {

// The first rule of the table that says no; empty when all hold. Pure functions.
std::optional<Refusal> refuse(const Problem& problem, const DeviceFacts& device);
// The problem's rules, then the config's. For a spec that the caller made, as well as for candidates.
std::optional<Refusal> refuse(const Spec& spec, const DeviceFacts& device);

// Error with the refusal's code and message, and the command that explains more.
[[noreturn]] void throw_refusal(const Refusal& refusal, const Problem& problem);

}  // namespace octet
