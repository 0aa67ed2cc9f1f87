#include "runtime/shared_memory.h"

#include <algorithm>
#include <utility>

#include "runtime/gemm_traits.h"
#include "runtime/portable_traits.h"

namespace octet {
namespace {

constexpr std::int64_t kBlockK = 128;  // bytes of one swizzle row, FP8 elements of one scale block

std::int64_t align(std::int64_t value, std::int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// A table of the groups that have work, or for wgrad of where each group lies.
std::int64_t group_table_bytes(const GemmTraits& traits, std::int64_t groups) {
  return traits.wgrad ? 8 * groups : align(8 + 14 * groups, 4);
}

std::int64_t staging_bytes(const GemmTraits& traits, const GemmConfig& config) {
  const std::int64_t rows = std::int64_t{config.warpgroups_m} * config.warpgroups_n * traits.chunk_rows;
  const int buffers = traits.narrow_chunks ? 2 : 1;
  if (!config.whole_tile_store) return rows * traits.chunk_width * buffers;
  return std::int64_t{traits.element_bytes} * config.block_m * config.block_n;
}

// The portable kernel's table of groups.
std::int64_t group_table_bytes(std::int64_t groups, bool sub_blocks = false) {
  return align(8 + (sub_blocks ? 18 : 14) * groups, 4);
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
  bytes += group_table_bytes(traits, problem.g);
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

int mx_threads(const MxConfig& config) { return 128 * (config.block_m / 64 + 1); }

bool mx_sub_blocks(const Problem& problem) {
  const auto is_compact = [](const std::optional<Recipe>& recipe) {
    return recipe && recipe->scale_layout == ScaleLayout::mx_compact;
  };
  return problem.op == Operation::wgrad && (is_compact(problem.a) || is_compact(problem.b));
}

bool mx_turns(const Problem& problem) { return problem.op == Operation::wgrad && problem.k < problem.n; }

Problem mx_view(const Problem& problem) {
  Problem view = problem;
  if (mx_turns(problem)) {
    std::swap(view.a, view.b);
    std::swap(view.n, view.k);
  }
  return view;
}

std::int64_t mx_shared_memory_bytes(const Problem& problem, const MxConfig& config) {
  constexpr std::int64_t kStageK = 64;
  const bool wgrad = problem.op == Operation::wgrad, sub_blocks = mx_sub_blocks(problem);
  const int element = size_bytes(problem.d.value_or(DType::bf16));
  const std::int64_t chunk_rows = element == 4 ? 32 : std::min(config.block_n, 64);
  std::int64_t bytes = config.stages * kStageK * (config.block_m + std::int64_t{2} * config.block_n);
  bytes += align(config.block_m * chunk_rows * element, 1024);
  bytes += 2 * (wgrad ? 32 : 16);     // tiles
  bytes += (config.stages + 2) * 16;  // full and empty barriers of both rings
  bytes += wgrad ? (sub_blocks ? 16 : 8) * problem.g : align(8 + 14 * problem.g, 4);
  return align(bytes, 1024);
}

int portable_blocks_per_sm(const PortableConfig& config) { return config.warps_m * config.warps_n <= 4 ? 2 : 1; }

}  // namespace octet
