// Where groups lie in a buffer of rows, read from the device array of splits.
//
// Impossible metadata (negative, decreasing, past the capacity) is clamped to what lies inside the buffer; groups never
// overlap.
#pragma once

#include "types.cuh"

namespace octet {

#if OCTET_SPLITS_I32 || OCTET_SPLITS_I64
__device__ __forceinline__ i64 split_at(const void* splits, i32 index) {
#if OCTET_SPLITS_I64
  return static_cast<const i64*>(splits)[index];
#endif
#if OCTET_SPLITS_I32
  return static_cast<const i32*>(splits)[index];
#endif
}
#endif

__device__ __forceinline__ i64 clamp_rows(i64 value, i64 capacity) {
  return value < 0 ? 0 : (value > capacity ? capacity : value);
}

#if OCTET_VISIT_GROUPS || OCTET_ROW_GROUPS
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
#if OCTET_FROM_ENDS || OCTET_FROM_STARTS
#if OCTET_VISIT_GROUPS
// Largest value, at least 0, of the lanes before this one.
__device__ __forceinline__ i64 warp_exclusive_max(i64 value, i32 lane) {
#pragma unroll
  for (i32 offset = 1; offset < 32; offset *= 2) {
    const i64 other = __shfl_up_sync(~0u, value, offset);
    if (lane >= offset) value = max(value, other);
  }
  const i64 before = __shfl_up_sync(~0u, value, 1);
  return lane == 0 ? 0 : before;
}
#endif
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
  // A lane's sum has less than 48 bits, so both halves of the total fit.
  const u32 low = __reduce_add_sync(~0u, static_cast<u32>(sum & 0xffff));
  const u32 high = __reduce_add_sync(~0u, static_cast<u32>(sum >> 16));
  return {0, static_cast<i32>(clamp_rows((static_cast<i64>(high) << 16) + low, capacity))};
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
#if OCTET_VISIT_GROUPS
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
#endif

#if OCTET_PADDED
__device__ __forceinline__ i64 align_rows(i64 row) {
  return (row + config::kAlignment - 1) / config::kAlignment * config::kAlignment;
}
#endif

// A group that has work.
struct GroupEntry {
  i32 group;
  i32 row_begin, row_end;
  i32 units, first_unit;  // of work
  i32 index;              // among the groups that have work; where it was asked for
#if OCTET_SUB_BLOCKS
  i32 first_sub_block;  // blocks of 32 rows before the group
#endif
};

// How much work there is in all.
struct GroupTotals {
  i32 units, entries;
};

// Calls visit(entry) for every group that has work: lane l for groups [l * kPerLane, (l + 1) * kPerLane). Called by one
// whole warp; every lane gets the totals, if kIndexed, as entries get their index. `units_of(rows)`: units of a group
// that has so many rows, never negative.
template <bool kIndexed, typename UnitsOf, typename Visit>
__device__ __forceinline__ GroupTotals visit_groups(const void* splits, i64 capacity, i32 lane, const UnitsOf& units_of,
                                                    const Visit& visit) {
  constexpr i32 kPerLane = (config::kGroups + 31) / 32;
  const i32 first = lane * kPerLane;
  const i32 last = min(first + kPerLane, config::kGroups);

#if OCTET_PREFIX_SUMS
  // Rows that the groups of the lanes before this one take up.
  i64 extent = 0, last_rows = 0;
#pragma unroll 1
  for (i32 g = first; g < last; ++g) {
    last_rows = clamp_rows(split_at(splits, g), capacity);
#if OCTET_PADDED
    extent += align_rows(last_rows);
#endif
#if OCTET_PACKED
    extent += last_rows;
#endif
  }
  const i64 lane_start = warp_exclusive_sum(extent, lane);
  i64 start = lane_start;
#endif
#if OCTET_FROM_ENDS || OCTET_FROM_STARTS
  // Where the groups before this lane's have ended: the last such place, so that groups never overlap, whatever the
  // array holds.
  i64 farthest = 0;
#if OCTET_FROM_STARTS
  if (lane == 0) farthest = clamp_rows(split_at(splits, 0), capacity);
#endif
#pragma unroll 1
  for (i32 g = first; g < last; ++g) {
#if OCTET_FROM_ENDS
    farthest = max(farthest, clamp_rows(split_at(splits, g), capacity));
#endif
#if OCTET_FROM_STARTS
    farthest = max(farthest, clamp_rows(split_at(splits, g + 1), capacity));
#endif
  }
  i64 lane_end = warp_exclusive_max(farthest, lane);
#if OCTET_FROM_STARTS
  if (lane == 0) lane_end = clamp_rows(split_at(splits, 0), capacity);
#endif
  i64 ended = lane_end;
#endif
  const auto rows_of = [&](i32 g, i32& begin, i32& end) {
#if OCTET_DENSE
    begin = 0;
    end = static_cast<i32>(capacity);
#endif
#if OCTET_MASKED
    begin = g * config::kMaxM;
    end = begin + static_cast<i32>(clamp_rows(split_at(splits, g), config::kMaxM));
#endif
#if OCTET_PREFIX_SUMS
    const i64 rows = kPerLane == 1 ? last_rows : clamp_rows(split_at(splits, g), capacity);
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
#if OCTET_PADDED
    begin = static_cast<i32>(clamp_rows(align_rows(ended), capacity));
#endif
#if OCTET_PACKED
    begin = static_cast<i32>(ended);
#endif
    ended = max(ended, clamp_rows(split_at(splits, g), capacity));
    end = static_cast<i32>(ended);
#endif
#if OCTET_FROM_STARTS
    begin = static_cast<i32>(ended);
    ended = max(ended, clamp_rows(split_at(splits, g + 1), capacity));
    end = static_cast<i32>(ended);
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
  GroupEntry entry;
  entry.first_unit = warp_exclusive_sum(units, lane);
  entry.index = kIndexed ? warp_exclusive_sum(entries, lane) : 0;
#if OCTET_SUB_BLOCKS
  entry.first_sub_block = warp_exclusive_sum(sub_blocks, lane);
#endif
  GroupTotals totals{};
  if constexpr (kIndexed) {
    totals = {__shfl_sync(~0u, entry.first_unit + units, 31), __shfl_sync(~0u, entry.index + entries, 31)};
  }
#if OCTET_PREFIX_SUMS
  start = lane_start;
#endif
#if OCTET_FROM_ENDS || OCTET_FROM_STARTS
  ended = lane_end;
#endif
#pragma unroll 1
  for (i32 g = first; g < last; ++g) {
    rows_of(g, entry.row_begin, entry.row_end);
    entry.units = units_of(entry.row_end - entry.row_begin);
    if (entry.units == 0) continue;
    entry.group = g;
    visit(entry);
    entry.first_unit += entry.units;
    ++entry.index;
#if OCTET_SUB_BLOCKS
    entry.first_sub_block += (entry.row_end - entry.row_begin + 31) / 32;
#endif
  }
  return totals;
}

#if OCTET_GROUP_TABLE
// Fills the table. Called by one whole warp.
template <typename UnitsOf>
__device__ __forceinline__ void build_group_table(GroupTable& table, const void* splits, i64 capacity, i32 lane,
                                                  const UnitsOf& units_of) {
  const GroupTotals totals = visit_groups<true>(splits, capacity, lane, units_of, [&](const GroupEntry& entry) {
    table.first_unit[entry.index] = entry.first_unit;
    table.row_begin[entry.index] = entry.row_begin;
    table.row_end[entry.index] = entry.row_end;
    table.group[entry.index] = static_cast<u16>(entry.group);
#if OCTET_SUB_BLOCKS
    table.first_sub_block[entry.index] = entry.first_sub_block;
#endif
  });
  if (lane == 0) {
    table.units = totals.units;
    table.count = totals.entries;
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
#endif

}  // namespace octet
