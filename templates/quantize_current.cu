// Tensor scaling with the scale of the data at hand: [rows, C] -> FP8 [rows, C], SF [G] (and amax [G]), in one kernel.
//
// The largest magnitude of a group must be known before its first element can be cast, so the data is read twice. What
// counts is that the second read finds it in L2: a group's chunks are cast in the order opposite to that in which their
// magnitudes were found. While the last of those are on their way, the first ones of the next group are begun, so that
// no block waits for long.
//
// Blocks take chunks from one list, in order. A cast waits for chunks that come before it in the list, and whoever took
// those is running; so the kernel ends however few blocks run at a time. Bit for bit what docs/numerics.md says: a
// maximum does not depend on the order, and each chunk leaves its own.
#include "abi.h"
#include "groups.cuh"
#include "scale.cuh"

namespace octet {

constexpr i32 kVectors = 8;  // of eight elements, per thread and chunk
constexpr i32 kChunk = kVectors * config::kThreads;
constexpr i32 kWarps = config::kThreads / 32;
constexpr i64 kRowVectors = config::kColumns / 8;

__device__ __forceinline__ i32 chunks_of_rows(i32 rows) {
  return static_cast<i32>((rows * kRowVectors + kChunk - 1) / kChunk);
}

struct SharedStorage {
  GroupTable groups;  // a unit is a chunk
  u32 tickets[2];
  float warp_max[2][kWarps];  // of the last chunk's magnitudes; two, so that one barrier per chunk is enough
  float group_max[kWarps];
};

__device__ __forceinline__ i32 chunks_of_entry(const GroupTable& groups, i32 entry) {
  return (entry + 1 < groups.count ? groups.first_unit[entry + 1] : groups.units) - groups.first_unit[entry];
}

// What one place of the list stands for.
struct Item {
  i32 entry, chunk;
  bool casts;
};

// The list: magnitudes of entry 0; then for every entry k the first `head` chunks of magnitudes of k + 1, the casts of
// k from the last chunk to the first, and the other magnitudes of k + 1. Asked for increasing places.
class ChunkList {
 public:
  __device__ __forceinline__ ChunkList(const GroupTable& groups, i32 head) : groups_(groups), head_limit_(head) {}

  __device__ __forceinline__ Item at(u32 index) {
    // Places before entry_'s part: the magnitudes of entries up to it and the casts of those before it.
    while (entry_ < groups_.count && index >= start_ + part()) {
      start_ += part();
      ++entry_;
    }
    const i32 local = static_cast<i32>(index - start_);
    if (entry_ < 0) return {0, local, false};
    const i32 casts = chunks_of_entry(groups_, entry_), head = head_of(entry_ + 1);
    if (local < head) return {entry_ + 1, local, false};
    if (local < head + casts) return {entry_, casts - 1 - (local - head), true};
    return {entry_ + 1, local - casts, false};
  }

 private:
  __device__ __forceinline__ i32 magnitudes_of(i32 entry) const {
    return entry < groups_.count ? chunks_of_entry(groups_, entry) : 0;
  }
  __device__ __forceinline__ i32 head_of(i32 entry) const { return min(magnitudes_of(entry), head_limit_); }
  __device__ __forceinline__ u32 part() const {
    return static_cast<u32>((entry_ < 0 ? 0 : chunks_of_entry(groups_, entry_)) + magnitudes_of(entry_ + 1));
  }

