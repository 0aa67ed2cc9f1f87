// Checks of launch arguments, shared by the operations. All throw Error{invalid_argument} before anything is launched.
#pragma once

#include <cstdint>

#include "octet/runtime.h"
#include "runtime/module.h"

namespace octet {

// Null, or not a multiple of `alignment` bytes.
void require_pointer(const LoadedKernel& kernel, const char* name, const void* pointer, int alignment);
void require_layout(const LoadedKernel& kernel, const char* name, const OperandLayout& got,
                    const OperandLayout& wanted);
// In [0, 2^31 - 1024]: row numbers are 32-bit coordinates of the copy engine.
void require_capacity(const LoadedKernel& kernel, std::int64_t capacity);
// Rows that a launch of a quantizer or converter means: what the layout fixes (0 stands for it), or the caller's.
std::int64_t checked_capacity(const LoadedKernel& kernel, std::int64_t capacity);
void require_splits(const LoadedKernel& kernel, const void* splits);
void require_loaded(const LoadedKernel* kernel);

}  // namespace octet
