// Grouped GEMM for every architecture that multiplies FP8 with mma.sync: sm_89 and later.
//
// gemm (forward, dgrad): D[g] = A[g] * B[g]^T
//   A    [capacity, K] FP8, tokens as quantize.<layout> dir=row writes them; masked: [G, max_m, K]
//   B    [G, N, K]     FP8, weights as quantize.uniform writes them: dir=row of [G, N, K], or dir=col of [G, K, N]
//   D    [capacity, N]; rows outside every group are left as they were
// wgrad: D[g] = A[g]^T * B[g], summed over the group's rows
//   A    [N, ld_col], B [K, ld_col] FP8, tokens as quantize.<layout> dir=col writes them: group g's columns start at
//   the
//        sum of up(rows, 128) of the groups before it, and are zeros from its last row to the next start
//   D    [G, N, K]; of an empty group too
//
// Both are one loop: rows of A times rows of B, both contiguous along the inner axis, which is K or the group's rows.
// D = alpha * sum + bias + beta * D in f32, rounded once. The sum: products that share scales are added by the tensor
// core from zero, then added times SFA * SFB into f32 registers: every 32 of the inner axis for E8M0 scales, every 128
// for the others. Without scales of blocks the sums of 128 are added as they are (with +fastacc not even that), and
// scales come last.
//
// Rows of A that belong to no group may hold anything: they are not read. Blocks are persistent and take tiles in turn.
// Every element is summed by one thread in the order of the inner axis; no atomics, nothing depends on timing.
#include "abi.h"
#include "gemm_place.cuh"
#include "gemm_scales.cuh"
#include "ptx.cuh"
#if OCTET_CHECKED
#include "checked_splits.cuh"
#endif

namespace octet {

constexpr i32 kBlockK = 128;  // bytes of a row of a stage, and the widest block of scales
constexpr i32 kStep = 32;     // of one mma
constexpr i32 kSteps = kBlockK / kStep;
constexpr i32 kThreads = 32 * config::kWarpsM * config::kWarpsN;
constexpr i32 kRows = config::kBlockM / config::kWarpsM / 16;    // mma tiles of a warp, down
constexpr i32 kColumns = config::kBlockN / config::kWarpsN / 8;  // and across
constexpr i32 kSlots = config::kBlockM + config::kBlockN;        // rows of A, then rows of B
static_assert(kRows >= 1 && kColumns >= 2 && kColumns % 2 == 0, "a warp loads B for two mma tiles at once");
static_assert(kThreads % 8 == 0, "a thread always loads the same 16 bytes of a row");

struct SharedStorage {
  alignas(128) u8 data[config::kStages][kSlots * kBlockK];
#if OCTET_BLOCK_SCALES
  float scales[config::kStages][config::kScalesPerStage][kSlots];
#endif
#if OCTET_GROUP_TABLE
  Groups groups;
#endif
};
static_assert(sizeof(SharedStorage) == config::kStorageBytes, "the host asks for exactly this much shared memory");

// Where 16 bytes lie in a stage: exchanged among the 8 of a row, so that ldmatrix, which reads one of them from each of
// 8 rows, meets every bank once.
__device__ __forceinline__ u32 stage_offset(i32 row, i32 chunk) { return row * kBlockK + ((chunk ^ (row % 8)) * 16); }

#if OCTET_POINTERS
// What the launch passes: pointers that it got on the host lie behind the parameters, tables of [G]: of the weights, of
// their scales; of a wgrad of D.
struct TableParams : abi::PortableGemmParams {
  const void* group_pointers[config::kGroupPointers];
};
static_assert(sizeof(TableParams) == config::kParamBytes, "the host fills exactly this much");

// `on_device`: the caller's array; null: table kTable of the parameters.
template <i32 kTable>
__device__ __forceinline__ const void* group_pointer(const abi::PortableGemmParams& params,
                                                     const void* const* on_device, i32 group) {
  if (on_device != nullptr) return on_device[group];
  return static_cast<const TableParams&>(params).group_pointers[kTable * config::kGroups + group];
}
using Params = TableParams;
#endif
#if !OCTET_POINTERS
using Params = abi::PortableGemmParams;
#endif

// What a block loads for one tile.
struct Operands {
  const u8* a;  // the tile's first row, where the group's inner axis begins
  const u8* b;
  i64 a_stride, b_stride;
};

__device__ __forceinline__ Operands operands_of(const abi::PortableGemmParams& params, const Place& place) {
  const u8* a = static_cast<const u8*>(params.a) + place.row * params.a_stride;
#if OCTET_WGRAD
  const i64 start = place.first_block * 128;
  const u8* b = static_cast<const u8*>(params.b) + place.column * params.b_stride;
  return {a + start, b + start, params.a_stride, params.b_stride};
#endif
#if !OCTET_WGRAD
#if OCTET_POINTERS
  const void* weights = group_pointer<0>(params, params.b_pointers, place.group);
  const u8* b = static_cast<const u8*>(weights) + place.column * params.b_stride;
#endif
#if !OCTET_POINTERS
  const i64 row = static_cast<i64>(place.group) * config::kN + place.column;
  const u8* b = static_cast<const u8*>(params.b) + row * params.b_stride;
#endif
  return {a, b, params.a_stride, params.b_stride};
#endif
}

// Copies `block` of kRowsOfTile rows to a stage; rows from `rows` on, and what lies past K, become zeros.
template <i32 kRowsOfTile>
__device__ __forceinline__ void load_rows(u32 stage, const u8* from, i64 stride, i32 rows, i32 block) {
  const i32 chunk = threadIdx.x % 8;
  const i32 k = block * kBlockK + chunk * 16;
#if OCTET_WGRAD
  constexpr bool exists = true;  // zeros follow the group's last row
#endif
#if !OCTET_WGRAD
  const bool exists = k < config::kK;  // K is a multiple of 16
#endif
#pragma unroll
  for (i32 first = 0; first < kRowsOfTile; first += kThreads / 8) {
    const i32 row = first + threadIdx.x / 8;
    if (kRowsOfTile % (kThreads / 8) != 0 && row >= kRowsOfTile) break;
    const bool valid = exists && row < rows;
    copy_async_16(stage + stage_offset(row, chunk), valid ? from + row * stride + k : from, valid ? 16 : 0);
  }
}

#if OCTET_BLOCK_SCALES
// Loads the scales of a stage, one row of A or B in each slot.
constexpr i32 kSlotsPerThread = (kSlots + kThreads - 1) / kThreads;

template <typename ScalesA, typename ScalesB>
struct ScaleLoader {
  ScalesA a;
  ScalesB b;
  const void* a_sf;
  const void* b_sf;
  i32 rows, columns, blocks;
#if OCTET_E8M0
  // On their way from global memory while the math runs; a copy engine moves no single bytes.
  u32 pending[kSlotsPerThread];
#endif

