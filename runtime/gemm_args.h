// What every launch of a GEMM checks about its arguments, whichever kernel it is.
#pragma once

#include <cstdint>

#include "octet/runtime.h"
#include "runtime/gemm_traits.h"
#include "runtime/module.h"

namespace octet {

inline constexpr std::int64_t kMaxRowLength = 2147483135;  // of columnwise operands: TMA coordinates are 32-bit

// Elements from one row to the next, with what 0 stands for filled in.
struct GemmStrides {
  std::int64_t a, b, d;
};
// Throws Error{invalid_argument} for one that is too small, or that breaks the alignment of rows.
GemmStrides gemm_strides(const Problem& problem, const GemmArgs& args, const InnerExtent& inner);

// Throws Error{invalid_argument} naming the argument, for everything but layouts, strides and the workspace. `rows`: of
// the buffers of tokens, which `inner` is made from.
void require_gemm_arguments(const LoadedKernel& kernel, const GemmArgs& args, std::int64_t rows,
                            const InnerExtent& inner);

// In bytes, of an operand's scales: those along rows are read 16 bytes at a time or through tensor maps.
int alignment_of_scales(const OperandLayout& layout);

// Persistent blocks that a launch may have at a time: all that are resident, or with max_sms as many as it says, since
// nothing keeps several of them on one multiprocessor.
std::int64_t usable_blocks(const LoadedKernel& kernel, const GemmArgs& args);

}  // namespace octet
