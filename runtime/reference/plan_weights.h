// Weights of w=pointers, gathered into the one tensor that a grouped operand is.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan_places.h"

namespace octet::reference {

struct GatheredWeights {
  std::vector<std::uint8_t> data, sf;
};
// As one quantizer of all groups would have written them. `bytes`: of one tensor, which `producer` writes.
GatheredWeights gather(const Problem& producer, bool columnwise, const PlanPlace& place, std::int64_t tensors,
                       const PlanBytes& bytes);

}  // namespace octet::reference