  __device__ __forceinline__ void start(SharedStorage& shared, i32 stage, i32 block) {
#pragma unroll
    for (i32 i = 0; i < kSlotsPerThread; ++i) {
      const i32 slot = i * kThreads + threadIdx.x;
      if (slot >= kSlots) break;
      const bool is_a = slot < config::kBlockM;
      const i32 row = is_a ? slot : slot - config::kBlockM;
      const bool valid = row < (is_a ? rows : columns);
#if OCTET_E8M0
      u32 bytes = 0x7f7f7f7f;  // 1: what has no scale is zeros, or not stored
#pragma unroll
      for (i32 s = 0; s < config::kScalesPerStage; ++s) {
        const i32 sub_block = block * config::kScalesPerStage + s;
        if (!valid || sub_block >= blocks) continue;
        const u8* from =
            static_cast<const u8*>(is_a ? a_sf : b_sf) + (is_a ? a.at(row, sub_block) : b.at(row, sub_block));
        bytes ^= static_cast<u32>(*from ^ 0x7f) << (8 * s);
      }
      pending[i] = bytes;
#endif
#if !OCTET_E8M0
      const float* from = static_cast<const float*>(is_a ? a_sf : b_sf);
      if (valid) from += is_a ? a.at(row, block) : b.at(row, block);
      copy_async_4(shared_address(&shared.scales[stage][0][slot]), from, valid ? 4 : 0);
#endif
    }
  }
#if OCTET_E8M0
  // Stores what start() fetched for this stage.
  __device__ __forceinline__ void finish(SharedStorage& shared, i32 stage) {
#pragma unroll
    for (i32 i = 0; i < kSlotsPerThread; ++i) {
      const i32 slot = i * kThreads + threadIdx.x;
      if (slot >= kSlots) break;
#pragma unroll
      for (i32 s = 0; s < config::kScalesPerStage; ++s) {
        const u32 byte = pending[i] >> (8 * s) & 255;
        // 2^(byte - 127): 0 is the subnormal 2^-127, 255 is NaN.
        const u32 bits = byte == 0 ? 0x00400000u : (byte == 255 ? 0x7fc00000u : byte << 23);
        shared.scales[stage][s][slot] = __uint_as_float(bits);
      }
    }
  }
#endif
};
#endif

// A thread's part of a warp's tiles. Of mma's 16 x 8 results it holds columns 2 * (lane % 4) and the next, of row
// lane / 4 (elements 0 and 1) and of the row 8 below (elements 2 and 3).
struct MathThread {
  i32 lane;
  i32 row, column;  // of the warp, in the block's tile

