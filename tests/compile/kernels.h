// The problems whose kernels are compiled here, and a runtime that keeps them in memory.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "octet/explain.h"
#include "octet/runtime.h"

namespace octet::test {

// Between them: every layout and every form of splits, group counts from 1 to 1024, N below and above one tile, K of
// less than one scale block, with a partial last one, and long.
const std::vector<Problem>& gemm_problems();
// The rest of the GEMM's family: every operation, layout, pair of recipes, output and flag. A test says so.
const std::vector<Problem>& gemm_family_problems();
// GEMMs for the portable kernel: between them every pair of recipes, layout, operation, type, layout of scales and
// flag.
const std::vector<Problem>& portable_problems();
// Quantizers and activations: every recipe in every direction, and between them every layout, form of splits, type,
// activation, arrangement of gate and up, and flag. A test says so.
const std::vector<Problem>& quantize_problems();
// Dequantizers and converters: every layout of scales and packing, in both directions.
const std::vector<Problem>& convert_problems();

// "i64/ends", and all six that there are.
std::string splits_text(const Problem& problem);
const std::set<std::string>& all_splits();

// Candidates that no rule removed, in table order.
std::vector<Spec> legal_specs(const Problem& problem, const DeviceFacts& device = {});

// Compiles anew each time that a Runtime is made of them. NVRTC is the one that the environment names.
Options memory_only();

// False, with a message, where no NVRTC is installed.
bool has_nvrtc();

}  // namespace octet::test
