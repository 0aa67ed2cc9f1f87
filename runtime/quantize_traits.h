// What follows from a quantize or activation problem about how its kernels work. One place, so that rendering,
// launching and workspace sizes agree.
#pragma once

#include <string>
#include <vector>

#include "octet/layout.h"
#include "octet/problem.h"
#include "octet/spec.h"

namespace octet {

// Columns of what is quantized: C of tokens, K of weights.
std::int64_t columns_of(const Problem& problem) noexcept;

// Whether an array on the device says where groups lie: not for uniform groups, nor for a dense one.
bool has_splits(const Problem& problem) noexcept;

struct QuantizeTraits {
  explicit QuantizeTraits(const Problem& problem);

  Granularity granularity = Granularity::block_1x128;  // of op quantize
  ScaleLayout scales = ScaleLayout::mn_major;
  bool quantized = false;  // else the activation's result is stored as it is
  bool row = false, col = false;
  bool has_activation = false, gated = false;
  bool backward = false;     // a gradient through an activation; without one the gradient is the input itself
  bool both_halves = false;  // of a gated gradient in one step: halves side by side, of whole tiles
  bool dbias = false, dprobs = false;
  bool current = false;          // `tensor` of rows whose scale is not given: quantize_current.cu, in one kernel
  bool amax_pass = false;        // `row`, and `tensor` unless the scale is given: a pass over the data before the cast
  bool amax_of_tiles = false;    // amax beside a given scale
  bool finish_pass = false;      // adds up what tiles left
  bool by_tiles = false;         // the main kernel is quantize_tiles.cu; else quantize_rows.cu, or that of `current`
  bool square_warps = false;     // a warp has 32 rows of 64 columns of a tile, else 16 of 128
  bool one_shot = false;         // quantize_tiles.cu: a block does one tile; else blocks walk over the tiles
  bool whole_extent = false;     // of masked groups every block is walked over, for the padding
  bool strips_by_group = false;  // quantize_rows.cu walks over groups, else every warp takes one strip of the buffer
  bool row_groups = false;       // quantize_rows.cu needs to know each row's group
  bool needs_table = false;      // any of the kernels walks over groups
};

// Entry points in launch order. The main one has the spec's name, the others that name and a suffix. `pointers` is
// launched only for tables that are not in the parameters of the main one; `dequantize` comes before a GEMM of an
// MxConfig that is not direct.
enum class Pass { amax, scales, pointers, dequantize, main, finish };
const char* suffix(Pass pass) noexcept;  // "_amax", "_scales", "_pointers", "_dequantize", "", "_finish"
std::vector<Pass> passes_of(const Problem& problem);
std::vector<Pass> passes_of(const Spec& spec);

// Scratch of a launch in bytes from the start of the workspace; a section that is not needed is empty.
struct QuantizeWorkspace {
  std::int64_t tile_amax = 0, column_amax = 0, group_q = 0, row_q = 0, dprobs_partial = 0, dbias_partial = 0;
  std::int64_t counters = 0, counter_words = 0;  // to be zeroed before the launch
  std::int64_t bytes = 0;
};
QuantizeWorkspace quantize_workspace(const Problem& problem, std::int64_t capacity);
// The same from what a launch already knows: `traits` and `shape` are the problem's.
QuantizeWorkspace quantize_workspace(const Problem& problem, const QuantizeTraits& traits, const QuantizeShape& shape);

// Tiles of 128 columns of what is written, the last one perhaps partial.
std::int64_t column_tiles(const QuantizeShape& shape);

}  // namespace octet
