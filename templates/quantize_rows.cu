// Rows: [rows, F] -> FP8 [rows, C] and scales along each row, or the activation's result as it is.
//
// Scales of 1x128 ([ceil(C/128)][ld] or [row][ceil(C/128)]) and 1x32 ([row][up(ceil(C/32), 4)] bytes) come from the
// elements; `tensor` takes the group's from the caller or from an earlier pass. Rows of no group are neither written
// nor, as far as results go, read. Bit for bit what docs/numerics.md says.
//
// A half-warp owns kRows rows of 128 columns, so that a warp reads 512 contiguous bytes of each row of 16-bit elements,
// one division per row is shared by its lanes, and the scales of 8 rows leave as one 32-byte sector. A warp does one
// unit and ends, where rows lie end to end: new blocks hide latency better than a loop. No shared memory for data.
#include "abi.h"
#include "groups.cuh"
#if OCTET_AMAX_PASS
#include "quantize_passes.cuh"
#endif
#include "rest.cuh"
#include "row_scales.cuh"
#include "source.cuh"

namespace octet {

constexpr i32 kRows = config::kRowsPerThread;
constexpr i32 kColumnBlocks = (kColumns + 127) / 128;
constexpr i32 kColumnPairs = (kColumnBlocks + 1) / 2;  // a warp takes two blocks of 128 columns

// A warp's unit of work: kRows rows by two blocks of 128 columns.
struct Unit {
  i64 row;    // first row
  u32 rows;   // which of them belong to a group: bit r for row + r
  i32 pair;   // of column blocks
  i32 group;  // lane r: of row + r

  __device__ __forceinline__ bool has(i32 r) const { return rows >> r & 1; }
  __device__ __forceinline__ i32 block(i32 lane) const { return pair * 2 + lane / 16; }
  __device__ __forceinline__ i32 column(i32 lane) const { return block(lane) * 128 + lane % 16 * 8; }
};

__device__ __forceinline__ u32 low_bits(i64 count) {
  return count <= 0 ? 0u : count >= kRows ? (1u << kRows) - 1 : (1u << count) - 1;
}

struct Strip {
  Inputs x[kRows];
};

// C is a multiple of 16, so eight columns are all in or all out.
__device__ __forceinline__ void load_strip(const abi::QuantizeParams& params, const Unit& unit, i32 lane,
                                           Strip& strip) {
  const i32 column = unit.column(lane);
#pragma unroll
  for (i32 r = 0; r < kRows; ++r) {
    strip.x[r] = zero_inputs();
    if (column < kColumns && unit.has(r)) strip.x[r] = load_inputs(params, unit.row + r, column);
  }
}

// What is quantized. All lanes call it.
__device__ __forceinline__ void outputs_of(const abi::QuantizeParams& params, const Unit& unit, i32 lane,
                                           const Strip& strip, Eight (&y)[kRows]) {
#if !OCTET_COMPUTED
#pragma unroll
  for (i32 r = 0; r < kRows; ++r) y[r] = strip.x[r];
#endif
#if OCTET_COMPUTED
  float probability = 1.f;
#if OCTET_PROBS
  if (lane < kRows && unit.has(lane)) probability = params.probs[unit.row + lane];
#endif
#pragma unroll
  for (i32 r = 0; r < kRows; ++r) {
    Inputs bias = zero_inputs();
#if OCTET_BIAS
    const i32 group = __shfl_sync(~0u, unit.group, r);
    if (unit.column(lane) < kColumns && unit.has(r)) bias = load_pair(params.bias, group, unit.column(lane));
#endif
    y[r] = output_of(strip.x[r], bias, __shfl_sync(~0u, probability, r));
  }
#endif
}

#if OCTET_SCALE_TENSOR
// Lane r: what row + r is multiplied by.
__device__ __forceinline__ float group_scale(const abi::QuantizeParams& params, const Unit& unit, i32 lane) {
  if (lane >= kRows || !unit.has(lane)) return 1.f;
#if OCTET_GIVEN
  return __frcp_rn(params.given[unit.group]);
#endif
#if !OCTET_GIVEN
  return params.group_q[unit.group];
#endif
}
#endif

#if OCTET_SCALE_1X128
__device__ __forceinline__ void store_scales(const abi::QuantizeParams& params, const Unit& unit, i32 lane,
                                             const RowScales<kRows>& scales) {
  if (!scales.stores || !unit.has(scales.row) || unit.block(lane) >= kColumnBlocks) return;
  *row_scale_at(params, unit.row + scales.row, unit.block(lane), kColumnBlocks) = scales.scale.sf;
}
#endif
#if OCTET_SCALE_1X32
__device__ __forceinline__ void store_scales(const abi::QuantizeParams& params, const Unit& unit, i32 lane,
                                             const RowScales<kRows>& scales) {
  i32 row;
  bool stores;
  const u32 word = scales.word_of_row(lane, row, stores);
  if (!stores || !unit.has(row) || unit.block(lane) >= kColumnBlocks) return;
  // Blocks of columns past C have no elements: zero, as the padding should be.
  static_cast<u32*>(params.sf)[(unit.row + row) * kColumnBlocks + unit.block(lane)] = word;
}
#endif

// Quantizes a loaded strip and stores it.
__device__ __forceinline__ void quantize_strip(const abi::QuantizeParams& params, const Unit& unit, i32 lane,
                                               const Strip& strip) {
  const i32 column = unit.column(lane);
  Eight y[kRows];
  outputs_of(params, unit, lane, strip, y);
#if OCTET_PLAIN
  Element* d = static_cast<Element*>(params.d) + unit.row * kColumns + column;
#pragma unroll
  for (i32 r = 0; r < kRows; ++r) {
    if (column < kColumns && unit.has(r)) *reinterpret_cast<Eight*>(d + static_cast<i64>(r) * kColumns) = y[r];
  }
#endif
#if OCTET_QUANTIZED
#if OCTET_SCALE_TENSOR
  const float own_q = group_scale(params, unit, lane);
#endif
#if !OCTET_SCALE_TENSOR
  // Rows that belong to no group hold zeros here, unless an activation of zero is not zero; their scales are not
  // stored.
  const RowScales<kRows> scales(y, lane, params.amax_floor);
  store_scales(params, unit, lane, scales);
#endif
  u8* data = static_cast<u8*>(params.data) + unit.row * kColumns + column;
#pragma unroll
  for (i32 r = 0; r < kRows; ++r) {
#if OCTET_SCALE_TENSOR
    const float q = __shfl_sync(~0u, own_q, r);
#endif
#if !OCTET_SCALE_TENSOR
    const float q = scales.q(r, lane);
#endif
    if (column < kColumns && unit.has(r)) {
      *reinterpret_cast<uint2*>(data + static_cast<i64>(r) * kColumns) = quantize_row(y[r], q);
    }
  }
#endif
}

}  // namespace octet

