// What a GEMM kernel keeps in shared memory: the host's mirror of SharedStorage in templates/gemm.cu.
#pragma once

#include <cstdint>

#include "octet/problem.h"
#include "octet/spec.h"

namespace octet {

// Rows of SFA that one TMA box brings, and how many boxes a tile takes. A tile may start at any row, a load only at a
// multiple of four, and a box has at most 256 rows.
struct ScaleBoxes {
  int count = 1;
  int rows = 0;
};
ScaleBoxes scale_boxes(const GemmConfig& config);

// Dynamic shared memory of one block in bytes; the generated source asserts that its struct has this size. 64-bit: an
// impossible config must not wrap into a possible one.
std::int64_t gemm_shared_memory_bytes(const Problem& problem, const GemmConfig& config);

// Blocks of this config that a multiprocessor holds at a time: the launch bound and the grid are made for it.
int gemm_blocks_per_sm(const GemmConfig& config);

// The same of templates/gemm_portable.cu.
std::int64_t portable_shared_memory_bytes(const Problem& problem, const PortableConfig& config);
int portable_blocks_per_sm(const PortableConfig& config);

}  // namespace octet
