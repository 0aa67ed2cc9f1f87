// Tiles of 128 x 128: rows, columns or both from one read, and what a backward pass quantizes.
//
// Rowwise FP8 [rows, C] and columnwise FP8, transposed: [C, ld_col] with each group at a multiple of 128 and zeros up
// to the next one, or [G, K, N] for uniform groups. Scales as the recipe says; padding that a layout adds is written.
// With a gradient C is the pre-activation's width. Bit for bit what docs/numerics.md says.
//
// 256 threads hold a tile, eight rows of eight columns each. Rows, and 32 rows of a column, are reduced within a warp;
// columns meet in shared memory, and go out through it transposed, 128 bytes of a column at a time. A block does one
// tile where it can find it quickly; else it walks over the tiles of all groups.
#include "abi.h"
#if OCTET_GRAD
#include "gradient.cuh"
#endif
#if OCTET_AMAX_PASS || OCTET_FINISH_PASS
#include "quantize_passes.cuh"
#endif
#include "tile_store.cuh"
#if OCTET_DBIAS || OCTET_DPROBS
#include "tile_sums.cuh"
#endif

namespace octet {

static_assert(config::kThreads == 256, "16 row groups of 16 threads");

struct SharedStorage {
  TileStorage tile;
#if OCTET_GROUP_TABLE
#if !OCTET_ONE_SHOT
  GroupTable groups;
#endif
#endif
};

__device__ __forceinline__ void process_tile(const abi::QuantizeParams& params, SharedStorage& shared, const Tile& tile,
                                             const TileThread& thread, i32& parity) {
  make_tile(params, tile, thread, [&](const Tile& made, const Eight(&x)[8], Sums& sums) {
#if OCTET_DPROBS
    if (made.column_tile < kWalkTiles) store_row_sums(params, made, thread, sums.rows);
#endif
#if OCTET_DBIAS
    store_column_sums(params, shared.tile, made, thread, sums.columns);
#endif
    store_tile(params, shared.tile, made, thread, parity, x);
    parity ^= 1;
  });
}

}  // namespace octet

extern "C" __global__ void __launch_bounds__(octet::config::kThreads, octet::config::kBlocksPerSm)
    OCTET_ENTRY(const __grid_constant__ octet::abi::QuantizeParams params) {
  using namespace octet;
#if OCTET_NOOP
  if (*params.noop != 0) return;
#endif
  __shared__ SharedStorage shared;
#if OCTET_QUANTIZED
  if (blockIdx.x == 0) fill_rest(params, kColumnTiles);
#endif
  const TileThread thread;
  i32 parity = 0;
  Tile tile;
#if OCTET_GUESSED
  prefetch_guess(params);
#endif
#if OCTET_ONE_SHOT
  if (find_tile(params.splits, params.capacity, thread.lane, tile)) process_tile(params, shared, tile, thread, parity);
#endif
#if !OCTET_ONE_SHOT
#if OCTET_GROUP_TABLE
  if (threadIdx.x < 32) {
    build_group_table(shared.groups, params.splits, params.capacity, thread.lane, blocks_of_rows);
  }
  __syncthreads();
  TileWalk walk(shared.groups);
#endif
#if OCTET_UNIFORM
  TileWalk walk;
#endif
  while (walk.next(tile)) process_tile(params, shared, tile, thread, parity);
#endif
}
