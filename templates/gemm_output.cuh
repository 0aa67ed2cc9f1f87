// Where rows of D and the scales of a whole group lie.
#pragma once

#include "gemm_shared.cuh"
#if OCTET_MAPS
#include "gemm_tables.cuh"
#endif

namespace octet {

// Where row `row` of D begins, in elements: a row of the buffer, or of the group for wgrad.
__device__ __forceinline__ i64 row_of_d(const abi::GemmParams& params, const Tile& tile, i32 row) {
#if OCTET_WGRAD
#if OCTET_D_POINTERS
  return static_cast<i64>(row) * params.d_stride;
#endif
#if !OCTET_D_POINTERS
  return (static_cast<i64>(tile.group) * config::kN + row) * params.d_stride;
#endif
#endif
#if !OCTET_WGRAD
  return static_cast<i64>(row) * params.d_stride;
#endif
}

#if OCTET_SCALED_OUTPUT
// Scales of B of a group: one, or one for each row of B.
__device__ __forceinline__ const float* scales_of_weights(const abi::GemmParams& params, const Tile& tile) {
#if OCTET_SFB_POINTERS
  return static_cast<const float*>(group_pointer(params, tile.group));
#endif
#if !OCTET_SFB_POINTERS
#if OCTET_GROUP_SCALES
  return params.sfb + tile.group;
#endif
#if OCTET_ROW_SCALES
  return params.sfb + static_cast<i64>(tile.group) * kOutputColumns;
#endif
#endif
}
#endif

#if OCTET_ACC
// What row_of_d counts from.
__device__ __forceinline__ const void* data_of_d(const abi::GemmParams& params, const Tile& tile) {
#if OCTET_D_POINTERS
  return group_pointer(params, tile.group);
#endif
#if !OCTET_D_POINTERS
  return params.d_data;
#endif
}
#endif

}  // namespace octet
