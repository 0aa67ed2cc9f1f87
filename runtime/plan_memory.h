// Where a plan's own buffers lie in the blocks of memory that a caller gives for their roles.
#pragma once

#include <cstdint>

#include "octet/plan.h"

namespace octet {

inline constexpr std::int64_t kPlanAlignment = 256;  // of every buffer, and of the blocks

// Whose memory is not the plan's.
inline bool is_of_caller(const PlanBuffer& buffer) { return buffer.tensor != PlanTensor::none; }
// Bytes that a buffer takes in its block: its tensors one after the other, each data and then scales.
std::int64_t tensor_stride(const PlanBytes& bytes);
// The most scratch that any kernel of the pass asks for, whichever configs are chosen.
std::int64_t most_workspace_bytes(const Plan& plan, PlanPass pass, std::int64_t capacity);
// Rows that the buffers of tokens hold: the capacity, or what masked groups fix.
std::int64_t rows_of_tokens(const PlanFacts& facts, std::int64_t capacity);
// Throws Error{invalid_argument} for a capacity that no launch takes, whatever memory there is.
void require_capacity(const PlanFacts& facts, std::int64_t capacity);

}  // namespace octet
