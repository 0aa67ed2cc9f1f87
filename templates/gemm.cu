// Grouped GEMM, FP8 with block scales: D[g] = A[g] * B[g]^T for packed or padded groups of any size.
//
//   A    [capacity, K] e4m3, SFA [ceil(K/128)][up(capacity, 4)] f32 (mn_major)
//   B    [G, N, K]     e4m3, SFB [G][ceil(N/128)][ceil(K/128)] f32 (block2d)
//   D    [capacity, N] bf16 = sum over blocks of 128 along K of SFA * SFB * (FP8 products summed by the tensor core)
//
// Rows that belong to no group (tail, gaps) may hold anything, NaN included: the copy engine fetches some of them, but
// a row of D depends on its own row of A alone, and rows outside the group are never stored.
//
// One producer warp feeds a ring of stages by TMA, another hands out tiles and prefetches their SFB rows, math
// warpgroups run wgmma and add each block of 128 along K into f32 registers, since the tensor core's own sum keeps
// about 14 bits. Blocks are persistent. Results do not depend on timing: every element is summed by one thread in K
// order, with no atomics.
#include "abi.h"
#include "pipeline.cuh"
#include "ptx.cuh"
#include "scheduler.cuh"

namespace octet {

constexpr i32 kBlockK = 128;  // one scale block and one 128-byte swizzle row of FP8
constexpr i32 kBlocksK = (config::kK + kBlockK - 1) / kBlockK;
constexpr i32 kMathWarpgroups = config::kWarpgroupsM * config::kWarpgroupsN;
constexpr i32 kMathWarps = 4 * kMathWarpgroups;
constexpr i32 kThreads = 128 * (kMathWarpgroups + 1);  // the last warpgroup produces
constexpr i32 kSlab = 64;                              // rows of one wgmma
constexpr i32 kStep = 128;                             // columns of one wgmma: one scale block of B
constexpr i32 kSlabs = config::kBlockM / config::kWarpgroupsM / kSlab;
constexpr i32 kSteps = config::kBlockN / config::kWarpgroupsN / kStep;
constexpr i32 kChunk = 64;  // columns of one TMA store: one 128-byte swizzle row of bf16
constexpr i32 kChunkBytes = kSlab * kChunk * 2;
constexpr i32 kChunks = kSteps * kStep / kChunk;  // per slab of a warpgroup
static_assert(kSlabs >= 1 && kSteps >= 1, "a warpgroup owns whole wgmma tiles");
static_assert(kSlabs * kSteps <= 2, "two tiles of accumulators and one partial sum are what the registers hold");

// SFA rows of a tile. A group may start at any row, but a TMA load starts at a multiple of 16 bytes, so a tile loads up
// to three rows before its own. A box has at most 256 rows, so a tall tile takes two.
constexpr i32 kScaleBoxes = config::kBlockM + 4 <= 256 ? 1 : 2;
constexpr i32 kScaleBoxRows = config::kScaleBoxRows;
static_assert(kScaleBoxes * kScaleBoxRows >= config::kBlockM + 3, "boxes cover the tile from any row");
static_assert(kScaleBoxes == 1 || kScaleBoxRows * 4 % 128 == 0, "TMA destinations are 128-byte aligned");

constexpr i32 kScaleBlocksN = config::kBlockN / 128;
constexpr u32 kStageBytes =
    (config::kBlockM + config::kBlockN) * kBlockK + kScaleBoxes * kScaleBoxRows * static_cast<u32>(sizeof(float));

struct SharedStorage {
  alignas(1024) u8 a[config::kStages][config::kBlockM * kBlockK];
  alignas(1024) u8 b[config::kStages][config::kBlockN * kBlockK];
#if OCTET_WHOLE_TILE
  alignas(1024) u8 staging[kMathWarpgroups][kSlabs * kChunks][kChunkBytes];
#endif
#if !OCTET_WHOLE_TILE
  alignas(1024) u8 staging[kMathWarpgroups][1][kChunkBytes];
#endif
  alignas(128) float sfa[config::kStages][(kScaleBoxes * kScaleBoxRows + 31) / 32 * 32];
  alignas(16) Tile tiles[2];  // what the math works on, with its scales of B
  alignas(16) float sfb[2][kScaleBlocksN][kBlocksK];
  alignas(8) Ring<config::kStages> ring;
  alignas(8) Ring<2> tile_ring;
  GroupTable groups;
};
static_assert(sizeof(SharedStorage) == config::kSharedBytes, "the host asks for exactly this much shared memory");

// Shared-memory matrix descriptor of a K-major operand in 128-byte swizzle: 1024 bytes from 8 rows to the next 8.
// (PTX ISA 9.7.15.5.1.2.2 Matrix descriptor format)
__device__ __forceinline__ u64 matrix_descriptor(u32 address) {
  constexpr u64 kStrideBytes = 1024, kSwizzle128 = 1;
  return static_cast<u64>((address & 0x3FFFF) >> 4) | (u64{1} << 16) | ((kStrideBytes >> 4) << 32) |
         (kSwizzle128 << 62);
}

#if OCTET_CLUSTER
// Loads a box for this block, or, when it is shared, for every block of the cluster, which then all expect its bytes.
__device__ __forceinline__ void load_shared(void* destination, const void* map, u32 full, i32 x, i32 y, bool is_shared,
                                            i32 rank) {
  if (!is_shared)
    tma_load(shared_address(destination), map, full, x, y);
  else if (rank == 0)
    tma_load_multicast(shared_address(destination), map, full, x, y, (1 << kCluster) - 1);
}
#endif

// Feeds A, B and SFA of every tile to the ring. One thread.
__device__ __forceinline__ void produce_operands(const abi::GemmParams& params, SharedStorage& shared, TileWalk walk,
                                                 i32 rank) {
  RingPosition<config::kStages> position(1);  // the ring starts empty
  Tile tile;
  while (walk.next(tile)) {
    const i32 row_b = tile.group * config::kN + tile.column;
    for (i32 block = 0; block < kBlocksK; ++block) {
      const i32 stage = position.stage;
      shared.ring.wait_empty(stage, position.parity);
      const u32 full = shared.ring.full(stage);
      mbarrier_arrive_expect_tx(full, kStageBytes);
#if !OCTET_CLUSTER
      tma_load(shared_address(shared.a[stage]), &params.a, full, block * kBlockK, tile.row);
      tma_load(shared_address(shared.b[stage]), &params.b, full, block * kBlockK, row_b);
#endif
#if OCTET_CLUSTER
      // What the blocks of a cluster share, the first one loads for all.
#if OCTET_CLUSTER_M
      const bool multicast_b = walk.shares_columns();
#endif
#if !OCTET_CLUSTER_M
      constexpr bool multicast_b = false;
#endif
      load_shared(shared.a[stage], &params.a, full, block * kBlockK, tile.row, !multicast_b, rank);
      load_shared(shared.b[stage], &params.b, full, block * kBlockK, row_b, multicast_b, rank);
#endif
#pragma unroll
      for (i32 box = 0; box < kScaleBoxes; ++box) {
        tma_load(shared_address(&shared.sfa[stage][box * kScaleBoxRows]), &params.sfa, full,
                 (tile.row & ~3) + box * kScaleBoxRows, block);
      }
      position.advance();
    }
  }
}

// Hands every tile and its SFB rows to the math, a tile ahead of it, so that the math neither walks nor waits for
// global memory. A tile without rows ends the walk. One warp.
__device__ __forceinline__ void produce_tiles(const abi::GemmParams& params, SharedStorage& shared, TileWalk walk,
                                              i32 lane) {
  constexpr i32 kScaleRows = (config::kN + 127) / 128;
  RingPosition<2> position(1);
  Tile tile{};
  bool more = true;
  while (more) {
    more = walk.next(tile);
    if (!more) tile.rows = 0;
    shared.tile_ring.wait_empty(position.stage, position.parity);
    if (lane == 0) shared.tiles[position.stage] = tile;
#pragma unroll
    for (i32 n = 0; n < kScaleBlocksN; ++n) {
      // Columns past N have no scales; their products are never stored.
      const i32 row = min(tile.column / 128 + n, kScaleRows - 1);
      const float* source = params.sfb + (static_cast<i64>(tile.group) * kScaleRows + row) * kBlocksK;
#pragma unroll 4
      for (i32 block = lane; block < kBlocksK; block += 32) {
        if (more) shared.sfb[position.stage][n][block] = __ldg(source + block);
      }
    }
    mbarrier_arrive(shared.tile_ring.full(position.stage));
    position.advance();
  }
}

// What a math thread knows about itself.
struct MathThread {
  i32 warpgroup, warp, lane, rank;
  i32 row;  // row of this thread's first accumulator in a slab; the second one is 8 rows below

