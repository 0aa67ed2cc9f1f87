// As config.h, for gemm_mx.cu, whose facts exclude those of gemm.cu: a packed GEMM of e4m3:1x32 with e4m3:1x32.
#pragma once

#define OCTET_MX 1
#define OCTET_SWAPPED 1
#define OCTET_CLUSTER 1
#define OCTET_MULTICAST 1
#define OCTET_PACKED 1
#define OCTET_SPLITS_I32 1
#define OCTET_SPLITS_SIZES 1
#define OCTET_PREFIX_SUMS 1
#define OCTET_VISIT_GROUPS 1
#define OCTET_GROUP_TABLE 1
#define OCTET_A_E4M3 1
#define OCTET_B_E4M3 1
#define OCTET_D_BF16 1
#define OCTET_SFA_MX_COMPACT 1
#define OCTET_SFB_MX_COMPACT 1
#define OCTET_STEP_256 1
#define OCTET_PROGRAMMATIC 1
#define OCTET_ENTRY sample_kernel
#define OCTET_DEQUANTIZE_ENTRY sample_kernel_dequantize

namespace octet::config {
constexpr int kGroups = 8;
constexpr int kN = 7168;
constexpr int kK = 2048;
constexpr int kBlockM = 128;
constexpr int kBlockN = 256;
constexpr int kStages = 5;
constexpr int kClusterM = 1;
constexpr int kClusterN = 2;
constexpr int kPanelTiles = 8;
constexpr int kMathRegisters = 240;
constexpr int kProducerRegisters = 24;
constexpr int kSharedBytes = 222208;
}  // namespace octet::config
