// A specialization: problem + config + arch, everything that makes one kernel. Its name is its identity.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "octet/export.h"
#include "octet/problem.h"

namespace octet {

// How a grouped GEMM does its work on sm_90a. M and N are the matrix instruction's: rows of D per block and its
// columns, or the other way round where `swapped`.
struct OCTET_API GemmConfig {
  int block_m = 128;
  int block_n = 256;     // a multiple of 128; swapped: 16, 32, 64 or 128
  int warpgroups_m = 2;  // math warpgroups along M; each owns block_m / warpgroups_m rows, a multiple of 64
  int warpgroups_n = 1;  // math warpgroups along N; each owns block_n / warpgroups_n columns, a multiple of 128
  int stages = 4;        // depth of the TMA ring, in blocks of 128 along K
  // Thread blocks of a cluster along M or along N, 1x1, 1x2 or 2x1. Along N they share A by multicast. Along M they
  // share B, and where a group has an odd last row tile, they share A there instead.
  int cluster_m = 1, cluster_n = 2;
  bool whole_tile_store = false;  // stage the whole tile in shared memory before storing it; else 128 bytes of each row
  bool swapped = false;           // few tokens: weights give the instruction's rows, tokens its columns
  int blocks_per_sm = 1;          // that a multiprocessor holds at a time
  // Thread blocks of a cluster that sum a tile together, each a part of K, and store equal parts of its tokens: 1, or
  // of swapped configs 2 or 4, where each has a multiple of 16 tokens.
  int split_k = 1;
};

// How a quantizer does its work.
struct OCTET_API QuantizeConfig {
  int threads = 256;
  int rows_per_thread = 8;  // rows that one thread holds in registers
  int blocks_per_sm = 3;    // persistent thread blocks per multiprocessor
};

// How a grouped GEMM does its work where there is no kernel made for the architecture: mma.sync and cp.async.
struct OCTET_API PortableConfig {
  int block_m = 128, block_n = 128;  // of D per thread block
  int warps_m = 2, warps_n = 4;      // each warp owns block_m / warps_m x block_n / warps_n
  int stages = 3;                    // depth of the cp.async ring, in blocks of 128 along K
};

// How a grouped GEMM of MXFP8 does its work on sm_90a: B through bf16 in registers, A through bf16 in the workspace or,
// directly, in shared memory.
struct OCTET_API MxConfig {
  int block_m = 128;  // columns of D per thread block, over two math warpgroups
  int block_n = 256;  // rows of D: 32, 64, 128 or 256
  int stages = 5;     // depth of the TMA ring, in blocks of 64 along K
  int cluster_n = 2;  // thread blocks of a cluster, neighbours along the columns of D that share A by multicast: 1 or 2
  // Depth of the ring of A as bf16 in shared memory, 2 to 4, without a workspace. 0: A through the workspace.
  int direct = 0;
};

OCTET_API bool operator==(const GemmConfig& x, const GemmConfig& y) noexcept;
OCTET_API bool operator==(const QuantizeConfig& x, const QuantizeConfig& y) noexcept;
OCTET_API bool operator==(const PortableConfig& x, const PortableConfig& y) noexcept;
OCTET_API bool operator==(const MxConfig& x, const MxConfig& y) noexcept;

using Config = std::variant<GemmConfig, QuantizeConfig, PortableConfig, MxConfig>;
// "bm128 bn256 wg2x1 st4 cl1x2 tile", "bm64 bn32 wg1x1 st6 cl1x1 swap b3 sk2", "t256 r8 b3", "portable bm128 bn128
// w2x4 st3", "mx bm128 bn256 st5 cl1x2", "mx bm128 bn256 st4 cl1x2 direct3"
OCTET_API std::string to_string(const Config& config);

struct OCTET_API Spec {
  Problem problem;
  Config config;
  std::string arch = "sm_90a";

  // Unique among specs, a valid C identifier, and the entry point's name in the generated source.
  std::string name() const;
};
OCTET_API bool operator==(const Spec& x, const Spec& y) noexcept;

}  // namespace octet
