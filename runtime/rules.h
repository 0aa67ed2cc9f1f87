// The rule table: named predicates that say which problems and configs are legal, and why the others are not.
#pragma once

#include <cstdint>
#include <optional>

#include "octet/device.h"
#include "octet/explain.h"
#include "octet/problem.h"
#include "octet/spec.h"

namespace octet {

// Of a problem; launches have room for as many on the stack.
inline constexpr std::int64_t kMaxGroups = 1024;

// The first rule of the table that says no; empty when all hold. Pure functions.
std::optional<Refusal> refuse(const Problem& problem, const DeviceFacts& device);
// The rules of configs alone, for a problem that is known to be legal on this device.
// `no_workspace`: as in Hints.
std::optional<Refusal> refuse_config(const Problem& problem, const Config& config, const DeviceFacts& device,
                                     bool no_workspace = false);
// Both, for a spec that the caller made. The arch is the spec's.
std::optional<Refusal> refuse(const Spec& spec, const DeviceFacts& device);

// Error with the refusal's code and message, and the command that explains more.
[[noreturn]] void throw_refusal(const Refusal& refusal, const Problem& problem);

}  // namespace octet
