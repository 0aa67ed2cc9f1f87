// Launch of the MXFP8 GEMM: a pass that writes A as bf16, then the kernel; or the kernel alone.
#pragma once

#include <cstdint>

#include "octet/runtime.h"
#include "runtime/module.h"

namespace octet {

// A as bf16: rows of up(K, 128) elements for a gemm; for wgrad A or B, whichever has fewer rows: min(N, K) of
// columnwise tokens. 0 of a direct config.
std::int64_t mx_workspace_bytes(const Problem& problem, const MxConfig& config, std::int64_t capacity);

// Throws as Gemm::launch does. An empty buffer of a gemm launches nothing; wgrad still writes its D.
void launch_mx(const LoadedKernel& kernel, const GemmArgs& args, Stream stream);

}  // namespace octet
