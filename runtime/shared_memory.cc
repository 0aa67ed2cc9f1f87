#include "runtime/shared_memory.h"

#include "runtime/portable_traits.h"

namespace octet {
namespace {

constexpr std::int64_t kBlockK = 128;            // bytes of one swizzle row, FP8 elements of one scale block
constexpr std::int64_t kStoreChunkBytes = 8192;  // 64 rows x 64 columns of bf16
constexpr std::int64_t kTileBytes = 16;

std::int64_t align(std::int64_t value, std::int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

std::int64_t group_table_bytes(std::int64_t groups, bool sub_blocks = false) {
  return align(8 + (sub_blocks ? 18 : 14) * groups, 4);
}

}  // namespace

ScaleBoxes scale_boxes(const GemmConfig& config) {
  if (config.block_m + 4 <= 256) return {1, config.block_m + 4};
  // Two boxes; the second one's destination must be 128-byte aligned, so each has a multiple of 32 rows.
  return {2, static_cast<int>(align(config.block_m / 2 + 4, 32))};
}

std::int64_t gemm_shared_memory_bytes(const Problem& problem, const GemmConfig& config) {
  const std::int64_t blocks_k = (problem.k + kBlockK - 1) / kBlockK;
  const ScaleBoxes boxes = scale_boxes(config);
  std::int64_t bytes = std::int64_t{config.stages} * (config.block_m + config.block_n) * kBlockK;
  bytes += config.whole_tile_store ? std::int64_t{2} * config.block_m * config.block_n
                                   : config.warpgroups_m * config.warpgroups_n * kStoreChunkBytes;
  bytes += config.stages * align(std::int64_t{boxes.count} * boxes.rows, 32) * 4;
  bytes += kTileBytes * 2;
  bytes += std::int64_t{2} * (config.block_n / 128) * blocks_k * 4;
  bytes = align(bytes, 8) + (config.stages + 2) * 16;  // full and empty barriers of both rings
  bytes += group_table_bytes(problem.g);
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

int portable_blocks_per_sm(const PortableConfig& config) { return config.warps_m * config.warps_n <= 4 ? 2 : 1; }

int gemm_blocks_per_sm(const GemmConfig& config) { return config.warpgroups_m * config.warpgroups_n == 1 ? 2 : 1; }

}  // namespace octet
