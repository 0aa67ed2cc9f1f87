// A Config for editors, clang-format and nvcc: with it the template files are valid CUDA C++ as they stand. Generated
// source never includes it; the runtime renders a Config of its own (runtime/render.cc).
#pragma once

// The facts that select parts. What is not defined does not hold.
#define OCTET_GEMM 1
#define OCTET_QUANTIZE 1
#define OCTET_PACKED 1
#define OCTET_SPLITS_I32 1
#define OCTET_SPLITS_SIZES 1
#define OCTET_GROUP_TABLE 1
#define OCTET_ROW_RANGE 1
#define OCTET_CLUSTER 1
#define OCTET_CLUSTER_M 1
#define OCTET_SPLIT_NARROW 1
#define OCTET_ENTRY sample_kernel

namespace octet::config {
constexpr int kGroups = 8;
constexpr int kN = 7168;
constexpr int kK = 2048;
constexpr int kColumns = 2048;
constexpr int kAlignment = 128;
// gemm.cu
constexpr int kBlockM = 128;
constexpr int kBlockN = 256;
constexpr int kWarpgroupsM = 2;
constexpr int kWarpgroupsN = 1;
constexpr int kStages = 4;
constexpr int kClusterM = 2;
constexpr int kClusterN = 1;
constexpr int kPanelTiles = 16;
constexpr int kUnrollK = 2;
constexpr int kScaleBoxRows = 132;
constexpr int kMathRegisters = 232;
constexpr int kProducerRegisters = 40;
constexpr int kSharedBytes = 216064;
// all
constexpr int kThreads = 256;  // of a quantizer's block
constexpr int kBlocksPerSm = 1;
}  // namespace octet::config
