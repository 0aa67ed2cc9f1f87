// Whether a run fits in this machine's memory, found out before the system ends the process for trying.
#pragma once

#include "tools/cli/run_case.h"

namespace octet::cli {

// Throws Error{invalid_argument} with one line that says what is too large.
void require_memory(const Case& run);

}  // namespace octet::cli
