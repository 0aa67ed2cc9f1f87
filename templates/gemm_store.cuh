// From sums to D: scales that do not change along K, alpha, bias, what D held, and the store.
//
// A warpgroup's share leaves through shared memory in chunks of 64 rows of 128 bytes: whole slabs by the copy engine, a
// group's last rows 16 bytes at a time.
#pragma once

#include "gemm_output.cuh"

namespace octet {

// Turns the sums of 64 x kStep products into what D is to hold. `row`, `column`: of the tile's share. `keep`: beta of
// D.
__device__ __forceinline__ void finish(const abi::GemmParams& params, const MathThread& thread, const Tile& tile,
                                       i32 row, i32 column, float keep, float (&sum)[kStepRegisters]) {
#if OCTET_ROW_SCALES || OCTET_ACC
  const i32 first = tile.row + row + thread.row;  // of this thread's two rows; the other one is 8 below
  const bool has0 = row + thread.row < tile.rows, has1 = row + thread.row + 8 < tile.rows;
#endif
  float factor0 = params.alpha, factor1 = params.alpha;
#if OCTET_SCALED_OUTPUT
  const bool has_scales = blocks_of_tile(tile) > 0;  // a group without rows may have none
#endif
#if OCTET_GROUP_SCALES
  const float group_scale = has_scales ? __ldg(params.sfa + tile.group) * *scales_of_weights(params, tile) : 0.f;
  factor0 *= group_scale;
  factor1 *= group_scale;
#endif
#if OCTET_ROW_SCALES
#if OCTET_WGRAD
  const float* row_scales = params.sfa + static_cast<i64>(tile.group) * config::kN + first;
#endif
#if !OCTET_WGRAD
  const float* row_scales = params.sfa + first;
#endif
  factor0 *= has0 && has_scales ? __ldg(row_scales) : 0.f;
  factor1 *= has1 && has_scales ? __ldg(row_scales + 8) : 0.f;
#endif
#pragma unroll
  for (i32 j = 0; j < kStep / 8; ++j) {
    float(&v)[kStepRegisters] = sum;
#if OCTET_ROW_SCALES || OCTET_BIAS || OCTET_ACC
    const i32 c = tile.column + column + j * 8 + thread.lane % 4 * 2;
#endif
    float column0 = 1.f, column1 = 1.f;
#if OCTET_ROW_SCALES
    if (c < kOutputColumns && has_scales) {
      const float2 pair = __ldg(reinterpret_cast<const float2*>(scales_of_weights(params, tile) + c));
      column0 = pair.x;
      column1 = pair.y;
    }
#endif
    v[4 * j] *= factor0 * column0;
    v[4 * j + 1] *= factor0 * column1;
    v[4 * j + 2] *= factor1 * column0;
    v[4 * j + 3] *= factor1 * column1;
#if OCTET_BIAS
    if (c < kOutputColumns) {
      const float2 bias = load_two(params.bias, static_cast<i64>(tile.group) * kOutputColumns + c);
      v[4 * j] += bias.x;
      v[4 * j + 1] += bias.y;
      v[4 * j + 2] += bias.x;
      v[4 * j + 3] += bias.y;
    }
#endif
#if OCTET_ACC
    if (keep != 0.f && c < kOutputColumns) {
      const i64 at = row_of_d(params, tile, first) + c;
      const float2 none = make_float2(0.f, 0.f);
      const void* d = data_of_d(params, tile);
      const float2 old0 = has0 ? load_two(d, at) : none;
      const float2 old1 = has1 ? load_two(d, at + 8 * params.d_stride) : none;
      v[4 * j] += keep * old0.x;
      v[4 * j + 1] += keep * old0.y;
      v[4 * j + 2] += keep * old1.x;
      v[4 * j + 3] += keep * old1.y;
    }
#endif
  }
}

// Rounds 64 rows x kChunk columns and lays them out for a TMA store. `sum`: of the chunk's first column.
__device__ __forceinline__ void stage_chunk(u32 buffer, const MathThread& thread, const float* sum) {
#if OCTET_D_F32
#pragma unroll
  for (i32 j = 0; j < kChunk / 8; ++j) {
    // The copy engine's swizzles of 128 and of 64 bytes: 16-byte pieces change places every row, or every two.
    const i32 piece = j * 2 + thread.lane % 4 / 2, turn = thread.row % 8 * kChunkWidth / 128;
    const u32 swizzled = (piece ^ turn) * 16 + thread.lane % 2 * 8;
    shared_store_8(buffer + thread.row * kChunkWidth + swizzled, sum[4 * j], sum[4 * j + 1]);
    shared_store_8(buffer + (thread.row + 8) * kChunkWidth + swizzled, sum[4 * j + 2], sum[4 * j + 3]);
  }
#endif
#if !OCTET_D_F32
  const i32 row = thread.warp % 4 * 16 + thread.lane / 8 % 2 * 8 + thread.lane % 8;
#pragma unroll
  for (i32 pair = 0; pair < kChunk / 16; ++pair) {
    const float* left = sum + pair * 8;
    const float* right = left + 4;
    const u32 swizzled = ((pair * 2 + thread.lane / 16) ^ (row % 8)) * 16;
    stmatrix_x4(buffer + row * 128 + swizzled, pack_two(left[0], left[1]), pack_two(left[2], left[3]),
                pack_two(right[0], right[1]), pack_two(right[2], right[3]));
  }
#endif
}

#if !OCTET_WGRAD
// Copies the first `rows` rows of a staged chunk to D, 16 bytes at a time. The whole warpgroup.
__device__ __forceinline__ void store_rows(const abi::GemmParams& params, u32 buffer, i64 row, i32 rows, i32 column) {
  constexpr i32 kPiece = 16 / kElementBytes;  // elements
  const i32 thread = threadIdx.x % 128;
#pragma unroll 1  // for a group's last rows alone: short code beats unrolled code
  for (i32 i = 0; i < kChunkBytes / 16 / 128; ++i) {
    const i32 piece = i * 128 + thread;
    const i32 r = piece / 8, c = piece % 8;
    // N is a multiple of 8, so a piece is all in or all out.
    if (r < rows && column + c * kPiece < config::kN) {
      store_16(params.d_data, (row + r) * params.d_stride + column + c * kPiece,
               shared_load_16(buffer + r * 128 + ((c ^ (r % 8)) * 16)));
    }
  }
}
#endif

// Stores a whole slab's chunk. One thread.
__device__ __forceinline__ void store_slab(const abi::GemmParams& params, u32 buffer, const Tile& tile, i32 row,
                                           i32 column, bool add) {
#if OCTET_WGRAD
  // The tensor map ends with the group's rows, so nothing past them is written.
#if OCTET_D_POINTERS
  const abi::TensorMap* map = group_map<0>(params, params.d_maps, tile.group);
  constexpr i32 plane = 0;
#endif
#if !OCTET_D_POINTERS
  const abi::TensorMap* map = &params.d;
  const i32 plane = tile.group;
#endif
#if OCTET_REDUCE
  if (add) {
    tma_reduce_add_3d(map, buffer, column, row, plane);
    return;
  }
#endif
  tma_store_3d(map, buffer, column, row, plane);
#endif
#if !OCTET_WGRAD
  tma_store(&params.d, buffer, column, row);
#endif
}

// Stores the rows of the group that this warpgroup holds.
__device__ __forceinline__ void store_tile(const abi::GemmParams& params, SharedStorage& shared,
                                           const MathThread& thread, const Tile& tile, const Share& share,
                                           float (&sum)[kSlabs * kSteps][kStepRegisters]) {
  const bool elected = threadIdx.x % 128 == 0;
  const i32 barrier = 1 + thread.warpgroup;
  const u32 staging = shared_address(shared.staging[thread.warpgroup]);
  bool add = false;
  float keep = 0.f;
#if OCTET_ACC
  keep = params.beta;
#if OCTET_WGRAD
  if (tile.blocks == 0 && keep == 1.f) return;  // an empty group leaves D as it is, to the bit
#endif
#if OCTET_REDUCE
  add = keep == 1.f;  // the memory adds; each element once, so the order of adding is not in question
  if (add) keep = 0.f;
#endif
#endif
#if OCTET_SCALED_OUTPUT || OCTET_BIAS
  constexpr bool changes = true;
#endif
#if !OCTET_SCALED_OUTPUT
#if !OCTET_BIAS
  const bool changes = params.alpha != 1.f || keep != 0.f;  // a tile's registers are many to go through for nothing
#endif
#endif
#pragma unroll
  for (i32 slab = 0; slab < kSlabs; ++slab)
#pragma unroll
    for (i32 step = 0; step < kSteps; ++step)
      if (slab < share.slabs && step < share.steps && changes)
        finish(params, thread, tile, share.row + slab * kSlabStride, share.column + step * kStep, keep,
               sum[slab * kSteps + step]);
#if OCTET_WHOLE_TILE
  // Two barriers per tile: one before the buffers are reused, one before they are stored.
  if (elected) tma_store_wait_read();
  named_barrier(barrier, 128);
#pragma unroll
  for (i32 slab = 0; slab < kSlabs; ++slab)
#pragma unroll
    for (i32 chunk = 0; chunk < kChunks; ++chunk)
      if (slab < share.slabs && chunk < share.steps * (kStep / kChunk))
        stage_chunk(staging + (slab * kChunks + chunk) * kChunkBytes, thread,
                    &sum[slab * kSteps][0] + chunk * (kChunk / 2));
  fence_async_proxy();
  named_barrier(barrier, 128);
#endif
#pragma unroll
  for (i32 slab = 0; slab < kSlabs; ++slab) {
    if (slab >= share.slabs) break;
    const i32 row = share.row + slab * kSlabStride;
#if !OCTET_WGRAD
    const i32 rows = tile.rows - row;
#endif
#pragma unroll
    for (i32 chunk = 0; chunk < kChunks; ++chunk) {
      if (chunk >= share.steps * (kStep / kChunk)) break;
      const i32 column = tile.column + share.column + chunk * kChunk;
#if OCTET_WHOLE_TILE
      const u32 buffer = staging + (slab * kChunks + chunk) * kChunkBytes;
#endif
#if !OCTET_WHOLE_TILE
#if OCTET_NARROW_CHUNKS
      // This buffer is free: before the last barrier, the copy engine had read all but the other one.
      const u32 buffer = staging + chunk % kBuffers * kChunkBytes;
#endif
#if !OCTET_NARROW_CHUNKS
      const u32 buffer = staging;
      if (elected) tma_store_wait_read();
      named_barrier(barrier, 128);
#endif
      stage_chunk(buffer, thread, &sum[slab * kSteps][0] + chunk * (kChunk / 2));
      fence_async_proxy();
#if OCTET_NARROW_CHUNKS
      if (elected) tma_store_wait_read();
#endif
      named_barrier(barrier, 128);
#endif
#if !OCTET_WGRAD
      if (rows < kSlab) {
        store_rows(params, buffer, tile.row + row, rows, column);
        continue;
      }
#endif
      if (elected && column < kOutputColumns) {
        store_slab(params, buffer, tile, tile.row + row, column, add);
#if !OCTET_WHOLE_TILE
        tma_store_commit();
#endif
      }
    }
  }
#if OCTET_WHOLE_TILE
  if (elected) tma_store_commit();
#endif
}

}  // namespace octet
