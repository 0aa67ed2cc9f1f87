// A ring of buffers between producers and consumers, each buffer with a "full" and an "empty" barrier.
#pragma once

#include "ptx.cuh"

namespace octet {

template <i32 kStages>
struct Ring {
  u64 full_barriers[kStages];
  u64 empty_barriers[kStages];

  __device__ __forceinline__ u32 full(i32 stage) { return shared_address(&full_barriers[stage]); }
  __device__ __forceinline__ u32 empty(i32 stage) { return shared_address(&empty_barriers[stage]); }
  __device__ __forceinline__ void wait_full(i32 stage, u32 parity) { mbarrier_wait(full(stage), parity); }
  __device__ __forceinline__ void wait_empty(i32 stage, u32 parity) { mbarrier_wait(empty(stage), parity); }
  // How many arrivals complete a phase. One thread, before anyone else uses the ring.
  __device__ __forceinline__ void init(u32 producers, u32 consumers) {
    for (i32 stage = 0; stage < kStages; ++stage) {
      mbarrier_init(full(stage), producers);
      mbarrier_init(empty(stage), consumers);
    }
  }
};

// Where a producer or consumer stands in a ring. A producer starts with parity 1: waiting for the phase before the
// first one succeeds at once, which is what an empty ring should do.
template <i32 kStages>
struct RingPosition {
  i32 stage = 0;
  u32 parity;
  __device__ __forceinline__ explicit RingPosition(u32 first_parity) : parity(first_parity) {}
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

}  // namespace octet
