#include "runtime/shared_memory.h"

#include <algorithm>

#include "runtime/gemm_traits.h"
#include "runtime/mx_traits.h"
#include "runtime/portable_traits.h"

namespace octet {
namespace {

constexpr std::int64_t kBlockK = 128;  // bytes of one swizzle row, FP8 elements of one scale block

std::int64_t align(std::int64_t value, std::int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// GroupTable of templates/groups.cuh: of each group that has work its first unit, its rows, its number and, where the
// kernel counts them, the 32-row blocks before it.
std::int64_t group_table_bytes(std::int64_t groups, bool sub_blocks = false) {
  return align(8 + (sub_blocks ? 18 : 14) * groups, 4);
}

// Of a wgrad only where each group lies.
std::int64_t range_table_bytes(std::int64_t groups, bool sub_blocks = false) { return (sub_blocks ? 16 : 8) * groups; }

std::int64_t staging_bytes(const GemmTraits& traits, const GemmConfig& config) {
  const std::int64_t rows = std::int64_t{config.warpgroups_m} * config.warpgroups_n * traits.chunk_rows;
  const int buffers = traits.narrow_chunks ? 2 : 1;
  // A warpgroup is sent the sums of 64 weights by all tokens, as f32.
  if (config.split_k > 1) return rows * 64 * 4;
  if (!config.whole_tile_store) return rows * traits.chunk_width * buffers;
  return std::int64_t{traits.element_bytes} * config.block_m * config.block_n;
}

}  // namespace

std::int64_t gemm_shared_memory_bytes(const Problem& problem, const GemmConfig& config) {
  const GemmTraits traits(problem, config);
  const std::int64_t blocks_k = (problem.k + kBlockK - 1) / kBlockK;
  std::int64_t bytes = std::int64_t{config.stages} * (config.block_m + config.block_n) * kBlockK;
  bytes += align(staging_bytes(traits, config), 128);
  bytes += config.stages * (align(traits.left_boxes.scales(), 32) + align(traits.right_boxes.scales(), 32)) * 4;
  bytes += 2 * (traits.wgrad ? 32 : 16);  // tiles
  if (traits.tile_scales) bytes = align(bytes + std::int64_t{2} * traits.tile_scale_rows * blocks_k * 4, 8);
  bytes += (config.stages + 2) * 16;  // full and empty barriers of both rings
  if (config.split_k > 1) bytes += std::int64_t{16} * config.warpgroups_m * config.warpgroups_n;  // and of mailboxes
  bytes += traits.wgrad ? range_table_bytes(problem.g) : group_table_bytes(problem.g);
  return align(bytes, 1024);
}

std::int64_t portable_shared_memory_bytes(const Problem& problem, const PortableConfig& config) {
  const PortableTraits traits(problem);
  const std::int64_t rows = std::int64_t{config.block_m} + config.block_n;
  std::int64_t bytes = config.stages * rows * kBlockK;
  bytes += config.stages * rows * 4 * traits.scales_per_stage;
  if (traits.group_table) bytes += group_table_bytes(problem.g, traits.sub_blocks);
  if (traits.first_blocks) bytes += problem.g * 4;
  return align(bytes, 128);
}

std::int64_t mx_shared_memory_bytes(const Problem& problem, const MxConfig& config) {
  constexpr std::int64_t kStageK = 64;
  const bool wgrad = is_wgrad(problem);
  const int element = size_bytes(problem.d.value_or(DType::bf16));
  const std::int64_t chunk_rows = element == 4 ? 32 : std::min(config.block_n, 64);
  // A stage has A as bf16; directly, as it is, and beside that there is a ring of A as bf16.
  const std::int64_t a_bytes = config.direct > 0 ? 1 : 2;
  std::int64_t bytes = config.stages * kStageK * (config.block_m + a_bytes * config.block_n);
  bytes += std::int64_t{2} * config.direct * kStageK * config.block_n;
  bytes += align(config.block_m * chunk_rows * element, 1024);
  bytes += 2 * (wgrad ? 32 : 16);                     // tiles
  bytes += (config.stages + config.direct + 2) * 16;  // full and empty barriers of all rings
  bytes += wgrad ? range_table_bytes(problem.g, mx_sub_blocks(problem)) : group_table_bytes(problem.g);
  return align(bytes, 1024);
}

int portable_blocks_per_sm(const PortableConfig& config) { return config.warps_m * config.warps_n <= 4 ? 2 : 1; }

}  // namespace octet
