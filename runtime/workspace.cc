#include "runtime/workspace.h"

#include "octet/layout.h"
#include "runtime/mx_gemm.h"
#include "runtime/quantize_traits.h"
#include "runtime/wgmma_gemm.h"

namespace octet {

std::int64_t workspace_bytes(const Problem& problem, const Config& config, std::int64_t capacity) {
  if (problem.op == Operation::quantize || problem.op == Operation::activation) {
    return quantize_workspace(problem, capacity).bytes;
  }
  if (const auto* mx = std::get_if<MxConfig>(&config)) return mx_workspace_bytes(problem, *mx, capacity);
  return std::holds_alternative<GemmConfig>(config) ? wgmma_workspace_bytes(problem) : 0;
}

bool needs_workspace(const Problem& problem, const Config& config) {
  return workspace_bytes(problem, config, buffer_rows(problem, 1)) > 0;
}

}  // namespace octet
