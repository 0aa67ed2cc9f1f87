// The pass before an MXFP8 GEMM: A as bf16 in the workspace, ready for the copy engine.
//
// Rows lie as those of A; a row's elements are permuted within every 64 (gemm_mx_shared.cuh says how).
#pragma once

#include "gemm_mx_shared.cuh"

namespace octet {

constexpr i32 kPassRows = 16;  // of A that a warp takes at a time, by 128 along K

// What a warp works on: rows of A as it lies, and a block of 128 along K.
struct PassItem {
  i32 row, rows;
  i64 block;  // in the buffer
#if OCTET_WGRAD
  Extent extent;
  i32 block_in_group;
#endif
#if OCTET_SFA_SWIZZLED
#if !OCTET_WGRAD
  i32 first_block, row_in_group;
#endif
#endif
};

// Walks over the items of one warp. Entries of the table count blocks of 128 tokens.
class PassWalk {
 public:
  __device__ __forceinline__ explicit PassWalk(const GroupTable& table)
      : table_(table),
        item_(static_cast<i64>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32),
        step_(static_cast<i64>(gridDim.x) * (kThreads / 32)) {}

  // False when there are no more items.
  __device__ __forceinline__ bool next(PassItem& item) {
    if (item_ >= static_cast<i64>(table_.units) * kItems) return false;
    const i32 unit = static_cast<i32>(item_ / kItems),
              local = static_cast<i32>(item_ - static_cast<i64>(unit) * kItems);
    item_ += step_;
    entry_ = advance_entry(table_, entry_, unit);
    const i32 block = unit - table_.first_unit[entry_];
    const i32 begin = table_.row_begin[entry_], tokens = table_.row_end[entry_] - begin;
#if OCTET_WGRAD || OCTET_SFA_SWIZZLED
#if OCTET_MASKED
    const i32 first_block = table_.group[entry_] * ((config::kMaxM + 127) / 128);
#endif
#if !OCTET_MASKED
    const i32 first_block = table_.first_unit[entry_];
#endif
#endif
#if OCTET_WGRAD
    item.row = local * kPassRows;
    item.rows = config::kN - item.row;
    item.block = first_block + block;
    item.block_in_group = block;
    item.extent.first_block = first_block;
#if OCTET_MASKED
    item.extent.blocks = (config::kMaxM + 127) / 128;
#endif
#if !OCTET_MASKED
    item.extent.blocks = (tokens + 127) / 128;
#endif
#if OCTET_SUB_BLOCKS
    item.extent.sub_blocks = (tokens + 31) / 32;
#if OCTET_MASKED
    item.extent.first_sub_block = table_.group[entry_] * ((config::kMaxM + 31) / 32);
#endif
#if !OCTET_MASKED
    item.extent.first_sub_block = table_.first_sub_block[entry_];
#endif
#endif
#endif
#if !OCTET_WGRAD
    const i32 row = block * 128 + local / kBlocks128 * kPassRows;
    item.row = begin + row;
    item.rows = tokens - row;
    item.block = local % kBlocks128;
#if OCTET_SFA_SWIZZLED
    item.first_block = first_block;
    item.row_in_group = row;
#endif
#endif
    return true;
  }

 private:
  // Of a block of 128 tokens.
#if OCTET_WGRAD
  static constexpr i32 kItems = (config::kN + kPassRows - 1) / kPassRows;
#endif
#if !OCTET_WGRAD
  static constexpr i32 kItems = 128 / kPassRows * kBlocks128;
#endif

  const GroupTable& table_;
  i64 item_, step_;
  i32 entry_ = 0;
};

__device__ __forceinline__ i32 blocks_of_tokens(i32 rows) { return (rows + 127) / 128; }

// Scales of the item's row `row`, and its first block of 32.
__device__ __forceinline__ auto item_scales(const abi::MxGemmParams& params, const PassItem& item, i32 row) {
#if OCTET_WGRAD
  return right_scales(params, item.extent, item.row + row);
#endif
#if !OCTET_WGRAD
#if OCTET_SFA_SWIZZLED
  return right_scales(params, item.first_block, item.row_in_group + row);
#endif
#if !OCTET_SFA_SWIZZLED
  return right_scales(params, item.row + row);
#endif
#endif
}
__device__ __forceinline__ i32 first_scale(const PassItem& item) {
#if OCTET_WGRAD
  return item.block_in_group * 4;
#endif
#if !OCTET_WGRAD
  return static_cast<i32>(item.block) * 4;
#endif
}

// Eight lanes take 128 elements of a row, each one step of 16 of the matrix instruction.
__device__ __forceinline__ void dequantize_item(const abi::MxGemmParams& params, const PassItem& item, i32 lane) {
  constexpr i32 kRows = kPassRows / 4;  // of a lane
  const i32 half = lane % 8 / 4, step = lane % 4;
  const i64 k = item.block * 128 + half * 64;
  u32 codes[kRows][4], scales[kRows][2];
#pragma unroll
  for (i32 r = 0; r < kRows; ++r) {
    const i32 row = lane / 8 + r * 4;
    const bool exists = row < item.rows;
    const u8* from = params.a + (item.row + row) * params.a_stride + k + step * 4;
#pragma unroll
    for (i32 l = 0; l < 4; ++l) {
#if OCTET_WGRAD
      const bool has = exists;
#endif
#if !OCTET_WGRAD
      const bool has = exists && k + l * 16 < config::kK;
#endif
      codes[r][l] = has ? __ldg(reinterpret_cast<const u32*>(from + l * 16)) : 0;
    }
    const i32 first = first_scale(item) + half * 2;
    scales[r][0] = scales[r][1] = 0;
    if (exists) {
      const auto row_scales = item_scales(params, item, row);
      scales[r][0] = row_scales.at(first);
      scales[r][1] = row_scales.at(first + 1);
    }
  }
#pragma unroll
  for (i32 r = 0; r < kRows; ++r) {
    const i32 row = lane / 8 + r * 4;
    if (row >= item.rows) break;
    u32 even[2][2], odd[2][2];
#pragma unroll
    for (i32 s = 0; s < 2; ++s) {
      const u32 two[2] = {codes[r][2 * s], codes[r][2 * s + 1]};
      dequantize<kRightE5m2, 2>(two, scales[r][s], even[s], odd[s]);
    }
    uint4* to = reinterpret_cast<uint4*>(params.a_wide + (item.row + row) * params.wide_stride + k + step * 16);
    to[0] = make_uint4(odd[0][0], odd[0][1], odd[1][0], odd[1][1]);
    to[1] = make_uint4(even[0][0], even[0][1], even[1][0], even[1][1]);
  }
}

}  // namespace octet
