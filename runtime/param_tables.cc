#include "runtime/param_tables.h"

#include <algorithm>
#include <iterator>

#include "runtime/gemm_traits.h"
#include "runtime/integers.h"
#include "templates/abi.h"

namespace octet {

GroupTables wgmma_tables(const Problem& problem) {
  if (!problem.weights_by_pointer) return {};
  if (is_wgrad(problem)) return {1, problem.has(Flag::acc) ? 1 : 0};
  return problem.b->granularity == Granularity::block_1x128 ? GroupTables{2, 0} : GroupTables{1, 1};
}

GroupTables portable_tables(const Problem& problem) {
  if (!problem.weights_by_pointer) return {};
  return {0, is_wgrad(problem) ? 1 : 2};
}

std::int64_t wgmma_param_bytes(const Problem& problem) {
  const GroupTables tables = wgmma_tables(problem);
  const std::int64_t group = tables.maps * sizeof(abi::TensorMap) + tables.pointers * sizeof(void*);
  return round_up(sizeof(abi::GemmParams) + problem.g * group, alignof(abi::TensorMap));
}

std::int64_t portable_param_bytes(const Problem& problem) {
  return sizeof(abi::PortableGemmParams) + problem.g * portable_tables(problem).pointers * sizeof(void*);
}

bool tables_fit(const Problem& problem) {
  if (!problem.weights_by_pointer || problem.from == Packing::deepgemm) return false;
  return wgmma_param_bytes(problem) <= kMostParamBytes;
}

int map_passes(const Problem& problem) {
  static_assert(std::size(decltype(abi::MapParams::values){}) == kPointersPerPass);
  const GroupTables tables = tables_fit(problem) ? GroupTables{} : wgmma_tables(problem);
  const int of_operands = problem.from == Packing::deepgemm ? 2 : 0;
  return of_operands + (tables.maps + tables.pointers) * static_cast<int>(ceil_div(problem.g, kPointersPerPass));
}

const void* const* place_pointers(const Pointers& pointers, std::int64_t groups, const void** behind) {
  if (pointers.device == nullptr) std::copy_n(pointers.host, groups, behind);
  return pointers.device;
}

}  // namespace octet
