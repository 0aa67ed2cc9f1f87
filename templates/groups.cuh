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
#if OCTET_GROUP_TABLE
// The groups that have rows, in order, and how many units of work each makes. Lives in shared memory; empty groups have
// no entry, so a walk over it never idles.
struct GroupTable {
  i32 count;  // entries
  i32 units;  // of all entries
  i32 first_unit[config::kGroups];
  i32 row_begin[config::kGroups];
  i32 row_end[config::kGroups];
  u16 group[config::kGroups];
};

#if OCTET_PADDED
__device__ __forceinline__ i64 align_rows(i64 row) {
  return (row + config::kAlignment - 1) / config::kAlignment * config::kAlignment;
}
#endif

// Fills the table. Called by one whole warp; lane l reads groups [l * kPerLane, (l + 1) * kPerLane).
// `units_of(rows)`: units of a group that has so many rows, at least one.
template <typename UnitsOf>
__device__ __forceinline__ void build_group_table(GroupTable& table, const void* splits, i64 capacity, i32 lane,
                                                  UnitsOf units_of) {
  constexpr i32 kPerLane = (config::kGroups + 31) / 32;
  const i32 first = lane * kPerLane;
  const i32 last = min(first + kPerLane, config::kGroups);

#if OCTET_SPLITS_SIZES
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
#if OCTET_SPLITS_SIZES
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
#if OCTET_SPLITS_ENDS
    i64 previous = g == 0 ? 0 : clamp_rows(split_at(splits, g - 1), capacity);
#if OCTET_PADDED
    previous = align_rows(previous);
#endif
    begin = static_cast<i32>(clamp_rows(previous, capacity));
    end = static_cast<i32>(clamp_rows(split_at(splits, g), capacity));
#endif
#if OCTET_SPLITS_STARTS
    begin = static_cast<i32>(clamp_rows(split_at(splits, g), capacity));
    end = static_cast<i32>(clamp_rows(split_at(splits, g + 1), capacity));
#endif
  };

  i32 units = 0, entries = 0;
#pragma unroll 1
  for (i32 g = first; g < last; ++g) {
    i32 begin, end;
    rows_of(g, begin, end);
    if (end > begin) {
      units += units_of(end - begin);
      ++entries;
    }
  }
  i32 unit = warp_exclusive_sum(units, lane);
  i32 entry = warp_exclusive_sum(entries, lane);
  if (lane == 31) {
    table.units = unit + units;
    table.count = entry + entries;
  }
#if OCTET_SPLITS_SIZES
  start = lane_start;
#endif
#pragma unroll 1
  for (i32 g = first; g < last; ++g) {
    i32 begin, end;
    rows_of(g, begin, end);
    if (end <= begin) continue;
    table.first_unit[entry] = unit;
    table.row_begin[entry] = begin;
    table.row_end[entry] = end;
    table.group[entry] = static_cast<u16>(g);
    unit += units_of(end - begin);
    ++entry;
  }
}

// Entry that holds `unit`, at or after `entry`. Units are asked for in increasing order, so a walk beats a search.
__device__ __forceinline__ i32 advance_entry(const GroupTable& table, i32 entry, i32 unit) {
  while (entry + 1 < table.count && table.first_unit[entry + 1] <= unit) ++entry;
  return entry;
}
#endif

}  // namespace octet