  __device__ __forceinline__ MathThread(i32 block_rank) : rank(block_rank) {
    warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    lane = threadIdx.x % 32;
    warpgroup = warp / 4;
    row = warp % 4 * 16 + lane / 4;
  }
};

__device__ __forceinline__ Tile load_tile(u32 address) {
  const uint4 bits = shared_load_16(address);
  return {static_cast<i32>(bits.x), static_cast<i32>(bits.y), static_cast<i32>(bits.z), static_cast<i32>(bits.w)};
}

// The part of a tile that one warpgroup computes: `slabs` slabs, kSlabStride rows apart, times `steps` steps.
struct Share {
  i32 row;     // of its first slab, in the tile
  i32 column;  // of its first step, in the tile
  i32 slabs, steps;
};
// Slabs are dealt out in turn, so that a tile with few rows keeps all warpgroups busy as long as it can.
constexpr i32 kSlabStride = kSlab * config::kWarpgroupsM;

__device__ __forceinline__ Share share_of(const MathThread& thread, const Tile& tile) {
#if OCTET_SPLIT_NARROW
  // Rows for one warpgroup only: the two take half of the columns each.
  if (tile.rows <= kSlab) return {0, thread.warpgroup * kStep, 1, 1};
#endif
  Share share{thread.warpgroup / config::kWarpgroupsN * kSlab, thread.warpgroup % config::kWarpgroupsN * kSteps * kStep,
              0, kSteps};
#pragma unroll
  for (i32 slab = 0; slab < kSlabs; ++slab) share.slabs += tile.rows > share.row + slab * kSlabStride;
  return share;
}

// Gives a stage back to the producers that wait for it: this block's, and the leader's, which loads for all.
__device__ __forceinline__ void release_stage(SharedStorage& shared, const MathThread& thread, i32 stage) {
  if (thread.lane == 0) {
#if OCTET_CLUSTER
    if (thread.rank != 0) mbarrier_arrive_remote(shared.ring.empty(stage), 0);
#endif
    mbarrier_arrive(shared.ring.empty(stage));
  }
}

// Gives a tile's slot back to its producer. Every lane arrives for its own reads: once a tile that costs nothing, and
// the order of memory accesses is then plain to see, for tools too.
__device__ __forceinline__ void release_tile(SharedStorage& shared, i32 tile_stage) {
  mbarrier_arrive(shared.tile_ring.empty(tile_stage));
}

// Sums this warpgroup's share of a tile over K. A narrow share is one slab by one step; a branch around the rest, which
// ptxas lets stand because each product is waited for within it, costs nothing and halves the code.
__device__ __forceinline__ void accumulate_tile(SharedStorage& shared, const MathThread& thread, const Share& share,
                                                RingPosition<config::kStages>& position, i32 tile_stage, i32 row_offset,
                                                float (&sum)[kSlabs * kSteps][64]) {
  const u64 a0 = matrix_descriptor(shared_address(shared.a[0]) + share.row * kBlockK);
  const u64 b0 = matrix_descriptor(shared_address(shared.b[0]) + share.column * kBlockK);
  const u32 sfa0 = shared_address(&shared.sfa[0][share.row + thread.row + row_offset]);
  const u32 sfb0 = shared_address(&shared.sfb[tile_stage][share.column / 128][0]);
  constexpr u32 kSfaStageBytes = sizeof(shared.sfa[0]);
  float partial[64];
  const bool narrow = kSlabs * kSteps > 1 && share.slabs * share.steps == 1;
#pragma unroll
  for (i32 i = 0; i < kSlabs * kSteps; ++i)
#pragma unroll
    for (i32 r = 0; r < 64; ++r) sum[i][r] = 0.f;

#pragma unroll(config::kUnrollK)
  for (i32 block = 0; block < kBlocksK; ++block) {
    const i32 stage = position.stage;
    shared.ring.wait_full(stage, position.parity);
    const u64 a = a0 + stage * (sizeof(shared.a[0]) / 16);
    const u64 b = b0 + stage * (sizeof(shared.b[0]) / 16);
#pragma unroll
    for (i32 step = 0; step < kSteps; ++step) {
      const float sfb = shared_load(sfb0 + (step * kBlocksK + block) * sizeof(float));
#pragma unroll
      for (i32 slab = 0; slab < kSlabs; ++slab) {
        if (narrow && step + slab > 0) break;
        wgmma_m64n128k128_e4m3_e4m3(partial, a + slab * (kSlabStride * kBlockK / 16),
                                    b + step * (kStep * kBlockK / 16));
        // In the shadow of the matrix instructions: the scales of this thread's two rows.
        const u32 sfa = sfa0 + stage * kSfaStageBytes + slab * kSlabStride * sizeof(float);
        float scale0 = shared_load(sfa) * sfb;
        float scale1 = shared_load(sfa + 8 * sizeof(float)) * sfb;
        asm volatile("" : "+f"(scale0), "+f"(scale1));
        wgmma_wait(partial);
        if (narrow || (step == kSteps - 1 && slab == kSlabs - 1)) release_stage(shared, thread, stage);
        float(&total)[64] = sum[slab * kSteps + step];
#pragma unroll
        for (i32 r = 0; r < 64; r += 4) {
          total[r] += scale0 * partial[r];
          total[r + 1] += scale0 * partial[r + 1];
          total[r + 2] += scale1 * partial[r + 2];
          total[r + 3] += scale1 * partial[r + 3];
        }
      }
    }
    position.advance();
  }
}

// A warpgroup without rows still takes part in the protocol.
__device__ __forceinline__ void skip_tile(SharedStorage& shared, const MathThread& thread,
                                          RingPosition<config::kStages>& position) {
  for (i32 block = 0; block < kBlocksK; ++block) {
    shared.ring.wait_full(position.stage, position.parity);
    release_stage(shared, thread, position.stage);
    position.advance();
  }
}

// Rounds 64 x 64 accumulators to bf16 and lays them out for a TMA store of one chunk.
__device__ __forceinline__ void stage_chunk(u32 buffer, const MathThread& thread, const float* sum) {
  const i32 row = thread.warp % 4 * 16 + thread.lane / 8 % 2 * 8 + thread.lane % 8;
#pragma unroll
  for (i32 pair = 0; pair < kChunk / 16; ++pair) {
    const float* left = sum + pair * 8;
    const float* right = left + 4;
    const u32 swizzled = ((pair * 2 + thread.lane / 16) ^ (row % 8)) * 16;
    stmatrix_x4(buffer + row * 128 + swizzled, pack_bf16(left[0], left[1]), pack_bf16(left[2], left[3]),
                pack_bf16(right[0], right[1]), pack_bf16(right[2], right[3]));
  }
}

// Copies the first `rows` rows of a staged chunk to D, 16 bytes at a time. The whole warpgroup.
__device__ __forceinline__ void store_rows(const abi::GemmParams& params, u32 buffer, i32 row, i32 rows, i32 column) {
  u16* d = static_cast<u16*>(params.d_data);
  const i32 thread = threadIdx.x % 128;
#pragma unroll 1  // for a group's last rows alone: short code beats unrolled code
  for (i32 i = 0; i < kChunkBytes / 16 / 128; ++i) {
    const i32 piece = i * 128 + thread;
    const i32 r = piece / 8, c = piece % 8;
    // N is a multiple of 8, so a piece is all in or all out.
    if (r < rows && column + c * 8 < config::kN) {
      const uint4 value = shared_load_16(buffer + r * 128 + ((c ^ (r % 8)) * 16));
      *reinterpret_cast<uint4*>(d + static_cast<i64>(row + r) * config::kN + column + c * 8) = value;
    }
  }
}

// Stores the rows of the group that this warpgroup holds: whole slabs by TMA, the group's last rows one by one.
__device__ __forceinline__ void store_tile(const abi::GemmParams& params, SharedStorage& shared,
                                           const MathThread& thread, const Tile& tile, const Share& share,
                                           const float (&sum)[kSlabs * kSteps][64]) {
  const bool elected = threadIdx.x % 128 == 0;
  const i32 barrier = 1 + thread.warpgroup;
  const u32 staging = shared_address(shared.staging[thread.warpgroup]);
#if OCTET_WHOLE_TILE
  // Two barriers per tile: one before the buffers are reused, one before they are stored.
  if (elected) tma_store_wait_read();
  named_barrier(barrier, 128);
#pragma unroll
  for (i32 slab = 0; slab < kSlabs; ++slab)
#pragma unroll
    for (i32 chunk = 0; chunk < kChunks; ++chunk)
      if (slab < share.slabs && chunk < share.steps * (kStep / kChunk))
        stage_chunk(staging + (slab * kChunks + chunk) * kChunkBytes, thread, &sum[slab * kSteps][0] + chunk * 32);
  fence_async_proxy();
  named_barrier(barrier, 128);
#pragma unroll
  for (i32 slab = 0; slab < kSlabs; ++slab) {
    const i32 row = share.row + slab * kSlabStride;
    const i32 rows = tile.rows - row;
    for (i32 chunk = 0; chunk < share.steps * (kStep / kChunk); ++chunk) {
      const i32 column = tile.column + share.column + chunk * kChunk;
      const u32 buffer = staging + (slab * kChunks + chunk) * kChunkBytes;
      if (rows >= kSlab) {
        if (elected && column < config::kN) tma_store(&params.d, buffer, column, tile.row + row);
      } else if (rows > 0) {
        store_rows(params, buffer, tile.row + row, rows, column);
      }
    }
  }
  if (elected) tma_store_commit();
#endif
#if !OCTET_WHOLE_TILE
#pragma unroll
  for (i32 slab = 0; slab < kSlabs; ++slab) {
    if (slab >= share.slabs) break;
    const i32 row = share.row + slab * kSlabStride;
    const i32 rows = tile.rows - row;
#pragma unroll
    for (i32 chunk = 0; chunk < kChunks; ++chunk) {
      if (chunk >= share.steps * (kStep / kChunk)) break;
      const i32 column = tile.column + share.column + chunk * kChunk;
      if (elected) tma_store_wait_read();
      named_barrier(barrier, 128);
      stage_chunk(staging, thread, &sum[slab * kSteps][0] + chunk * 32);
      fence_async_proxy();
      named_barrier(barrier, 128);
      if (rows >= kSlab) {
        if (elected && column < config::kN) {
          tma_store(&params.d, staging, column, tile.row + row);
          tma_store_commit();
        }
      } else {
        store_rows(params, staging, tile.row + row, rows, column);
      }
    }
  }
#endif
}

// The math of one warpgroup over all tiles of this block.
__device__ __forceinline__ void consume(const abi::GemmParams& params, SharedStorage& shared, i32 rank) {
  const MathThread thread(rank);
  RingPosition<config::kStages> position(0);
  RingPosition<2> tile_position(0);
  for (;; tile_position.advance()) {
    const i32 tile_stage = tile_position.stage;
    shared.tile_ring.wait_full(tile_stage, tile_position.parity);
    const u32 tile_address = shared_address(&shared.tiles[tile_stage]);
    {
      const Tile tile = load_tile(tile_address);
      if (tile.rows == 0) break;
      if (share_of(thread, tile).slabs == 0) {
        skip_tile(shared, thread, position);
        release_tile(shared, tile_stage);
        continue;
      }
    }
    float sum[kSlabs * kSteps][64];
    {
      const Tile tile = load_tile(tile_address);
      accumulate_tile(shared, thread, share_of(thread, tile), position, tile_stage, tile.row & 3, sum);
    }
    // Read again rather than kept: the loop over K needs every register.
    const Tile tile = load_tile(tile_address);
    store_tile(params, shared, thread, tile, share_of(thread, tile), sum);
    release_tile(shared, tile_stage);
  }
  // Shared memory must outlive the copy engine's reads of it.
  if (threadIdx.x % 128 == 0) tma_store_wait();
}

}  // namespace octet