extern "C" __global__ void __launch_bounds__(octet::config::kThreads, octet::config::kBlocksPerSm)
    OCTET_ENTRY(const __grid_constant__ octet::abi::QuantizeParams params) {
  using namespace octet;
  const i32 lane = threadIdx.x % 32;
  const i64 warp = static_cast<i64>(blockIdx.x) * (config::kThreads / 32) + threadIdx.x / 32;
#if OCTET_NOOP
  if (*params.noop != 0) return;
#endif
  if (blockIdx.x == 0) fill_rest(params, kColumnBlocks);
#if !OCTET_STRIPS_BY_GROUP
  Unit unit{warp / kColumnPairs * kRows, 0, static_cast<i32>(warp % kColumnPairs), 0};
  unit.rows = low_bits(params.capacity - unit.row);
  if (unit.rows == 0) return;
  // The loads set out before the splits are known, which may fetch rows of the tail but never uses them.
  Strip strip;
  load_strip(params, unit, lane, strip);
#if OCTET_ROW_RANGE
  const RowRange range = packed_rows(params.splits, params.capacity, lane);
  unit.rows = low_bits(range.end - unit.row) & ~low_bits(range.begin - unit.row);
#endif
#if OCTET_ROW_GROUPS
  unit.group = groups_of_rows<kRows>(params.splits, params.capacity, unit.row, lane);
  unit.rows = __ballot_sync(~0u, lane < kRows && unit.group >= 0 && unit.group < config::kGroups);
#endif
#if OCTET_UNIFORM
  unit.group = static_cast<i32>((unit.row + lane) / config::kN);
#endif
  if (unit.rows == 0) return;
  quantize_strip(params, unit, lane, strip);
#endif
#if OCTET_STRIPS_BY_GROUP
  // Gaps between groups must not be written, and may be most of the buffer, so strips are cut group by group.
  const i64 warps = static_cast<i64>(gridDim.x) * (config::kThreads / 32);
  __shared__ GroupTable groups;
  if (threadIdx.x < 32) {
    build_group_table(groups, params.splits, params.capacity, lane,
                      [](i32 rows) { return (rows + kRows - 1) / kRows; });
  }
  __syncthreads();
  i32 entry = 0;
  for (i64 index = warp; index < static_cast<i64>(groups.units) * kColumnPairs; index += warps) {
    const i32 row_strip = static_cast<i32>(index / kColumnPairs);
    entry = advance_entry(groups, entry, row_strip);
    const i32 row = groups.row_begin[entry] + (row_strip - groups.first_unit[entry]) * kRows;
    const Unit unit{row, low_bits(groups.row_end[entry] - row), static_cast<i32>(index % kColumnPairs),
                    groups.group[entry]};
    Strip strip;
    load_strip(params, unit, lane, strip);
    quantize_strip(params, unit, lane, strip);
  }
#endif
}
