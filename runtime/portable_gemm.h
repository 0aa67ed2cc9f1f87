// Launch of the portable GEMM.
#pragma once

#include <cstdint>

#include "octet/runtime.h"
#include "runtime/module.h"

namespace octet {

// Room for the pointers of w=pointers, which a launch copies there when they lie on the host. Else 0.
std::int64_t portable_workspace_bytes(const Problem& problem);

// Throws as Gemm::launch does. An empty buffer of a gemm launches nothing; wgrad still writes its D.
void launch_portable(const LoadedKernel& kernel, const GemmArgs& args, Stream stream);

}  // namespace octet
