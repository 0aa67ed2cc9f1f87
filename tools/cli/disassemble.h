// SASS through nvdisasm, which comes with some CUDA installs and not with others.
#pragma once

#include <string>

namespace octet::cli {

// Looks in PATH, $CUDA_HOME/bin and /usr/local/cuda/bin. Throws Error{compile_failed} when it is not there or fails.
std::string disassemble(const std::string& cubin);

}  // namespace octet::cli
