// Runs a generated kernel on the host: one thread block after another, its threads as fibers that change places at
// barriers and warp exchanges. Slow and exact; what it shows are errors of logic, indices and padding, not races.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

#define __device__
#define __forceinline__ inline
#define __noinline__
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static

struct float2 {
  float x, y;
};
struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};
struct float4 {
  float x, y, z, w;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

namespace emulator {

constexpr unsigned kMaxThreads = 1024;

struct Fiber {
  ucontext_t context;
  std::vector<char> stack;
  bool done = false;
};

// Threads that meet: the last one to come lets all go on.
struct Meeting {
  unsigned waiting = 0, generation = 0;
};

struct Block {
  std::vector<Fiber> fibers;
  ucontext_t scheduler;
  unsigned threads = 0, current = 0, index = 0, blocks = 0;
  Meeting all;
  std::array<Meeting, kMaxThreads / 32> warps;
  std::array<std::array<std::uint64_t, 32>, kMaxThreads / 32> exchanged;
  std::function<void()> kernel;
};
inline Block block;

inline void yield() { swapcontext(&block.fibers[block.current].context, &block.scheduler); }

inline void fiber_main() {
  block.kernel();
  block.fibers[block.current].done = true;
  yield();
}

inline void meet(Meeting& meeting, unsigned threads) {
  constexpr long kPatience = 2000000;
  const unsigned generation = meeting.generation;
  if (++meeting.waiting == threads) {
    meeting.waiting = 0;
    ++meeting.generation;
    return;
  }
  for (long turns = 0; meeting.generation == generation; ++turns) {
    if (turns == kPatience) {
      std::fprintf(stderr, "threads wait for one that does not come\n");
      std::exit(3);
    }
    yield();
  }
}
inline void meet_warp() { meet(block.warps[block.current / 32], 32); }

template <typename T>
T exchange(T value, int source) {
  auto& slots = block.exchanged[block.current / 32];
  std::memcpy(&slots[block.current % 32], &value, sizeof value);
  meet_warp();
  T result;
  std::memcpy(&result, &slots[static_cast<unsigned>(source) & 31], sizeof result);
  meet_warp();
  return result;
}

// What the lanes of a warp show each other: every lane's value, for reading until its second next call.
template <typename T>
const std::array<T, 32>& show(const T& value) {
  static std::array<std::array<std::array<T, 32>, 2>, kMaxThreads / 32> shown;
  static std::array<unsigned, kMaxThreads> calls;
  const unsigned thread = block.current;
  auto& slots = shown[thread / 32][calls[thread]++ % 2];
  slots[thread % 32] = value;
  meet_warp();
  return slots;
}

// Dynamic shared memory, and copies to it that arrive when they are waited for: until then their target is NaN.
struct Copy {
  std::uint8_t* to;
  const void* from;
  unsigned size, bytes;
};
inline std::vector<std::uint8_t> shared_memory;
inline std::array<std::vector<std::vector<Copy>>, kMaxThreads> copies;  // groups of each thread; the last one is open
inline std::vector<std::pair<const std::uint8_t*, const std::uint8_t*>> readable;

inline std::uint8_t* dynamic_shared() {
  const std::size_t alignment = 1024;
  if (shared_memory.empty()) shared_memory.assign((1 << 18) + alignment, 0xFF);
  return reinterpret_cast<std::uint8_t*>((reinterpret_cast<std::uintptr_t>(shared_memory.data()) + alignment - 1) /
                                         alignment * alignment);
}
inline void start_copy(unsigned to, const void* from, unsigned size, unsigned bytes) {
  const auto* first = static_cast<const std::uint8_t*>(from);
  const bool allowed = std::any_of(readable.begin(), readable.end(), [&](const auto& range) {
    return first >= range.first && first + bytes <= range.second;
  });
  if (bytes > 0 && !allowed) {
    std::fprintf(stderr, "a copy reads outside the buffers\n");
    std::exit(4);
  }
  std::memset(dynamic_shared() + to, 0xFF, size);
  auto& groups = copies[block.current];
  if (groups.empty()) groups.emplace_back();
  groups.back().push_back({dynamic_shared() + to, from, size, bytes});
}
inline void end_copy_group() {
  auto& groups = copies[block.current];
  if (groups.empty()) groups.emplace_back();
  groups.emplace_back();
}
inline void finish_copies(std::size_t pending) {
  auto& groups = copies[block.current];
  while (groups.size() > pending + 1) {
    for (const Copy& copy : groups.front()) {
      std::memset(copy.to, 0, copy.size);
      std::memcpy(copy.to, copy.from, copy.bytes);
    }
    groups.erase(groups.begin());
  }
}

inline int lane() { return static_cast<int>(block.current % 32); }

inline void start_fibers(unsigned threads) {
  constexpr std::size_t kStackBytes = 1 << 17;
  block.fibers.resize(threads);
  block.all = {};
  block.warps.fill({});
  for (Fiber& fiber : block.fibers) {
    fiber.done = false;
    fiber.stack.resize(kStackBytes);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = &block.scheduler;
    makecontext(&fiber.context, fiber_main, 0);
  }
}

// A kernel that waits for other blocks needs `blocks` = 1.
inline void launch(unsigned blocks, unsigned threads, std::function<void()> kernel) {
  block.threads = threads;
  block.blocks = blocks;
  block.kernel = std::move(kernel);
  for (block.index = 0; block.index < blocks; ++block.index) {
    start_fibers(threads);
    for (bool any = true; any;) {
      any = false;
      for (unsigned t = 0; t < threads; ++t) {
        if (block.fibers[t].done) continue;
        any = true;
        block.current = t;
        swapcontext(&block.scheduler, &block.fibers[t].context);
      }
    }
  }
}

struct ThreadIndex {
  operator unsigned() const { return block.current; }
};
struct BlockIndex {
  operator unsigned() const { return block.index; }
};
struct GridSize {
  operator unsigned() const { return block.blocks; }
};
struct BlockSize {
  operator unsigned() const { return block.threads; }
};

}  // namespace emulator

inline struct { emulator::ThreadIndex x; } threadIdx;
inline struct { emulator::BlockIndex x; } blockIdx;
inline struct { emulator::GridSize x; } gridDim;
inline struct { emulator::BlockSize x; } blockDim;

inline void __syncthreads() { emulator::meet(emulator::block.all, emulator::block.threads); }
inline void __syncwarp() { emulator::meet_warp(); }
template <typename T>
T __shfl_sync(unsigned, T value, int source) {
  return emulator::exchange(value, source);
}
template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return emulator::exchange(value, emulator::lane() ^ mask);
}
template <typename T>
T __shfl_up_sync(unsigned, T value, int distance) {
  const int lane = emulator::lane();
  return emulator::exchange(value, lane >= distance ? lane - distance : lane);
}
inline unsigned __ballot_sync(unsigned, bool vote) {
  unsigned votes = 0;
  for (int lane = 0; lane < 32; ++lane) votes |= static_cast<unsigned>(emulator::exchange(vote, lane)) << lane;
  return votes;
}
template <typename T>
T __reduce_add_sync(unsigned, T value) {
  T sum = 0;
  for (int lane = 0; lane < 32; ++lane) sum += emulator::exchange(value, lane);
  return sum;
}
inline int __ffs(unsigned value) { return __builtin_ffs(static_cast<int>(value)); }
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const std::uint64_t bytes = low | static_cast<std::uint64_t>(high) << 32;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
  return result;
}
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
template <typename T>
T __ldcg(const T* from) {
  return *from;
}
template <typename T>
void __stcs(T* to, T value) {
  *to = value;
}
template <typename T>
void __stcg(T* to, T value) {
  *to = value;
}
inline unsigned atomicAdd(unsigned* counter, unsigned value) {
  const unsigned before = *counter;
  *counter += value;
  return before;
}
inline void __nanosleep(unsigned) { emulator::yield(); }
template <typename A, typename B>
auto min(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(a) : static_cast<T>(b);
}
template <typename A, typename B>
auto max(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(a) > static_cast<T>(b) ? static_cast<T>(a) : static_cast<T>(b);
}
