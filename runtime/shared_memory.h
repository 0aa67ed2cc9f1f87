// What a GEMM kernel keeps in shared memory: the host's mirror of SharedStorage in templates/gemm_shared.cuh.
#pragma once

#include <cstdint>

#include "octet/problem.h"
#include "octet/spec.h"

namespace octet {

// Dynamic shared memory of one block in bytes; the generated source asserts that its struct has this size. 64-bit: an
// impossible config must not wrap into a possible one.
std::int64_t gemm_shared_memory_bytes(const Problem& problem, const GemmConfig& config);

// The same of templates/gemm_portable.cu.
std::int64_t portable_shared_memory_bytes(const Problem& problem, const PortableConfig& config);
// Blocks of this config that a multiprocessor holds at a time: the launch bound and the grid are made for it.
int portable_blocks_per_sm(const PortableConfig& config);

// The same of templates/gemm_mx.cu: its main kernel's, and the threads of a block of both kernels.
std::int64_t mx_shared_memory_bytes(const Problem& problem, const MxConfig& config);
int mx_threads(const MxConfig& config);
// Whether the kernel counts blocks of 32 rows before each group.
bool mx_sub_blocks(const Problem& problem);
// Of a wgrad with K < N the kernel computes the transpose, for the operand that becomes bf16 to be the smaller one.
bool mx_turns(const Problem& problem);
// The problem as the kernel sees it: where it turns, with A and B and with N and K exchanged.
Problem mx_view(const Problem& problem);

}  // namespace octet
