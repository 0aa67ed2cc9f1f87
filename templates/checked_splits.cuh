// +checked: reports the first impossible number of the splits. Sizes, ends and starts are read as they are; the rest of
// the kernel sees them clamped (groups.cuh).
#pragma once

#include "groups.cuh"

namespace octet {

// Codes of status_text in octet/runtime.h.
constexpr i32 kNegative = 1, kPastEnd = 2, kGoesDown = 3, kSumPastEnd = 4, kNotWhole = 5;

__device__ __forceinline__ i32 saturate(i64 value) {
  constexpr i64 kMost = 0x7fffffff;
  return static_cast<i32>(value > kMost ? kMost : (value < -kMost ? -kMost : value));
}

__device__ __forceinline__ void report(i32* status, i32 code, i32 index, i64 value, i64 limit) {
  status[0] = code;
  status[1] = index;
  status[2] = saturate(value);
  status[3] = saturate(limit);
}

// One thread of the grid calls it; in order, so that the lowest index wins.
__device__ __forceinline__ void check_splits(i32* status, const void* splits, i64 capacity) {
#if OCTET_SPLITS_STARTS
  constexpr i32 kNumbers = config::kGroups + 1;
#endif
#if !OCTET_SPLITS_STARTS
  constexpr i32 kNumbers = config::kGroups;
#endif
#if OCTET_MASKED
  const i64 limit = config::kMaxM;
#endif
#if !OCTET_MASKED
  const i64 limit = capacity;
#endif
  i64 end = 0;  // of the groups before
#pragma unroll 1
  for (i32 i = 0; i < kNumbers; ++i) {
    const i64 value = split_at(splits, i);
    if (value < 0) return report(status, kNegative, i, value, 0);
#if OCTET_MASKED
    end = value;
#endif
#if OCTET_PREFIX_SUMS
#if OCTET_PADDED
    end = align_rows(end);
#endif
    if (value > 0 && value > limit - end) return report(status, kSumPastEnd, i, end + value, limit);
    end += value;
#endif
#if OCTET_FROM_ENDS || OCTET_FROM_STARTS
#if OCTET_PADDED
    // Equal to where the one before ends: an empty group.
    if (value != end && value < align_rows(end)) return report(status, kGoesDown, i, value, align_rows(end));
#endif
#if !OCTET_PADDED
    if (value < end) return report(status, kGoesDown, i, value, end);
#endif
    end = value;
#endif
#if OCTET_MASKED || OCTET_FROM_ENDS || OCTET_FROM_STARTS
    if (end > limit) return report(status, kPastEnd, i, value, limit);
#endif
#if OCTET_DEEPGEMM
    if (end % 128 != 0) return report(status, kNotWhole, i, end, 128);
#endif
  }
}

}  // namespace octet
