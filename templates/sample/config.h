// A Config for editors, clang-format and nvcc: with it the template files are valid CUDA C++ as they stand. Generated
// source never includes it; the runtime renders a Config of its own (runtime/render.cc).
//
// It describes one packed problem for each kernel file: GEMMs of e4m3:1x128 with e4m3:128x128, gradients of
// bf16 to e4m3:1x128 along rows and columns with their column sums, the same back to bf16, and their scales from
// mn_major to k_major.
#pragma once

#if !OCTET_MX  // gemm_mx.cu has a sample of its own

// The facts that select parts. What is not defined does not hold.
#define OCTET_GEMM 1
#define OCTET_QUANTIZE 1
#define OCTET_CONVERT 1
#define OCTET_PORTABLE 1
// where groups lie
#define OCTET_PACKED 1
#define OCTET_SPLITS_I32 1
#define OCTET_SPLITS_SIZES 1
#define OCTET_PREFIX_SUMS 1
#define OCTET_VISIT_GROUPS 1
#define OCTET_GROUP_TABLE 1
#define OCTET_FIND_ENTRY 1
#define OCTET_ROW_RANGE 1
#define OCTET_TILE_WALK 1
// gemm.cu
#define OCTET_CLUSTER 1
#define OCTET_MULTICAST 1
#define OCTET_CLUSTER_M 1
#define OCTET_SPLIT_NARROW 1
#define OCTET_LEFT_E4M3_RIGHT_E4M3 1
#define OCTET_LEFT_VECTOR 1
#define OCTET_TOKEN_VECTOR 1
#define OCTET_LEFT_TOKEN_VECTOR 1
#define OCTET_TILE_SCALES 1
#define OCTET_ROW_FACTORS 1
#define OCTET_STEP_128 1
// gemm_portable.cu
#define OCTET_B_E4M3 1
#define OCTET_BLOCK_SCALES 1
#define OCTET_PROMOTE 1
#define OCTET_PROGRAMMATIC 1
#define OCTET_SFA_MN_MAJOR 1
#define OCTET_SFB_BLOCK2D 1
// quantize_*.cu
#define OCTET_IN_BF16 1
#define OCTET_OUT_E4M3 1
#define OCTET_FORWARD 1
#define OCTET_QUANTIZED 1
#define OCTET_ROW 1
#define OCTET_COL 1
#define OCTET_F32_SCALES 1
#define OCTET_SCALE_1X128 1
#define OCTET_SF_MN_MAJOR 1
#define OCTET_OWN_ROW_SCALES 1
#define OCTET_COLUMN_SCALES 1
#define OCTET_COLUMN_MAXIMA 1
#define OCTET_DBIAS 1
#define OCTET_FINISH_PASS 1
#define OCTET_CURRENT 1
// dequantize.cu, convert.cu
#define OCTET_DEQUANTIZE 1
#define OCTET_CONVERTER 1
#define OCTET_A_E4M3 1
#define OCTET_D_BF16 1
#define OCTET_FROM_ROWS 1
#define OCTET_TO_ROWS 1
#define OCTET_FROM_MN_MAJOR 1
#define OCTET_TO_K_MAJOR 1
// entry points
#define OCTET_ENTRY sample_kernel
#define OCTET_AMAX_ENTRY sample_kernel_amax
#define OCTET_SCALES_ENTRY sample_kernel_scales
#define OCTET_FINISH_ENTRY sample_kernel_finish

namespace octet::config {
constexpr int kGroups = 8;
constexpr int kN = 7168;
constexpr int kK = 2048;
constexpr int kColumns = 2048;
constexpr int kAlignment = 128;
// gemm.cu
constexpr int kBlockM = 128;
constexpr int kBlockN = 256;
constexpr int kStep = 128;
constexpr int kWarpgroupsM = 2;
constexpr int kWarpgroupsN = 1;
constexpr int kStages = 4;
constexpr int kClusterM = 2;
constexpr int kClusterN = 1;
constexpr int kPanelTiles = 16;
constexpr int kUnrollK = 2;
constexpr int kLeftScaleRows = 132;
constexpr int kLeftScaleBoxes = 1;
constexpr int kTileScaleRows = 2;
constexpr int kMathRegisters = 232;
constexpr int kProducerRegisters = 40;
constexpr int kSharedBytes = 216064;
// gemm_portable.cu
constexpr int kWarpsM = 2;
constexpr int kWarpsN = 4;
constexpr int kScalesPerStage = 1;
constexpr int kStorageBytes = 202880;
// quantize_rows.cu
constexpr int kRowsPerThread = 8;
// convert.cu
constexpr int kSlotRows = 128;
constexpr int kSlotColumns = 1;
// all
constexpr int kThreads = 256;  // of a quantizer's block
constexpr int kBlocksPerSm = 1;
}  // namespace octet::config

#endif
