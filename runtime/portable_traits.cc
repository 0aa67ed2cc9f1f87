#include "runtime/portable_traits.h"

namespace octet {
namespace {

bool lies_as(const std::optional<Recipe>& recipe, ScaleLayout layout) {
  return recipe && recipe->scale_layout == layout;
}

bool is_mx(const std::optional<Recipe>& recipe) {
  return recipe && (recipe->granularity == Granularity::mx_1x32 || recipe->granularity == Granularity::mx_32x32);
}

}  // namespace

bool has_dependent_launch(const std::string& arch) noexcept {
  constexpr std::size_t kTwoDigits = 5;  // of "sm_90"
  return arch.size() > kTwoDigits || arch >= "sm_90";
}

PortableTraits::PortableTraits(const Problem& problem) {
  wgrad = problem.op == Operation::wgrad;
  mx = is_mx(problem.a);
  whole_scales =
      problem.a && (problem.a->granularity == Granularity::tensor || problem.a->granularity == Granularity::row);
  scales_per_stage = whole_scales ? 0 : mx ? 4 : 1;
  // Where groups of wgrad lie follows from the layout alone when every group has the same extent.
  const bool varies = problem.layout == Layout::packed || problem.layout == Layout::padded;
  group_table = varies || !wgrad;
  sub_blocks =
      varies && wgrad && (lies_as(problem.a, ScaleLayout::mx_compact) || lies_as(problem.b, ScaleLayout::mx_compact));
  first_blocks = varies && !wgrad && lies_as(problem.a, ScaleLayout::swizzled);
}

}  // namespace octet
