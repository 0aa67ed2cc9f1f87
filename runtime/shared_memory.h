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

// The same of the main kernel of templates/gemm_mx.cu.
std::int64_t mx_shared_memory_bytes(const Problem& problem, const MxConfig& config);

}  // namespace octet