extern "C" __global__ void __launch_bounds__(octet::kThreads, octet::config::kBlocksPerSm)
    OCTET_ENTRY(const __grid_constant__ octet::abi::GemmParams params) {
  using namespace octet;
  extern __shared__ __align__(1024) u8 shared_bytes[];
  SharedStorage& shared = *reinterpret_cast<SharedStorage*>(shared_bytes);
  const i32 warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
#if OCTET_CLUSTER
  const i32 rank = static_cast<i32>(cluster_block_rank());
#endif
#if !OCTET_CLUSTER
  constexpr i32 rank = 0;
#endif

  if (warp == 0) build_group_table(shared.groups, params.splits, params.capacity, lane, units_of_group);
  if (warp == 1 && lane == 0) {
    // The leader's stages are free when every block of the cluster has read its copy of what is shared.
    shared.ring.init(1, kMathWarps * (rank == 0 ? kCluster : 1));
    shared.tile_ring.init(32, kMathWarps * 32);
    mbarrier_init_fence();
  }
  if (warp == 2 && lane == 0) {
    tma_prefetch_map(&params.a);
    tma_prefetch_map(&params.b);
    tma_prefetch_map(&params.sfa);
    tma_prefetch_map(&params.d);
  }
  __syncthreads();
#if OCTET_CLUSTER
  cluster_barrier();  // no block may signal another one's barriers before they exist
#endif

  const TileWalk walk(shared.groups, blockIdx.x / kCluster, gridDim.x / kCluster, rank);
  if (warp >= kMathWarps) {
    registers_decrease<config::kProducerRegisters>();
    if (warp == kMathWarps && lane == 0) produce_operands(params, shared, walk, rank);
    if (warp == kMathWarps + 1) produce_tiles(params, shared, walk, lane);
  } else {
    registers_increase<config::kMathRegisters>();
    consume(params, shared, rank);
  }
#if OCTET_CLUSTER
  __syncwarp();
  cluster_barrier();  // shared memory and barriers stay until the last remote arrival
#endif
}
