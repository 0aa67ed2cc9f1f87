// Launch of the portable GEMM.
#pragma once

#include "octet/runtime.h"
#include "runtime/module.h"

namespace octet {

// Throws as Gemm::launch does. An empty buffer of a gemm launches nothing; wgrad still writes its D.
void launch_portable(const LoadedKernel& kernel, const GemmArgs& args, Stream stream);

}  // namespace octet
