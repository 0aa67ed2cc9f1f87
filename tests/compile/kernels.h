// The problems whose kernels are compiled here, and a runtime that keeps them in memory.
#pragma once

#include <string>
#include <vector>

#include "octet/explain.h"
#include "octet/runtime.h"

namespace octet::test {

// Between them: every layout and every form of splits, group counts from 1 to 1024, N below and above one tile, K of
// less than one scale block, with a partial last one, and long.
const std::vector<Problem>& gemm_problems();
const std::vector<Problem>& quantize_problems();

// Candidates that no rule removed, in table order.
std::vector<Spec> legal_specs(const Problem& problem);

// Compiles anew each time that a Runtime is made of them. NVRTC is the one that the environment names.
Options memory_only();

// False, with a message, where no NVRTC is installed.
bool has_nvrtc();

}  // namespace octet::test
