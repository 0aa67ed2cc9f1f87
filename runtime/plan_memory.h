// Where a plan's own buffers lie in the blocks of memory that a caller gives for their roles.
#pragma once

#include <cstdint>

#include "octet/plan.h"

namespace octet {

inline constexpr std::int64_t kPlanAlignment = 256;  // of every buffer, and of the blocks

// Bytes that a buffer takes in its block: its tensors one after the other, each data and then scales.
std::int64_t tensor_stride(const PlanBytes& bytes);
// The most scratch that any kernel of this problem asks for, whichever config is chosen.
std::int64_t most_workspace_bytes(const Problem& problem, std::int64_t capacity);
// Where the workspace of a pass's kernels begins in scratch.
std::int64_t workspace_offset(const Plan& plan, PlanPass pass, std::int64_t capacity);

}  // namespace octet
