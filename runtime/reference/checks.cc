#include "runtime/reference/checks.h"

#include <fmt/format.h>

namespace octet::reference {

Error bad_argument(const std::string& message) { return Error(ErrorCode::invalid_argument, message); }

void check_positive(const char* name, std::int64_t value) {
  if (value <= 0) throw bad_argument(fmt::format("reference: {}={}: must be at least 1", name, value));
}

void check_index(const char* name, std::int64_t index, std::int64_t count) {
  if (index < 0 || index >= count)
    throw bad_argument(fmt::format("reference: {}={}: must be in [0, {})", name, index, count));
}

void check_pointer(const char* name, const void* pointer) {
  if (pointer == nullptr)
    throw bad_argument(
        fmt::format("reference: {} is null, but there are elements to read or write; pass host memory", name));
}

void check_recipe(const char* name, const Recipe& recipe, Granularity granularity, ScaleLayout scale_layout) {
  const bool fp8 = recipe.type == DType::e4m3 || recipe.type == DType::e5m2;
  if (fp8 && recipe.granularity == granularity && recipe.scale_layout == scale_layout) return;
  throw bad_argument(fmt::format("reference: {}={}: this operation takes e4m3 or e5m2 with {} scales in {}; change {}",
                                 name, to_string(recipe), to_string(granularity), to_string(scale_layout), name));
}

void check_token_layout(Layout layout) {
  if (layout == Layout::packed || layout == Layout::padded) return;
  throw bad_argument(fmt::format("reference: layout {}: tokens are packed or padded", to_string(layout)));
}

void check_extents(const GroupExtents& groups, std::int64_t count, std::int64_t capacity) {
  if (capacity < 0) throw bad_argument(fmt::format("reference: capacity={}: must be at least 0", capacity));
  const auto size = static_cast<std::int64_t>(groups.begin.size());
  if (size != count || groups.end.size() != groups.begin.size())
    throw bad_argument(
        fmt::format("reference: extents have {} begins and {} ends, but the problem has {} groups; pass one "
                    "of each per group",
                    size, groups.end.size(), count));
  std::int64_t previous = 0;
  for (std::size_t g = 0; g < groups.begin.size(); ++g) {
    const std::int64_t begin = groups.begin[g], end = groups.end[g];
    if (begin < previous || end < begin || end > capacity)
      throw bad_argument(
          fmt::format("reference: group {} is rows [{}, {}): groups must follow one another inside the "
                      "capacity of {} rows",
                      g, begin, end, capacity));
    previous = end;
  }
}

void check_gemm(const GemmProblem& problem, std::int64_t capacity) {
  check_token_layout(problem.layout);
  check_positive("g", problem.groups);
  check_positive("n", problem.n);
  check_positive("k", problem.k);
  if (capacity < 0) throw bad_argument(fmt::format("reference: capacity={}: must be at least 0", capacity));
  check_recipe("a", problem.a, Granularity::block_1x128, ScaleLayout::mn_major);
  check_recipe("b", problem.b, Granularity::block_128x128, ScaleLayout::block2d);
}

void check_operands(const std::uint8_t* a, const float* sfa, const std::uint8_t* b, const float* sfb) {
  check_pointer("a", a);
  check_pointer("sfa", sfa);
  check_pointer("b", b);
  check_pointer("sfb", sfb);
}

std::int64_t total_rows(const GroupExtents& groups) {
  std::int64_t rows = 0;
  for (std::size_t g = 0; g < groups.begin.size(); ++g) rows += groups.end[g] - groups.begin[g];
  return rows;
}

}  // namespace octet::reference
