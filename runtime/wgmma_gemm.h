// Launch of the GEMM that is made for sm_90a.
#pragma once

#include <cstdint>

#include "octet/runtime.h"
#include "runtime/module.h"

namespace octet {

// Room for tensor maps and pointers of w=pointers, and of operands as DeepGEMM packs them. Else 0. An upper bound:
// pointers on the host whose tables fit the parameters (tables_fit) need none of it.
std::int64_t wgmma_workspace_bytes(const Problem& problem);

// Throws as Gemm::launch does. An empty buffer of a gemm launches nothing; wgrad still writes its D.
void launch_wgmma(const LoadedKernel& kernel, const GemmArgs& args, Stream stream);

}  // namespace octet
