// Tokens: bf16 [capacity, C] -> e4m3 [capacity, C] and one f32 scale per row and 128 columns.
//
// Scales: [ceil(C/128)][up(capacity, 4)], row over the whole buffer (mn_major). Rows of no group are neither written
// nor, as far as results go, read. Bit for bit what docs/numerics.md says.
//
// A half-warp owns kRows rows of 128 columns, so that a warp reads 512 contiguous bytes of each row, one division per
// row is shared by 16 lanes, and the scales of 8 rows leave as one 32-byte sector. No shared memory for data.
#include "abi.h"
#include "groups.cuh"
#include "scale.cuh"

namespace octet {

constexpr i32 kRows = 8;
constexpr i32 kColumnBlocks = (config::kColumns + 127) / 128;
constexpr i32 kColumnPairs = (kColumnBlocks + 1) / 2;  // a warp takes two blocks of 128 columns

// Leading dimension of the scales.
__device__ __forceinline__ i64 leading_rows(const abi::QuantizeParams& params) { return (params.capacity + 3) / 4 * 4; }

// Reduces the magnitudes of 8 rows over the 16 lanes of a half-warp. In: rows (2i, 2i + 1) packed in pairs[i]. Out: the
// amax of row `row`, a function of the lane; each row ends up in two lanes. Halving exchanges: 5 shuffles for 8 rows.
__device__ __forceinline__ float reduce_rows(const u32 (&pairs)[kRows / 2], i32 lane, i32& row) {
  const bool bit3 = lane & 8, bit2 = lane & 4, bit1 = lane & 2;
  const u32 first = max_bf16x2(bit3 ? pairs[2] : pairs[0], __shfl_xor_sync(~0u, bit3 ? pairs[0] : pairs[2], 8));
  const u32 second = max_bf16x2(bit3 ? pairs[3] : pairs[1], __shfl_xor_sync(~0u, bit3 ? pairs[1] : pairs[3], 8));
  u32 pair = max_bf16x2(bit2 ? second : first, __shfl_xor_sync(~0u, bit2 ? first : second, 4));
  pair = max_bf16x2(pair, __shfl_xor_sync(~0u, pair, 2));
  pair = max_bf16x2(pair, __shfl_xor_sync(~0u, pair, 1));
  row = (bit3 ? 4 : 0) + (bit2 ? 2 : 0) + (bit1 ? 1 : 0);
  return bit1 ? high_bf16(pair) : low_bf16(pair);
}
// A lane of the half-warp that holds `row` after reduce_rows.
__device__ __forceinline__ constexpr i32 lane_of_row(i32 row) {
  return (row & 4 ? 8 : 0) | (row & 2 ? 4 : 0) | (row & 1 ? 2 : 0);
}

// The 8 rows of 128 columns that one half-warp holds, eight columns of each row in every lane.
struct Strip {
  uint4 x[kRows];
};

// Where a warp's unit of work lies: kRows rows from `row`, the group or buffer ending at `end`.
struct Place {
  i32 row, end;
  i32 pair;  // of column blocks

