// Columns of what is read and written, and the tiles of 128 columns that they make.
#pragma once

#include "types.cuh"

namespace octet {

// Columns of the output, and of what is read.
constexpr i32 kColumns = config::kColumns;
#if OCTET_GATED
constexpr i32 kFeatures = 2 * kColumns;
#endif
#if !OCTET_GATED
constexpr i32 kFeatures = kColumns;
#endif

constexpr i32 kTile = 128;
#if OCTET_GRAD
constexpr i32 kOutColumns = kFeatures;
#endif
#if !OCTET_GRAD
constexpr i32 kOutColumns = kColumns;
#endif
constexpr i32 kColumnTiles = (kOutColumns + kTile - 1) / kTile;
// Column tiles of a walk: where one walk step makes a tile of each half of the gradient, half of them.
#if OCTET_BOTH_HALVES
constexpr i32 kWalkTiles = kColumnTiles / 2;
#endif
#if !OCTET_BOTH_HALVES
constexpr i32 kWalkTiles = kColumnTiles;
#endif
#if OCTET_DPROBS
// Sums of a row that a tile leaves: of all its columns, or of each half where a warp has no more.
#if OCTET_SQUARE_WARPS
constexpr i32 kRowSums = 2;
#endif
#if !OCTET_SQUARE_WARPS
constexpr i32 kRowSums = 1;
#endif
#endif
// Whether a column of a tile exists; known where tiles divide the columns.
__device__ __forceinline__ bool column_exists(i32 column) { return kOutColumns % kTile == 0 || column < kOutColumns; }

}  // namespace octet
