#include "runtime/reference/checks.h"

#include <fmt/format.h>

namespace octet::reference {

Error bad_argument(const std::string& message) { return Error(ErrorCode::invalid_argument, message); }

void check_positive(const char* name, std::int64_t value) {
  if (value <= 0) throw bad_argument(fmt::format("reference: {}={}: must be at least 1", name, value));
}

void check_index(const char* name, std::int64_t index, std::int64_t first, std::int64_t end) {
  if (index < first || index >= end)
    throw bad_argument(fmt::format("reference: {}={}: must be in [{}, {})", name, index, first, end));
}

void check_pointer(const char* name, const void* pointer) {
  if (pointer == nullptr)
    throw bad_argument(
        fmt::format("reference: {} is null, but there are elements to read or write; pass host memory", name));
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

}  // namespace octet::reference
