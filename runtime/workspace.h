// Scratch that a launch needs.
#pragma once

#include <cstdint>

#include "octet/spec.h"

namespace octet {

// Bytes, for a buffer of `capacity` rows. Often 0.
std::int64_t workspace_bytes(const Problem& problem, const Config& config, std::int64_t capacity);

// Whether any buffer needs some.
bool needs_workspace(const Problem& problem, const Config& config);

}  // namespace octet
