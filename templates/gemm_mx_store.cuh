// From sums to D, through shared memory, in pieces of 16 bytes. The matrix instruction's rows are columns of D, so
// tiles are turned on their way, unless D itself is turned (gemm_mx.cu says when).
//
// A piece that holds a NaN is not stored at once: when all others are, and the accumulators are no longer needed, its
// elements are computed again one by one.
#pragma once

#include "gemm_mx_exact.cuh"

namespace octet {

constexpr i32 kPiece = 16 / kElementBytes;  // elements
// Of one row of a chunk as it is staged: a token's, or of turned D a column's.
#if OCTET_D_TURNED
constexpr i32 kRowPieces = kChunkTokens / kPiece;
#endif
#if !OCTET_D_TURNED
constexpr i32 kRowPieces = kSlab / kPiece;
#endif
static_assert(kRowPieces == 4 || kRowPieces == 8 || kRowPieces == 16, "the swizzles below are made for these");
constexpr i32 kThreadPieces = kChunkBytes / 16 / 128;  // of a chunk
static_assert(kChunks * kThreadPieces <= 32, "a thread's unfinished pieces are bits of a word");

#if !OCTET_D_F32
// Two f32 to two elements, nearest even; `low` in the low half.
__device__ __forceinline__ u32 pack_two(float low, float high) {
#if OCTET_D_BF16
  return pack_bf16(low, high);
#endif
#if OCTET_D_FP16
  return pack_fp16(low, high);
#endif
}
#endif

// Whether one of the piece's elements is NaN: adding what is missing from the smallest NaN to 2^15 (2^31) carries.
__device__ __forceinline__ bool holds_nan(const uint4& piece) {
#if OCTET_D_BF16
  constexpr u32 kMagnitude = 0x7fff7fffu, kMissing = 0x007f007fu, kCarry = 0x80008000u;
#endif
#if OCTET_D_FP16
  constexpr u32 kMagnitude = 0x7fff7fffu, kMissing = 0x03ff03ffu, kCarry = 0x80008000u;
#endif
#if OCTET_D_F32
  constexpr u32 kMagnitude = 0x7fffffffu, kMissing = 0x007fffffu, kCarry = 0x80000000u;
#endif
  const u32 carries = ((piece.x & kMagnitude) + kMissing) | ((piece.y & kMagnitude) + kMissing) |
                      ((piece.z & kMagnitude) + kMissing) | ((piece.w & kMagnitude) + kMissing);
  return (carries & kCarry) != 0;
}

// Turns the sums into what D is to hold. `column`: D's column of this thread's first row of accumulators.
__device__ __forceinline__ void finish(const abi::MxGemmParams& params, const MathThread& thread, const Tile& tile,
                                       i32 column, float (&sum)[kStepRegisters]) {
#if OCTET_BIAS
  const i64 bias_at = static_cast<i64>(tile.group) * config::kN + column;
  const float bias0 = column < kOutputColumns ? load_one(params.bias, bias_at) : 0.f;
  const float bias1 = column + 8 < kOutputColumns ? load_one(params.bias, bias_at + 8) : 0.f;
#endif
#pragma unroll
  for (i32 i = 0; i < kStepRegisters; ++i) {
    float value = sum[i] * params.alpha;
#if OCTET_BIAS
    value += i % 4 / 2 == 1 ? bias1 : bias0;
#endif
#if OCTET_ACC
    const i32 token = i / 4 * 8 + thread.lane % 4 * 2 + i % 2, c = column + i % 4 / 2 * 8;
    if (token < tile.rows && c < kOutputColumns && params.beta != 0.f) {
      value += params.beta * load_one(params.d, index_of_d(params, tile, tile.row + token, c));
    }
#endif
    sum[i] = value;
  }
}

// Where a piece of a row lies in the staging buffer, so that writes and reads spread over all banks.
__device__ __forceinline__ u32 piece_offset(i32 row, i32 piece) {
  constexpr i32 kRowBytes = kRowPieces * 16;
#if OCTET_D_TURNED
  return row * kRowBytes + (piece ^ (kRowPieces == 8 ? row % 8 : row / 2 % 4)) * 16;
#endif
#if !OCTET_D_TURNED
#if OCTET_D_F32
  return row * kRowBytes + (piece ^ row / 2 % 4 * 2) * 16;
#endif
#if !OCTET_D_F32
  return row * kRowBytes + (piece ^ row % 8) * 16;
#endif
#endif
}

// Rounds the sums of kChunkTokens tokens and lays them out. `sum`: of the chunk's first one.
__device__ __forceinline__ void stage_chunk(u32 buffer, const MathThread& thread, const float* sum) {
#if OCTET_D_F32
#pragma unroll
  for (i32 i = 0; i < kChunkTokens / 2; ++i) {
    const i32 token = i / 4 * 8 + thread.lane % 4 * 2 + i % 2, column = thread.row + i % 4 / 2 * 8;
#if OCTET_D_TURNED
    shared_store(buffer + piece_offset(column, token / 4) + token % 4 * 4, sum[i]);
#endif
#if !OCTET_D_TURNED
    shared_store(buffer + piece_offset(token, column / 4) + column % 4 * 4, sum[i]);
#endif
  }
#endif
#if !OCTET_D_F32
#pragma unroll
  for (i32 pair = 0; pair < kChunkTokens / 16; ++pair) {
    const float* v = sum + pair * 8;
#if OCTET_D_TURNED
    const i32 column = thread.warp % 4 * 16 + thread.lane / 8 % 2 * 8 + thread.lane % 8;
    stmatrix_x4(buffer + piece_offset(column, pair * 2 + thread.lane / 16), pack_two(v[0], v[1]), pack_two(v[2], v[3]),
                pack_two(v[4], v[5]), pack_two(v[6], v[7]));
#endif
#if !OCTET_D_TURNED
    const i32 token = pair * 16 + thread.lane / 16 * 8 + thread.lane % 8;
    const i32 piece = thread.warp % 4 * 2 + thread.lane / 8 % 2;
    stmatrix_x4_turned(buffer + piece_offset(token, piece), pack_two(v[0], v[1]), pack_two(v[2], v[3]),
                       pack_two(v[4], v[5]), pack_two(v[6], v[7]));
#endif
  }
#endif
}

// A thread's piece `index` of a chunk: its first token and column of D.
struct PiecePlace {
  i32 token, column;
};
__device__ __forceinline__ PiecePlace place_of_piece(const MathThread& thread, const Tile& tile, i32 chunk, i32 index) {
  const i32 piece = index * 128 + static_cast<i32>(threadIdx.x) % 128;
  const i32 row = piece / kRowPieces, along = piece % kRowPieces * kPiece;
  const i32 first_token = chunk * kChunkTokens, first_column = tile.column + thread.warpgroup * kSlab;
#if OCTET_D_TURNED
  return {first_token + along, first_column + row};
#endif
#if !OCTET_D_TURNED
  return {first_token + row, first_column + along};
#endif
}

__device__ __forceinline__ void store_element(const abi::MxGemmParams& params, i64 index, float value) {
#if OCTET_D_F32
  static_cast<float*>(params.d)[index] = value;
#endif
#if !OCTET_D_F32
  static_cast<u16*>(params.d)[index] = static_cast<u16>(pack_two(value, 0.f));
#endif
}

// The pieces that held a NaN.
__device__ __forceinline__ void store_exactly(const abi::MxGemmParams& params, const WalkTable& groups,
                                              const MathThread& thread, const Tile& tile, u32 unfinished) {
#pragma unroll 1
  for (; unfinished != 0; unfinished &= unfinished - 1) {
    const i32 bit = __ffs(static_cast<int>(unfinished)) - 1;
    const PiecePlace place = place_of_piece(thread, tile, bit / kThreadPieces, bit % kThreadPieces);
#pragma unroll 1
    for (i32 i = 0; i < kPiece; ++i) {
#if OCTET_D_TURNED
      const i32 row = tile.row + place.token + i, column = place.column;
#endif
#if !OCTET_D_TURNED
      const i32 row = tile.row + place.token, column = place.column + i;
#endif
      store_element(params, index_of_d(params, tile, row, column), exact_element(params, groups, tile, row, column));
    }
  }
}

// Stores what this warpgroup holds: all tokens of the tile by its 64 columns.
__device__ __forceinline__ void store_tile(const abi::MxGemmParams& params, SharedStorage& shared,
                                           const MathThread& thread, const Tile& tile, float (&sum)[kStepRegisters]) {
#if OCTET_ACC
#if OCTET_WGRAD
  if (tile.blocks == 0 && params.beta == 1.f) return;  // an empty group leaves D as it is, to the bit
#endif
#endif
  const i32 barrier = 1 + thread.warpgroup;
  const u32 buffer = shared_address(shared.staging[thread.warpgroup]);
  u32 unfinished = 0;
  finish(params, thread, tile, tile.column + thread.warpgroup * kSlab + thread.row, sum);
#pragma unroll
  for (i32 chunk = 0; chunk < kChunks; ++chunk) {
    if (chunk * kChunkTokens >= tile.rows) break;
    named_barrier(barrier, 128);  // the buffer may still be read
    stage_chunk(buffer, thread, sum + chunk * (kChunkTokens / 2));
    named_barrier(barrier, 128);
#pragma unroll
    for (i32 i = 0; i < kThreadPieces; ++i) {
      const PiecePlace place = place_of_piece(thread, tile, chunk, i);
      // A row of D has a multiple of 8 elements, so a piece is all in or all out.
      if (place.token >= tile.rows || place.column >= kOutputColumns) continue;
      const i32 piece = i * 128 + static_cast<i32>(threadIdx.x) % 128;
      const uint4 value = shared_load_16(buffer + piece_offset(piece / kRowPieces, piece % kRowPieces));
      if (holds_nan(value)) {
        unfinished |= 1u << (chunk * kThreadPieces + i);
        continue;
      }
      const i64 at = index_of_d(params, tile, tile.row + place.token, place.column);
      *reinterpret_cast<uint4*>(static_cast<u8*>(params.d) + at * kElementBytes) = value;
    }
  }
  if (unfinished != 0) store_exactly(params, shared.groups, thread, tile, unfinished);
}

}  // namespace octet
