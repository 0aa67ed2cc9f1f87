// What follows from a GEMM problem, and from its config about how the wgmma kernel works. One place, so that rendering,
// launching and sizes agree.
#pragma once

#include <cstdint>

#include "octet/problem.h"
#include "octet/spec.h"

namespace octet {

// What the wgmma, MXFP8 and portable kernels do: both operations multiply.
constexpr bool is_gemm(Operation op) noexcept { return op == Operation::gemm || op == Operation::wgrad; }
inline bool is_gemm(const Problem& problem) noexcept { return is_gemm(problem.op); }
inline bool is_wgrad(const Problem& problem) noexcept { return problem.op == Operation::wgrad; }

// Thread blocks of a cluster.
constexpr int cluster_blocks(const GemmConfig& config) noexcept {
  return config.cluster_m * config.cluster_n * config.split_k;
}

// One TMA box or two of scales that lie along an operand's rows; 0 boxes: the operand has none.
struct ScaleBoxes {
  int count = 0;
  int rows = 0;  // of one box
  std::int64_t scales() const noexcept { return std::int64_t{count} * rows; }
};

struct GemmTraits {
  GemmTraits(const Problem& problem, const GemmConfig& config);

  bool wgrad = false;
  bool masked = false;
  bool swapped = false;                            // left is B; else left is A
  bool token_vector = false;                       // A of a gemm: 1x128, read through a tensor map
  bool weight_vector = false;                      // B of a gemm: 1x128, read through a tensor map
  bool left_vector = false, right_vector = false;  // the same, by side; of wgrad too
  bool tile_scales = false;                        // B of a gemm: 128x128, fetched a tile ahead
  bool streamed_scales = false;                    // B of a wgrad: 128x128, read along with the blocks
  bool group_scales = false;                       // tensor
  bool row_scales = false;                         // row
  ScaleBoxes left_boxes, right_boxes;
  int step = 128;              // columns of one matrix instruction
  int slabs = 1, steps = 1;    // of a warpgroup
  int tile_scale_rows = 0;     // rows of 128x128 scales that a tile has
  int element_bytes = 2;       // of D
  bool narrow_chunks = false;  // f32 of a wgrad: two buffers, 64 bytes wide
  int chunk_rows = 64;         // of what is stored at a time
  int chunk_width = 128;       // in bytes
  std::int64_t d_columns = 0;
  std::int64_t tile_rows = 0, tile_columns = 0;  // of D
};

// What a GEMM sums over, as A and B lie: elements of a row without its stride, and blocks of 128 of them that scales
// have room for. `capacity`: rows of the buffers of tokens, which is what the operands of a wgrad depend on.
struct InnerExtent {
  std::int64_t elements = 0, blocks = 0;
};
InnerExtent inner_extent(const Problem& problem, std::int64_t capacity);

}  // namespace octet
