// Where groups lie in a buffer of rows, read from the device array of splits.
//
// Impossible metadata (negative, decreasing, past the capacity) is clamped to what lies inside the buffer.
#pragma once

#include "types.cuh"

namespace octet {

__device__ __forceinline__ i64 split_at(const void* splits, i32 index) {
#if OCTET_SPLITS_I64
  return static_cast<const i64*>(splits)[index];
#endif
#if OCTET_SPLITS_I32
  return static_cast<const i32*>(splits)[index];
#endif
}

__device__ __forceinline__ i64 clamp_rows(i64 value, i64 capacity) {
  return value < 0 ? 0 : (value > capacity ? capacity : value);
}

#if OCTET_GROUP_TABLE || OCTET_SPLITS_SIZES
// Sum over the lanes before this one.
template <typename T>
__device__ __forceinline__ T warp_exclusive_sum(T value, i32 lane) {
  T sum = value;
#pragma unroll
  for (i32 offset = 1; offset < 32; offset *= 2) {
    const T other = __shfl_up_sync(~0u, sum, offset);
    if (lane >= offset) sum += other;
  }
  return sum - value;
}
#endif
#if OCTET_ROW_RANGE
struct RowRange {
  i32 begin, end;
};
// The rows of all groups of a packed buffer, which lie end to end. Called by a whole warp; every lane gets the answer.
__device__ __forceinline__ RowRange packed_rows(const void* splits, i64 capacity, i32 lane) {
#if OCTET_SPLITS_SIZES
  i64 sum = 0;
#pragma unroll 8
  for (i32 group = lane; group < config::kGroups; group += 32) sum += clamp_rows(split_at(splits, group), capacity);
  sum += warp_exclusive_sum(sum, lane);
  const i64 total = __shfl_sync(~0u, sum, 31);
  return {0, static_cast<i32>(clamp_rows(total, capacity))};
#endif
#if OCTET_SPLITS_ENDS
  return {0, static_cast<i32>(clamp_rows(split_at(splits, config::kGroups - 1), capacity))};
#endif
#if OCTET_SPLITS_STARTS
  return {static_cast<i32>(clamp_rows(split_at(splits, 0), capacity)),
          static_cast<i32>(clamp_rows(split_at(splits, config::kGroups), capacity))};
#endif
}
#endif
#if OCTET_ROW_GROUPS
// Groups of kCount neighbouring rows of a packed buffer: lane l < kCount gets that of row + l, kGroups or -1 outside. A
// whole warp counts the groups that end at or before each row, so that no table has to be made first.
template <i32 kCount>
__device__ __forceinline__ i32 groups_of_rows(const void* splits, i64 capacity, i64 row, i32 lane) {
  constexpr i32 kPerLane = (config::kGroups + 31) / 32;
  const i32 first = lane * kPerLane, last = min(first + kPerLane, config::kGroups);
  i32 ended[kCount] = {};
#if OCTET_SPLITS_SIZES
  i64 extent = 0;
  for (i32 g = first; g < last; ++g) extent += clamp_rows(split_at(splits, g), capacity);
  i64 end = warp_exclusive_sum(extent, lane);
#endif
  for (i32 g = first; g < last; ++g) {
#if OCTET_SPLITS_SIZES
    end += clamp_rows(split_at(splits, g), capacity);
#endif
#if OCTET_SPLITS_ENDS
    const i64 end = split_at(splits, g);
#endif
#if OCTET_SPLITS_STARTS
    const i64 end = split_at(splits, g + 1);
#endif
#pragma unroll
    for (i32 r = 0; r < kCount; ++r) ended[r] += end <= row + r;
  }
  i32 group = config::kGroups;
#pragma unroll
  for (i32 r = 0; r < kCount; ++r) {
    const i32 sum = __reduce_add_sync(~0u, ended[r]);
    if (lane == r) group = sum;
  }
#if OCTET_SPLITS_STARTS
  if (row + lane < split_at(splits, 0)) group = -1;
#endif
  return row + lane < capacity ? group : config::kGroups;
}
#endif
#if OCTET_GROUP_TABLE
// The groups that have work, in order, and how many units each makes. Lives in shared memory; groups without work have
// no entry, so a walk over it never idles.
struct GroupTable {
  i32 count;  // entries
  i32 units;  // of all entries
  i32 first_unit[config::kGroups];
  i32 row_begin[config::kGroups];
  i32 row_end[config::kGroups];
#if OCTET_SUB_BLOCKS
  i32 first_sub_block[config::kGroups];  // blocks of 32 rows before the group
#endif
  u16 group[config::kGroups];
};

#if OCTET_PADDED
__device__ __forceinline__ i64 align_rows(i64 row) {
  return (row + config::kAlignment - 1) / config::kAlignment * config::kAlignment;
}
#endif

// Fills the table. Called by one whole warp; lane l reads groups [l * kPerLane, (l + 1) * kPerLane).
// `units_of(rows)`: units of a group that has so many rows; a group without units gets no entry. Rows are never
// negative.
template <typename UnitsOf>
__device__ __forceinline__ void build_group_table(GroupTable& table, const void* splits, i64 capacity, i32 lane,
                                                  UnitsOf units_of) {
  constexpr i32 kPerLane = (config::kGroups + 31) / 32;
  const i32 first = lane * kPerLane;
  const i32 last = min(first + kPerLane, config::kGroups);

#if OCTET_PREFIX_SUMS
  // Rows that the groups of the lanes before this one take up.
  i64 extent = 0;
#pragma unroll 1
  for (i32 g = first; g < last; ++g) {
    const i64 rows = clamp_rows(split_at(splits, g), capacity);
#if OCTET_PADDED
    extent += align_rows(rows);
#endif
#if OCTET_PACKED
    extent += rows;
#endif
  }
  const i64 lane_start = warp_exclusive_sum(extent, lane);
  i64 start = lane_start;
#endif
  const auto rows_of = [&](i32 g, i32& begin, i32& end) {
#if OCTET_MASKED
    begin = g * config::kMaxM;
    end = begin + static_cast<i32>(clamp_rows(split_at(splits, g), config::kMaxM));
#endif
#if OCTET_PREFIX_SUMS
    const i64 rows = clamp_rows(split_at(splits, g), capacity);
    begin = static_cast<i32>(clamp_rows(start, capacity));
    end = static_cast<i32>(clamp_rows(start + rows, capacity));
#if OCTET_PADDED
    start += align_rows(rows);
#endif
#if OCTET_PACKED
    start += rows;
#endif
#endif
#if OCTET_FROM_ENDS
    i64 previous = g == 0 ? 0 : clamp_rows(split_at(splits, g - 1), capacity);
#if OCTET_PADDED
    previous = align_rows(previous);
#endif
    begin = static_cast<i32>(clamp_rows(previous, capacity));
    end = static_cast<i32>(clamp_rows(split_at(splits, g), capacity));
#endif
#if OCTET_FROM_STARTS
    begin = static_cast<i32>(clamp_rows(split_at(splits, g), capacity));
    end = static_cast<i32>(clamp_rows(split_at(splits, g + 1), capacity));
#endif
    end = max(begin, end);
  };

  i32 units = 0, entries = 0;
#if OCTET_SUB_BLOCKS
  i32 sub_blocks = 0;
#endif
#pragma unroll 1
  for (i32 g = first; g < last; ++g) {
    i32 begin, end;
    rows_of(g, begin, end);
    const i32 own = units_of(end - begin);
    units += own;
    entries += own > 0;
#if OCTET_SUB_BLOCKS
    sub_blocks += (end - begin + 31) / 32;
#endif
  }
  i32 unit = warp_exclusive_sum(units, lane);
  i32 entry = warp_exclusive_sum(entries, lane);
#if OCTET_SUB_BLOCKS
  i32 sub_block = warp_exclusive_sum(sub_blocks, lane);
#endif
  if (lane == 31) {
    table.units = unit + units;
    table.count = entry + entries;
  }
#if OCTET_PREFIX_SUMS
  start = lane_start;
#endif
#pragma unroll 1
  for (i32 g = first; g < last; ++g) {
    i32 begin, end;
    rows_of(g, begin, end);
    const i32 own = units_of(end - begin);
    if (own == 0) continue;
    table.first_unit[entry] = unit;
    table.row_begin[entry] = begin;
    table.row_end[entry] = end;
    table.group[entry] = static_cast<u16>(g);
#if OCTET_SUB_BLOCKS
    table.first_sub_block[entry] = sub_block;
    sub_block += (end - begin + 31) / 32;
#endif
    unit += own;
    ++entry;
  }
}

// Entry that holds `unit`, at or after `entry`. Units are asked for in increasing order, so a walk beats a search.
__device__ __forceinline__ i32 advance_entry(const GroupTable& table, i32 entry, i32 unit) {
  while (entry + 1 < table.count && table.first_unit[entry + 1] <= unit) ++entry;
  return entry;
}
#if OCTET_FIND_ENTRY
// The table entry of a group; -1 for a group without work.
__device__ __forceinline__ i32 find_entry(const GroupTable& table, i32 group) {
  i32 low = 0, high = table.count;
  while (low < high) {
    const i32 middle = (low + high) / 2;
    if (table.group[middle] < group) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < table.count && table.group[low] == group ? low : -1;
}
#endif
#endif

}  // namespace octet
