// Splits that lie on the host.
#pragma once

#include <cstdint>

#include "octet/plan_facts.h"
#include "octet/reference.h"

namespace octet {

// Numbers of the array: G, or G + 1 of starts.
std::int64_t splits_count(const PlanFacts& facts);
// Where the groups lie. Throws Error{invalid_argument} naming the first number that is impossible for `capacity` rows,
// and for dense, which has no splits.
reference::GroupExtents read_splits(const PlanFacts& facts, const void* splits, std::int64_t capacity);

}  // namespace octet