  const GroupTable& groups_;
  i32 head_limit_;
  i32 entry_ = -1;
  u32 start_ = 0;
};

// The part of a group's data that a thread holds.
struct Vectors {
  Eight x[kVectors];
};
__device__ __forceinline__ i64 first_vector(const Item& item) {
  return static_cast<i64>(item.chunk) * kChunk + threadIdx.x;
}

// What is read first of a group makes room in L2 for what is read last: that much of it is still there for the casts.
constexpr i64 kKeptVectors = 32 * 1024 * 1024 / sizeof(Eight);  // of an H200's 50 MB of L2
__device__ __forceinline__ u64 policy_of(const Item& item, i64 vectors) {
  const bool kept = !item.casts && static_cast<i64>(item.chunk + 1) * kChunk + kKeptVectors > vectors;
  return kept ? policy_evict_last() : policy_evict_first();
}

__device__ __forceinline__ void load_chunk(const abi::QuantizeParams& params, const GroupTable& groups,
                                           const Item& item, Vectors& vectors) {
  const i64 begin = groups.row_begin[item.entry] * kRowVectors, end = groups.row_end[item.entry] * kRowVectors;
  const u64 policy = policy_of(item, end - begin);
  const Element* in = static_cast<const Element*>(params.in);
#pragma unroll
  for (i32 v = 0; v < kVectors; ++v) {
    const i64 at = begin + first_vector(item) + v * config::kThreads;
    vectors.x[v] = zero_eight();
    if (at < end) vectors.x[v] = load_eight(in + at * 8, policy);
  }
}

// A warp's largest value, in every lane.
__device__ __forceinline__ float warp_largest(float own) {
#pragma unroll
  for (i32 width = 16; width > 0; width /= 2) own = fmaxf(own, __shfl_xor_sync(~0u, own, width));
  return own;
}

// Finds each warp's largest magnitude of a chunk.
__device__ __forceinline__ void find_magnitude(SharedStorage& shared, i32 parity, const Vectors& vectors) {
  Magnitude largest = max_magnitude(vectors.x[0]);
#pragma unroll
  for (i32 v = 1; v < kVectors; ++v) largest = larger(largest, max_magnitude(vectors.x[v]));
  const float amax = warp_largest(amax_of(largest));
  if (threadIdx.x % 32 == 0) shared.warp_max[parity][threadIdx.x / 32] = amax;
}

// Leaves a chunk's largest magnitude for the casts of its group, and counts it. After the barrier that follows
// find_magnitude; one warp.
__device__ __forceinline__ void publish(const abi::QuantizeParams& params, const SharedStorage& shared, i32 parity,
                                        const Item& item) {
  if (threadIdx.x >= 32) return;
  const float amax = warp_largest(threadIdx.x < kWarps ? shared.warp_max[parity][threadIdx.x] : 0.f);
  if (threadIdx.x == 0) {
    __stcg(params.tile_amax + shared.groups.first_unit[item.entry] + item.chunk, amax);
    add_release(params.counters + 1 + item.entry, 1);
  }
}

// The largest magnitude of a group, once all of its chunks have left theirs. Two barriers.
__device__ __forceinline__ float group_amax(const abi::QuantizeParams& params, SharedStorage& shared, i32 entry) {
  const i32 chunks = chunks_of_entry(shared.groups, entry), first = shared.groups.first_unit[entry];
  if (threadIdx.x == 0) {
    while (load_acquire(params.counters + 1 + entry) != static_cast<u32>(chunks)) __nanosleep(64);
  }
  __syncthreads();
  float own = 0.f;
  for (i32 i = threadIdx.x; i < chunks; i += config::kThreads) own = fmaxf(own, __ldcg(params.tile_amax + first + i));
  own = warp_largest(own);
  if (threadIdx.x % 32 == 0) shared.group_max[threadIdx.x / 32] = own;
  __syncthreads();
  float largest = 0.f;
#pragma unroll
  for (i32 w = 0; w < kWarps; ++w) largest = fmaxf(largest, shared.group_max[w]);
  return largest;
}

__device__ __forceinline__ void store_group(const abi::QuantizeParams& params, i32 group, float sf, float amax) {
  static_cast<float*>(params.sf)[group] = sf;
#if OCTET_AMAX
  params.amax[group] = amax;
#endif
}

__device__ __forceinline__ void cast_chunk(const abi::QuantizeParams& params, const GroupTable& groups,
                                           const Item& item, const Vectors& vectors, float q) {
  const i64 begin = groups.row_begin[item.entry] * kRowVectors, end = groups.row_end[item.entry] * kRowVectors;
  uint2* data = static_cast<uint2*>(params.data);
#pragma unroll
  for (i32 v = 0; v < kVectors; ++v) {
    const i64 at = begin + first_vector(item) + v * config::kThreads;
    if (at < end) __stcs(data + at, quantize_row(vectors.x[v], q));  // nobody reads it before L2 needs the room
  }
}

// Groups without rows: the scale of nothing. One block.
__device__ __forceinline__ void store_empty_groups(const abi::QuantizeParams& params, const GroupTable& groups) {
  for (i32 group = threadIdx.x; group < config::kGroups; group += config::kThreads) {
    if (find_entry(groups, group) < 0) store_group(params, group, 1.f, 0.f);
  }
}

}  // namespace octet

extern "C" __global__ void __launch_bounds__(octet::config::kThreads, octet::config::kBlocksPerSm)
    OCTET_ENTRY(const __grid_constant__ octet::abi::QuantizeParams params) {
  using namespace octet;
#if OCTET_NOOP
  if (*params.noop != 0) return;
#endif
  __shared__ SharedStorage shared;
  if (threadIdx.x < 32) {
    build_group_table(shared.groups, params.splits, params.capacity, threadIdx.x, chunks_of_rows);
  }
  if (threadIdx.x == 0) shared.tickets[0] = atomicAdd(params.counters, 1u);
  __syncthreads();
  if (blockIdx.x == 0) store_empty_groups(params, shared.groups);
  ChunkList list(shared.groups, gridDim.x);
  i32 known_entry = -1;  // whose scale is known
  Scale scale{1.f, 1.f};
  float amax = 0.f;
  Item item{};
  bool unpublished = false;  // magnitudes of the item before
  i32 parity = 0;
  for (;; parity ^= 1) {
    if (unpublished) publish(params, shared, parity ^ 1, item);
    const u32 index = shared.tickets[parity];
    if (index >= 2 * static_cast<u32>(shared.groups.units)) break;
    u32 next = 0;
    if (threadIdx.x == 0) next = atomicAdd(params.counters, 1u);  // on its way while this chunk is worked on
    item = list.at(index);
    Vectors vectors;
    load_chunk(params, shared.groups, item, vectors);
    unpublished = !item.casts;
    if (item.casts) {
      if (known_entry != item.entry) {
        amax = group_amax(params, shared, item.entry);
        scale = scale_of(fmaxf(amax, params.amax_floor));
        known_entry = item.entry;
      }
      if (item.chunk == 0 && threadIdx.x == 0) store_group(params, shared.groups.group[item.entry], scale.sf, amax);
      cast_chunk(params, shared.groups, item, vectors, scale.q);
    } else {
      find_magnitude(shared, parity, vectors);
    }
    if (threadIdx.x == 0) shared.tickets[parity ^ 1] = next;
    __syncthreads();
  }
}
