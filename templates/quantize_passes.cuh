// The passes around a quantizer that must see a whole group, or add up what its tiles leave.
//
//   <name>_amax    largest magnitudes of every tile, row of a tile or column of a tile  -> scratch
//   <name>_scales  scales of groups, rows or columns from them
//   <name>_finish  amax, dprobs and dbias from what the tiles left
//
// Each value of the scratch is written once and read in a fixed order: nothing depends on timing.
#pragma once

#include "tile_maxima.cuh"

namespace octet {

// The units of a group, from `first` on.
struct UnitRange {
  i64 first, count;
};

struct PassStorage {
#if OCTET_AMAX_PASS
  TileStorage tile;
#endif
#if OCTET_GROUP_TABLE
  GroupTable groups;
#endif
};
__device__ __forceinline__ void prepare_groups(const abi::QuantizeParams& params, PassStorage& shared) {
#if OCTET_GROUP_TABLE
  if (threadIdx.x < 32) {
    build_group_table(shared.groups, params.splits, params.capacity, threadIdx.x % 32, blocks_of_rows);
  }
  __syncthreads();
#endif
}
__device__ __forceinline__ TileWalk walk_of(const PassStorage& shared) {
#if OCTET_GROUP_TABLE
  return TileWalk(shared.groups);
#endif
#if OCTET_UNIFORM
  return TileWalk();
#endif
}
// Whether any row is the group's; without one the scale is that of nothing, whatever the floor.
__device__ __forceinline__ bool has_rows(const PassStorage& shared, i32 group) {
#if OCTET_UNIFORM
  return true;
#endif
#if OCTET_GROUP_TABLE
  const i32 entry = find_entry(shared.groups, group);
  return entry >= 0 && shared.groups.row_end[entry] > shared.groups.row_begin[entry];
#endif
}
__device__ __forceinline__ UnitRange units_of_group(const PassStorage& shared, i32 group) {
#if OCTET_UNIFORM
  return {static_cast<i64>(group) * kGroupBlocks, kGroupBlocks};
#endif
#if OCTET_GROUP_TABLE
  const i32 entry = find_entry(shared.groups, group);
  if (entry < 0) return {0, 0};
  const i32 first = shared.groups.first_unit[entry];
  const i32 end = entry + 1 < shared.groups.count ? shared.groups.first_unit[entry + 1] : shared.groups.units;
  return {first, end - first};
#endif
}

#if OCTET_AMAX_PASS
#if OCTET_SCALE_ROW
// Largest magnitudes of the tile's rows and columns.
__device__ __forceinline__ void leave_maxima(const abi::QuantizeParams& params, PassStorage& shared, const Tile& tile,
                                             const TileThread& thread, i32, const Eight (&x)[8]) {
#if OCTET_ROW
#pragma unroll
  for (i32 r = 0; r < 8; r += kPerMagnitude) {
    const Magnitude largest = lanes_max<16>(row_magnitudes(x + r));
    const i32 row = thread.row() + r + thread.lane % 16;
    if (thread.lane % 16 < kPerMagnitude && row < tile.rows) {
      params.tile_amax[tile.column_tile * params.capacity + tile.row + row] =
          magnitude_value(largest, thread.lane % 16);
    }
  }
#endif
#if OCTET_COL
  __syncthreads();  // the previous tile's maxima have been read
  share_column_maxima(shared.tile, thread, x);
  __syncthreads();
  for (i32 at = threadIdx.x; at < kMagnitudes128; at += config::kThreads) {
    Magnitude largest = shared.tile.column_max[0][at];
#pragma unroll
    for (i32 w = 1; w < 8; ++w) largest = larger(largest, shared.tile.column_max[w][at]);
#pragma unroll
    for (i32 half = 0; half < kPerMagnitude; ++half) {
      const i32 column = tile.column_tile * kTile + at * kPerMagnitude + half;
      if (column < kOutColumns) {
        params.column_amax[static_cast<i64>(tile.unit) * kOutColumns + column] = magnitude_value(largest, half);
      }
    }
  }
#endif
}
#endif
#if OCTET_SCALE_TENSOR
__device__ __forceinline__ void leave_maxima(const abi::QuantizeParams& params, PassStorage& shared, const Tile& tile,
                                             const TileThread& thread, i32 parity, const Eight (&x)[8]) {
  const float amax = block_amax(shared.tile, thread, parity, x);
  if (threadIdx.x == 0) params.tile_amax[static_cast<i64>(tile.unit) * kColumnTiles + tile.column_tile] = amax;
}
#endif
#endif

#if OCTET_TILE_AMAX
// The largest value that the tiles of a group left, in every thread of a warp.
__device__ __forceinline__ float group_amax(const abi::QuantizeParams& params, const PassStorage& shared, i32 group,
                                            i32 lane) {
  const UnitRange units = units_of_group(shared, group);
  float amax = 0.f;
  for (i64 i = lane; i < units.count * kColumnTiles; i += 32) {
    amax = fmaxf(amax, params.tile_amax[units.first * kColumnTiles + i]);
  }
#pragma unroll
  for (i32 width = 16; width > 0; width /= 2) amax = fmaxf(amax, __shfl_xor_sync(~0u, amax, width));
  return amax;
}
#endif

}  // namespace octet

