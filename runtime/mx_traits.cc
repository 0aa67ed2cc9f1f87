#include "runtime/mx_traits.h"

#include <optional>
#include <utility>

#include "runtime/gemm_traits.h"

namespace octet {

int mx_threads(const MxConfig& config) { return 128 * (config.block_m / 64 + 1); }

bool mx_sub_blocks(const Problem& problem) {
  const auto is_compact = [](const std::optional<Recipe>& recipe) {
    return recipe && recipe->scale_layout == ScaleLayout::mx_compact;
  };
  return is_wgrad(problem) && (is_compact(problem.a) || is_compact(problem.b));
}

bool mx_turns(const Problem& problem) { return is_wgrad(problem) && problem.k < problem.n; }

Problem mx_view(const Problem& problem) {
  Problem view = problem;
  if (mx_turns(problem)) {
    std::swap(view.a, view.b);
    std::swap(view.n, view.k);
  }
  return view;
}

}  // namespace octet
