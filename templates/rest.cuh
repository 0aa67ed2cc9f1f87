// Where rowwise f32 scales lie, and what a quantizer writes beside them: padding, and scales that the caller gave.
#pragma once

#include "abi.h"
#include "types.cuh"

namespace octet {

// Row length of mn_major and per_row scales.
__device__ __forceinline__ i64 leading_rows(const abi::QuantizeParams& params) {
#if OCTET_MASKED
#if OCTET_SF_MN_MAJOR
  return (config::kMaxM + 3) / 4 * 4;
#endif
#endif
  return (params.capacity + 3) / 4 * 4;
}

#if OCTET_SCALE_1X128
// The scale of block `block` of 128 columns of a row.
__device__ __forceinline__ float* row_scale_at(const abi::QuantizeParams& params, i64 row, i32 block, i32 blocks) {
  float* sf = static_cast<float*>(params.sf);
#if OCTET_SF_K_MAJOR
  return sf + row * blocks + block;
#endif
#if OCTET_SF_MN_MAJOR
#if OCTET_MASKED
  const i64 group = row / config::kMaxM;
  return sf + (group * blocks + block) * leading_rows(params) + row - group * config::kMaxM;
#endif
#if !OCTET_MASKED
  return sf + block * leading_rows(params) + row;
#endif
#endif
}
#endif

// Scale slots that round rows up stay finite, so that a consumer may load them. One block of config::kThreads.
__device__ __forceinline__ void fill_rest(const abi::QuantizeParams& params, i32 column_blocks) {
#if OCTET_SF_MN_MAJOR || OCTET_SF_PER_ROW
#if OCTET_SF_MN_MAJOR
#if OCTET_MASKED
  const i64 slabs = static_cast<i64>(config::kGroups) * column_blocks, rows = config::kMaxM;
#endif
#if !OCTET_MASKED
  const i64 slabs = column_blocks, rows = params.capacity;
#endif
#endif
#if OCTET_SF_PER_ROW
  const i64 slabs = 1, rows = params.capacity;
#endif
  const i64 padding = leading_rows(params) - rows;
  for (i64 i = threadIdx.x; i < padding * slabs; i += config::kThreads) {
    static_cast<float*>(params.sf)[i / padding * leading_rows(params) + rows + i % padding] = 1.f;
  }
#endif
#if OCTET_GIVEN
  for (i32 g = threadIdx.x; g < config::kGroups; g += config::kThreads) {
#if OCTET_ROW
    static_cast<float*>(params.sf)[g] = params.given[g];
#endif
#if OCTET_COL
    static_cast<float*>(params.sf_col)[g] = params.given[g];
#endif
  }
#endif
}

}  // namespace octet