#if OCTET_AMAX_PASS
extern "C" __global__ void __launch_bounds__(octet::config::kThreads, octet::config::kBlocksPerSm)
    OCTET_AMAX_ENTRY(const __grid_constant__ octet::abi::QuantizeParams params) {
  using namespace octet;
#if OCTET_NOOP
  if (*params.noop != 0) return;
#endif
  __shared__ PassStorage shared;
  prepare_groups(params, shared);
  TileWalk walk = walk_of(shared);
  const TileThread thread;
  i32 parity = 0;
  for (Tile tile; walk.next(tile);) {
    make_tile(params, tile, thread, [&](const Tile& made, const Eight(&x)[8], const Sums&) {
      leave_maxima(params, shared, made, thread, parity, x);
      parity ^= 1;
    });
  }
}

extern "C" __global__ void __launch_bounds__(octet::config::kThreads)
    OCTET_SCALES_ENTRY(const __grid_constant__ octet::abi::QuantizeParams params) {
  using namespace octet;
#if OCTET_NOOP
  if (*params.noop != 0) return;
#endif
  __shared__ PassStorage shared;
  prepare_groups(params, shared);
#if OCTET_SCALE_TENSOR
  // A warp per group.
  const i32 lane = threadIdx.x % 32, warps = gridDim.x * (config::kThreads / 32);
  for (i32 group = (blockIdx.x * config::kThreads + threadIdx.x) / 32; group < config::kGroups; group += warps) {
    const float amax = group_amax(params, shared, group, lane);
    if (lane != 0) continue;
    const Scale scale = scale_of(has_rows(shared, group) ? fmaxf(amax, params.amax_floor) : 0.f);
    params.group_q[group] = scale.q;
#if OCTET_ROW
    static_cast<float*>(params.sf)[group] = scale.sf;
#endif
#if OCTET_COL
    static_cast<float*>(params.sf_col)[group] = scale.sf;
#endif
#if OCTET_AMAX
    params.amax[group] = amax;
#endif
  }
#endif
#if OCTET_SCALE_ROW
#if OCTET_ROW
  // A thread per row of a tile.
  TileWalk walk = walk_of(shared);
  for (i32 unit = blockIdx.x; unit < walk.units(); unit += gridDim.x) {
    Tile tile;
    walk.unit_at(unit, tile);
    if (static_cast<i32>(threadIdx.x) >= tile.rows) continue;
    const i64 row = tile.row + threadIdx.x;
    float amax = params.amax_floor;
    for (i32 c = 0; c < kColumnTiles; ++c) amax = fmaxf(amax, params.tile_amax[c * params.capacity + row]);
    const Scale scale = scale_of(amax);
    params.row_q[row] = scale.q;
    static_cast<float*>(params.sf)[row] = scale.sf;
  }
#endif
#if OCTET_COL
  // A thread per column of a group.
  const i64 threads = static_cast<i64>(gridDim.x) * config::kThreads;
  for (i64 i = static_cast<i64>(blockIdx.x) * config::kThreads + threadIdx.x;
       i < static_cast<i64>(config::kGroups) * kOutColumns; i += threads) {
    const i32 group = static_cast<i32>(i / kOutColumns);
    const i64 column = i - static_cast<i64>(group) * kOutColumns;
    const UnitRange units = units_of_group(shared, group);
    float amax = has_rows(shared, group) ? params.amax_floor : 0.f;
    for (i64 unit = units.first; unit < units.first + units.count; ++unit) {
      amax = fmaxf(amax, params.column_amax[unit * kOutColumns + column]);
    }
    const Scale scale = scale_of(amax);
    params.group_q[i] = scale.q;
    static_cast<float*>(params.sf_col)[i] = scale.sf;
  }
#endif
#endif
}
#endif

#if OCTET_FINISH_PASS
extern "C" __global__ void __launch_bounds__(octet::config::kThreads)
    OCTET_FINISH_ENTRY(const __grid_constant__ octet::abi::QuantizeParams params) {
  using namespace octet;
#if OCTET_NOOP
  if (*params.noop != 0) return;
#endif
  __shared__ PassStorage shared;
  prepare_groups(params, shared);
#if OCTET_AMAX_OF_TILES
  const i32 lane = threadIdx.x % 32, warps = gridDim.x * (config::kThreads / 32);
  for (i32 group = (blockIdx.x * config::kThreads + threadIdx.x) / 32; group < config::kGroups; group += warps) {
    const float amax = group_amax(params, shared, group, lane);
    if (lane == 0) params.amax[group] = amax;
  }
#endif
#if OCTET_DPROBS
  TileWalk walk = walk_of(shared);
  for (i32 unit = blockIdx.x; unit < walk.units(); unit += gridDim.x) {
    Tile tile;
    walk.unit_at(unit, tile);
    if (static_cast<i32>(threadIdx.x) >= tile.rows) continue;
    const i64 row = tile.row + threadIdx.x;
    float sum = 0.f;
    // Where a step makes both halves, the second half left none.
    for (i32 c = 0; c < kWalkTiles * kRowSums; ++c) sum += params.dprobs_partial[c * params.capacity + row];
    params.dprobs[row] = sum;
  }
#endif
#if OCTET_DBIAS
  const i64 threads = static_cast<i64>(gridDim.x) * config::kThreads;
  for (i64 i = static_cast<i64>(blockIdx.x) * config::kThreads + threadIdx.x;
       i < static_cast<i64>(config::kGroups) * kOutColumns; i += threads) {
    const i32 group = static_cast<i32>(i / kOutColumns);
    const i64 column = i - static_cast<i64>(group) * kOutColumns;
    const UnitRange units = units_of_group(shared, group);
    float sum = 0.f;
    for (i64 unit = units.first; unit < units.first + units.count; ++unit) {
      sum += params.dbias_partial[unit * kOutColumns + column];
    }
    params.dbias[i] = sum;
  }
#endif
}
#endif
