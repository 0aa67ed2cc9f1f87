// Where a group's tensor map or pointer lies: behind the parameters of the launch, or in device memory.
#pragma once

#include "gemm_shared.cuh"

namespace octet {

#if OCTET_PARAM_TABLES
// What the launch passes: with pointers on the host, tables of [G] behind the parameters, the first map's of the
// weights (wgrad: of D), the second one's of their scales.
struct TableParams : abi::GemmParams {
  abi::TensorMap group_maps[config::kGroupMaps];
#if OCTET_PARAM_POINTERS
  const void* group_pointers[config::kGroups];
#endif
};
static_assert(sizeof(TableParams) == config::kParamBytes, "the host fills exactly this much");
#endif

// `made`: by a pass before this kernel, which wrote them as ordinary memory; null: table kTable of the parameters.
template <i32 kTable>
__device__ __forceinline__ const abi::TensorMap* group_map(const abi::GemmParams& params, const abi::TensorMap* made,
                                                           i32 group) {
#if OCTET_PARAM_TABLES
  if (made == nullptr) return static_cast<const TableParams&>(params).group_maps + kTable * config::kGroups + group;
#endif
  acquire_map(made + group);
  return made + group;
}

#if OCTET_GROUP_POINTERS
__device__ __forceinline__ const void* group_pointer(const abi::GemmParams& params, i32 group) {
#if OCTET_PARAM_POINTERS
  if (params.pointers == nullptr) return static_cast<const TableParams&>(params).group_pointers[group];
#endif
  return params.pointers[group];
}
#endif

}  // namespace octet