  __device__ __forceinline__ MathThread() {
    const i32 warp = threadIdx.x / 32;
    lane = threadIdx.x % 32;
    row = warp / config::kWarpsN * (kRows * 16);
    column = warp % config::kWarpsN * (kColumns * 8);
  }
};

using Sums = float[kRows][kColumns][4];

// Operands of one step of 32 for all mma tiles of a warp.
struct Fragments {
  u32 a[kRows][4];
  u32 b[kColumns / 2][4];

  __device__ __forceinline__ void load(u32 stage, const MathThread& thread, i32 step) {
#pragma unroll
    for (i32 m = 0; m < kRows; ++m) {
      const i32 row = thread.row + m * 16 + thread.lane % 16;
      ldmatrix_x4(a[m], stage + stage_offset(row, step * 2 + thread.lane / 16));
    }
#pragma unroll
    for (i32 n = 0; n < kColumns / 2; ++n) {
      const i32 row = config::kBlockM + thread.column + n * 16 + thread.lane / 16 * 8 + thread.lane % 8;
      ldmatrix_x4(b[n], stage + stage_offset(row, step * 2 + thread.lane / 8 % 2));
    }
  }
  __device__ __forceinline__ void multiply(float (&sum)[4], i32 m, i32 n) const {
    mma_m16n8k32(sum, a[m], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
  }
};

#if OCTET_BLOCK_SCALES
// Scales of the rows and columns that a thread holds.
struct Scales {
  float a[kRows][2], b[kColumns][2];

