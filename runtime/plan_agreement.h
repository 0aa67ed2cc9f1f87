// Whether the two ends of every buffer of a plan mean the same bytes.
#pragma once

#include <string>

#include "octet/plan.h"

namespace octet {

// One line about the first buffer that a step reads or writes as something else than it is; "" when there is none. The
// steps' problems are known to be legal.
std::string first_disagreement(const Plan& plan);

}  // namespace octet
