// Tables of w=pointers, an entry for each group, and which of them lie behind a kernel's parameters.
#pragma once

#include <cstdint>

#include "octet/problem.h"
#include "octet/runtime.h"

namespace octet {

// Tables that a kernel reads: of tensor maps, and of pointers.
struct GroupTables {
  int maps = 0, pointers = 0;
};
// Of the wgmma GEMM: maps of the weights (wgrad: of D), and of their scales a second map or a pointer; of a wgrad a
// pointer to D as well where the kernel reads what D held. None without w=pointers.
GroupTables wgmma_tables(const Problem& problem);
// Of the portable GEMM: pointers to the weights and to their scales, or to D.
GroupTables portable_tables(const Problem& problem);

// Parameters of one launch of the wgmma GEMM with w=pointers, tables included, are at most this many bytes; where they
// would be more, a pass writes the tables to the workspace, as it does for pointers that lie on the device.
//
// CUDA allows 32764 bytes (NVRTC and drivers from CUDA 12.1 on; older drivers refuse to load a kernel with more than
// 4096, which is 13, 24 or 26 groups). The limit is lower, since every launch copies all of the parameters and fills in
// a map for each group on the host, about as long for a hundred maps as the pass's two launches take. It lets in 37
// groups with 1x128 weights, 69 with others and 74 of a wgrad without +acc: the experts of one GPU in deployments where
// a launch is short enough for a pass to matter.
inline constexpr std::int64_t kMostParamBytes = 10240;

// Bytes of the parameters with their tables behind.
std::int64_t wgmma_param_bytes(const Problem& problem);
// 16.1 KB at most: pointers are few enough to lie there always.
std::int64_t portable_param_bytes(const Problem& problem);
// Whether pointers on the host reach the wgmma kernel in its parameters. False without w=pointers, and with
// from=deepgemm: where blocks lie only the splits on the device say, so their maps need the pass anyway.
bool tables_fit(const Problem& problem);

// Pointers that one launch of the pass takes from an array on the host.
inline constexpr std::int64_t kPointersPerPass = 448;
// Launches of the pass before the wgmma GEMM's own, with pointers on the host.
int map_passes(const Problem& problem);

// Where a kernel is to look for a table of pointers: the caller's array on the device; or null, which means behind its
// parameters, once those on the host are copied to `behind`.
const void* const* place_pointers(const Pointers& pointers, std::int64_t groups, const void** behind);

}  // namespace octet