  __device__ __forceinline__ void load(const float* slots, const MathThread& thread) {
#pragma unroll
    for (i32 m = 0; m < kRows; ++m) {
      const i32 row = thread.row + m * 16 + thread.lane / 4;
      a[m][0] = slots[row];
      a[m][1] = slots[row + 8];
    }
#pragma unroll
    for (i32 n = 0; n < kColumns; ++n) {
      const i32 column = config::kBlockM + thread.column + n * 8 + thread.lane % 4 * 2;
      b[n][0] = slots[column];
      b[n][1] = slots[column + 1];
    }
  }
  __device__ __forceinline__ void add(float (&sum)[4], const float (&products)[4], i32 m, i32 n) const {
#pragma unroll
    for (i32 i = 0; i < 4; ++i) sum[i] += products[i] * (a[m][i / 2] * b[n][i % 2]);
  }
};
#endif

// Adds one stage to the sums.
__device__ __forceinline__ void add_stage(SharedStorage& shared, i32 stage, const MathThread& thread, Sums& sums) {
  const u32 data = shared_address(shared.data[stage]);
#if OCTET_E8M0
#pragma unroll 1
  for (i32 step = 0; step < kSteps; ++step) {
    Fragments fragments;
    fragments.load(data, thread, step);
    Scales scales;
    scales.load(shared.scales[stage][step], thread);
#pragma unroll
    for (i32 m = 0; m < kRows; ++m)
#pragma unroll
      for (i32 n = 0; n < kColumns; ++n) {
        float products[4] = {0, 0, 0, 0};
        fragments.multiply(products, m, n);
        scales.add(sums[m][n], products, m, n);
      }
  }
#endif
#if !OCTET_E8M0
#if OCTET_PROMOTE
  Sums products;
#pragma unroll
  for (i32 m = 0; m < kRows; ++m)
#pragma unroll
    for (i32 n = 0; n < kColumns; ++n)
#pragma unroll
      for (i32 i = 0; i < 4; ++i) products[m][n][i] = 0;
#endif
#if !OCTET_PROMOTE
  Sums& products = sums;
#endif
#pragma unroll 1  // where FP8 is multiplied as fp16, unrolled steps take every register
  for (i32 step = 0; step < kSteps; ++step) {
    Fragments fragments;
    fragments.load(data, thread, step);
#pragma unroll
    for (i32 m = 0; m < kRows; ++m)
#pragma unroll
      for (i32 n = 0; n < kColumns; ++n) fragments.multiply(products[m][n], m, n);
  }
#if OCTET_PROMOTE
#if OCTET_BLOCK_SCALES
  Scales scales;
  scales.load(shared.scales[stage][0], thread);
#endif
#pragma unroll
  for (i32 m = 0; m < kRows; ++m)
#pragma unroll
    for (i32 n = 0; n < kColumns; ++n) {
#if OCTET_BLOCK_SCALES
      scales.add(sums[m][n], products[m][n], m, n);
#endif
#if OCTET_WHOLE_SCALES
#pragma unroll
      for (i32 i = 0; i < 4; ++i) sums[m][n][i] += products[m][n][i];
#endif
    }
#endif
#endif
}

// Two neighbouring elements of D, or of the bias.
#if OCTET_D_F32
using Element = float;
__device__ __forceinline__ void store_two(Element* to, float x, float y) { *reinterpret_cast<float2*>(to) = {x, y}; }
#if OCTET_READS_D
__device__ __forceinline__ float load_one(const Element* from) { return *from; }
#endif
#endif
#if OCTET_D_BF16
using Element = u16;
__device__ __forceinline__ void store_two(Element* to, float x, float y) {
  *reinterpret_cast<u32*>(to) = pack_bf16(x, y);
}
#if OCTET_READS_D
__device__ __forceinline__ float load_one(const Element* from) {
  return __uint_as_float(static_cast<u32>(*from) << 16);
}
#endif
#endif
#if OCTET_D_FP16
using Element = u16;
__device__ __forceinline__ void store_two(Element* to, float x, float y) {
  *reinterpret_cast<u32*>(to) = pack_fp16(x, y);
}
#if OCTET_READS_D
__device__ __forceinline__ float load_one(const Element* from) { return low_fp16(*from); }
#endif
#endif

// The tile's first element.
__device__ __forceinline__ Element* output_of(const abi::PortableGemmParams& params, const Place& place) {
#if OCTET_WGRAD
#if OCTET_POINTERS
  const void* matrix = group_pointer<0>(params, params.d_pointers, place.group);
  Element* d = static_cast<Element*>(const_cast<void*>(matrix));
  const i64 row = place.row;
#endif
#if !OCTET_POINTERS
  Element* d = static_cast<Element*>(params.d);
  const i64 row = static_cast<i64>(place.group) * config::kN + place.row;
#endif
#endif
#if !OCTET_WGRAD
  Element* d = static_cast<Element*>(params.d);
  const i64 row = place.row;
#endif
  return d + row * params.d_stride + place.column;
}

#if OCTET_WHOLE_SCALES || OCTET_BLOCK_SCALES
// Of a group: with w=pointers the weights' own.
__device__ __forceinline__ const void* scales_of_weights(const abi::PortableGemmParams& params, const Place& place) {
#if !OCTET_WGRAD
#if OCTET_POINTERS
  return group_pointer<1>(params, params.b_sf_pointers, place.group);
#endif
#endif
  return params.b_sf;
}
#endif

// What is added to alpha * sum, and the scales that are not of blocks.
__device__ __forceinline__ void store_tile(const abi::PortableGemmParams& params, const Place& place,
                                           const MathThread& thread, const Sums& sums) {
  Element* d = output_of(params, place);
#if OCTET_WHOLE_SCALES
  const auto a_scales = scales_of_a(place, params.capacity);
  const auto b_scales = scales_of_b(place);
  const float* a_sf = static_cast<const float*>(params.a_sf);
  const float* b_sf = static_cast<const float*>(scales_of_weights(params, place));
  const bool has_scales = place.blocks > 0;  // a group without rows may have none
#endif
#pragma unroll
  for (i32 n = 0; n < kColumns; ++n) {
    const i32 column = thread.column + n * 8 + thread.lane % 4 * 2;
    if (column >= place.columns) continue;  // even, as column is
#if OCTET_WHOLE_SCALES
    const float b0 = has_scales ? b_sf[b_scales.at(column, 0)] : 0;
    const float b1 = has_scales ? b_sf[b_scales.at(column + 1, 0)] : 0;
#endif
#if OCTET_BIAS
    const Element* bias =
        static_cast<const Element*>(params.bias) + static_cast<i64>(place.group) * config::kN + place.column + column;
    const float bias0 = load_one(bias), bias1 = load_one(bias + 1);
#endif
#pragma unroll
    for (i32 half = 0; half < 2 * kRows; ++half) {
      const i32 row = thread.row + half * 8 + thread.lane / 4;
      if (row >= place.rows) continue;
      float x = sums[half / 2][n][half % 2 * 2], y = sums[half / 2][n][half % 2 * 2 + 1];
#if OCTET_WHOLE_SCALES
      const float a = has_scales ? a_sf[a_scales.at(row, 0)] : 0;
      x *= a * b0;
      y *= a * b1;
#endif
      x *= params.alpha;
      y *= params.alpha;
#if OCTET_BIAS
      x += bias0;
      y += bias1;
#endif
      Element* to = d + row * params.d_stride + column;
#if OCTET_ACC
      if (params.beta != 0) {  // else what D holds, NaN too, does not count
        x += params.beta * load_one(to);
        y += params.beta * load_one(to + 1);
      }
#endif
      store_two(to, x, y);
    }
  }
}

// One tile, by all threads of the block. A stage that is free again is filled while another one is multiplied.
__device__ __forceinline__ void compute_tile(const abi::PortableGemmParams& params, SharedStorage& shared,
                                             const Place& place) {
  const MathThread thread;
  const Operands operands = operands_of(params, place);
#if OCTET_BLOCK_SCALES
  ScaleLoader<decltype(scales_of_a(place, params.capacity)), decltype(scales_of_b(place))> scales{
      scales_of_a(place, params.capacity),
      scales_of_b(place),
      params.a_sf,
      scales_of_weights(params, place),
      place.rows,
      place.columns,
      place.sub_blocks};
#endif
  const auto load = [&](i32 block, i32 stage) {
    const u32 data = shared_address(shared.data[stage]);
    load_rows<config::kBlockM>(data, operands.a, operands.a_stride, place.rows, block);
    load_rows<config::kBlockN>(data + config::kBlockM * kBlockK, operands.b, operands.b_stride, place.columns, block);
#if OCTET_BLOCK_SCALES
    scales.start(shared, stage, block);
#endif
  };
  constexpr i32 kAhead = config::kStages - 1;
#pragma unroll 1
  for (i32 block = 0; block < kAhead; ++block) {
    if (block < place.blocks) {
      load(block, block);
#if OCTET_E8M0
      scales.finish(shared, block);
#endif
    }
    copy_async_commit();
  }
  Sums sums;
#pragma unroll
  for (i32 m = 0; m < kRows; ++m)
#pragma unroll
    for (i32 n = 0; n < kColumns; ++n)
#pragma unroll
      for (i32 i = 0; i < 4; ++i) sums[m][n][i] = 0;

  i32 stage = 0, free_stage = kAhead;
#pragma unroll 1
  for (i32 block = 0; block < place.blocks; ++block) {
    copy_async_wait<kAhead - 1>();
    __syncthreads();  // this block has arrived for all threads, and all have left the stage that is filled next
    const bool more = block + kAhead < place.blocks;
    if (more) load(block + kAhead, free_stage);
    copy_async_commit();  // also an empty group, so that the count of groups stays that of blocks
    add_stage(shared, stage, thread, sums);
#if OCTET_E8M0
    if (more) scales.finish(shared, free_stage);
#endif
    stage = stage + 1 == config::kStages ? 0 : stage + 1;
    free_stage = free_stage + 1 == config::kStages ? 0 : free_stage + 1;
  }
  store_tile(params, place, thread, sums);
  __syncthreads();  // before the next tile's loads
}

}  // namespace octet

extern "C" __global__ void __launch_bounds__(octet::kThreads, octet::config::kBlocksPerSm)
    OCTET_ENTRY(const __grid_constant__ octet::Params params) {
  using namespace octet;
  extern __shared__ __align__(128) u8 shared_bytes[];
  SharedStorage& shared = *reinterpret_cast<SharedStorage*>(shared_bytes);
#if OCTET_PROGRAMMATIC
  wait_for_earlier_kernels();
#endif
#if OCTET_CHECKED
  if (blockIdx.x == 0 && threadIdx.x == 0) check_splits(params.status, params.splits, params.capacity);
#endif
#if OCTET_GROUP_TABLE
  if (threadIdx.x < 32) find_groups(shared.groups, params, threadIdx.x);
  __syncthreads();
  PlaceWalk walk(shared.groups, params);
#endif
#if !OCTET_GROUP_TABLE
  const Groups groups{};
  PlaceWalk walk(groups, params);
#endif
  Place place;
  while (walk.next(place)) compute_tile(params, shared, place);
}