  __device__ __forceinline__ i32 rows() const { return min(end - row, kRows); }
  __device__ __forceinline__ i32 block(i32 lane) const { return pair * 2 + lane / 16; }
  __device__ __forceinline__ i32 column(i32 lane) const { return block(lane) * 128 + lane % 16 * 8; }
};

__device__ __forceinline__ void load_strip(const abi::QuantizeParams& params, const Place& place, i32 lane,
                                           Strip& strip) {
  const i32 column = place.column(lane);
  const bool inside = column < config::kColumns;  // C is a multiple of 16, so eight columns are all in or all out
  const u16* in = static_cast<const u16*>(params.in) + static_cast<i64>(place.row) * config::kColumns + column;
#pragma unroll
  for (i32 r = 0; r < kRows; ++r) {
    strip.x[r] = make_uint4(0, 0, 0, 0);
    if (inside && r < place.rows()) {
      strip.x[r] = *reinterpret_cast<const uint4*>(in + static_cast<i64>(r) * config::kColumns);
    }
  }
}

// Quantizes a loaded strip and stores data and scales of the rows that `place` says are valid.
__device__ __forceinline__ void quantize_strip(const abi::QuantizeParams& params, const Place& place, i32 lane,
                                               const Strip& strip) {
  const i32 column = place.column(lane), rows = place.rows();
  u32 pairs[kRows / 2];
#pragma unroll
  for (i32 r = 0; r < kRows; r += 2) {
    const u32 even = max_magnitude(strip.x[r]), odd = max_magnitude(strip.x[r + 1]);
    pairs[r / 2] = max_bf16x2(__byte_perm(even, odd, 0x5410), __byte_perm(even, odd, 0x7632));
  }
  i32 own_row;
  const Scale scale = scale_of(reduce_rows(pairs, lane, own_row));
  if (lane % 2 == 0 && own_row < rows && place.block(lane) < kColumnBlocks) {
    params.sf[place.block(lane) * leading_rows(params) + place.row + own_row] = scale.sf;
  }
  u8* data = static_cast<u8*>(params.data) + static_cast<i64>(place.row) * config::kColumns + column;
#pragma unroll
  for (i32 r = 0; r < kRows; ++r) {
    const float q = __shfl_sync(~0u, scale.q, lane / 16 * 16 + lane_of_row(r));
    if (column < config::kColumns && r < rows) {
      *reinterpret_cast<uint2*>(data + static_cast<i64>(r) * config::kColumns) = quantize(strip.x[r], q);
    }
  }
}

// The slots between the capacity and the leading dimension belong to no row; they are finite, so that a consumer may
// load them. One block.
__device__ __forceinline__ void fill_scale_padding(const abi::QuantizeParams& params) {
  const i32 padding = static_cast<i32>(leading_rows(params) - params.capacity);
  for (i32 i = threadIdx.x; i < padding * kColumnBlocks; i += config::kThreads) {
    params.sf[i / padding * leading_rows(params) + params.capacity + i % padding] = 1.f;
  }
}

}  // namespace octet

extern "C" __global__ void __launch_bounds__(octet::config::kThreads, octet::config::kBlocksPerSm)
    OCTET_ENTRY(const __grid_constant__ octet::abi::QuantizeParams params) {
  using namespace octet;
  const i32 lane = threadIdx.x % 32;
  const i32 warp = blockIdx.x * (config::kThreads / 32) + threadIdx.x / 32;
  const i32 warps = gridDim.x * (config::kThreads / 32);
  if (blockIdx.x == 0) fill_scale_padding(params);
  i64 unit = warp;
  Strip strip;
#if OCTET_ROW_RANGE
  // Packed groups lie end to end: one range of rows. The first strip sets out before the splits are known, which may
  // fetch rows of the tail but never uses them.
  const auto place_of = [&](i64 index, RowRange range) -> Place {
    return {range.begin + static_cast<i32>(index / kColumnPairs) * kRows, range.end,
            static_cast<i32>(index % kColumnPairs)};
  };
#if !OCTET_SPLITS_STARTS
  load_strip(params, place_of(unit, {0, static_cast<i32>(params.capacity)}), lane, strip);
#endif
  const RowRange rows = packed_rows(params.splits, params.capacity, lane);
  const i64 units = static_cast<i64>((rows.end - rows.begin + kRows - 1) / kRows) * kColumnPairs;
#if OCTET_SPLITS_STARTS
  if (unit < units) load_strip(params, place_of(unit, rows), lane, strip);
#endif
  for (; unit < units; unit += warps) {
    quantize_strip(params, place_of(unit, rows), lane, strip);
    if (unit + warps < units) load_strip(params, place_of(unit + warps, rows), lane, strip);
  }
#endif
#if OCTET_GROUP_TABLE
  // Gaps between groups must not be written, so strips are cut group by group.
  __shared__ GroupTable groups;
  if (threadIdx.x < 32) {
    build_group_table(groups, params.splits, params.capacity, lane,
                      [](i32 rows) { return (rows + kRows - 1) / kRows; });
  }
  __syncthreads();
  i32 entry = 0;
  for (; unit < static_cast<i64>(groups.units) * kColumnPairs; unit += warps) {
    const i32 row_strip = static_cast<i32>(unit / kColumnPairs);
    entry = advance_entry(groups, entry, row_strip);
    const Place place{groups.row_begin[entry] + (row_strip - groups.first_unit[entry]) * kRows, groups.row_end[entry],
                      static_cast<i32>(unit % kColumnPairs)};
    load_strip(params, place, lane, strip);
    quantize_strip(params, place, lane, strip);
  }
#endif
}
