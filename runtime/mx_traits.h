// What follows from an MXFP8 GEMM problem and its config about how templates/gemm_mx.cu works. One place, so that
// rendering, launching, sizes and costs agree.
#pragma once

#include "octet/problem.h"
#include "octet/spec.h"

namespace octet {

// Threads of a block, of the pass and of the main kernel.
int mx_threads(const MxConfig& config);
// Whether the kernel counts blocks of 32 rows before each group.
bool mx_sub_blocks(const Problem& problem);
// Of a wgrad with K < N the kernel computes the transpose, for the operand that becomes bf16 to be the smaller one.
bool mx_turns(const Problem& problem);
// The problem as the kernel sees it: where it turns, with A and B and with N and K exchanged.
Problem mx_view(const Problem& problem);

}  // namespace octet
