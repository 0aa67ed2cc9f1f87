// The pass before a GEMM whose operands have a tensor map for each group: w=pointers, and operands as DeepGEMM packs
// them.
#pragma once

#include "gemm_shared.cuh"

// Makes a tensor map for each group in the workspace, or puts pointers there. One block.
extern "C" __global__ void OCTET_POINTERS_ENTRY(const __grid_constant__ octet::abi::MapParams params) {
  using namespace octet;
  wait_for_earlier_kernels();
#if OCTET_DEEPGEMM
  __shared__ BlockTable table;
  if (params.data != nullptr && threadIdx.x < 32) {
    build_block_table(table, params.splits, params.capacity, threadIdx.x);
  }
  __syncthreads();
#endif
  for (i32 i = threadIdx.x; i < params.count; i += blockDim.x) {
    const i32 group = params.first + i;
#if OCTET_DEEPGEMM
    if (params.data != nullptr) {
      // A group's block is [rows of the operand][rows of the group, a multiple of 128]; within the buffer, also where a
      // group is not what it should be.
      const i64 before = static_cast<i64>(table.first_block[group]) * 128, left = params.capacity - before;
      const i32 rows = static_cast<i32>(min(static_cast<i64>(table.blocks[group]) * 128, max(left, 0LL)));
      abi::TensorMap* map = params.maps + group;
      *map = params.base;
      set_map_address(map, static_cast<const u8*>(params.data) + before * params.operand_rows);
      // An empty group's map is never used, and rows of no bytes are none.
      if (rows > 0) set_map_rows(map, static_cast<u32>(rows), static_cast<u64>(rows));
      continue;
    }
#endif
    const void* address = params.pointers != nullptr ? params.pointers[group] : params.values[i];
    if (params.maps == nullptr) {
      params.table[group] = address;
    } else {
      params.maps[group] = params.base;
      set_map_address(params.maps + group, address);
    }
  }
  publish_maps();
}
