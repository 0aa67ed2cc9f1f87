#include "runtime/plan_splits.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "octet/error.h"
#include "runtime/integers.h"

namespace octet {
namespace {

std::int64_t split_at(const PlanFacts& facts, const void* splits, std::int64_t index) {
  if (facts.splits.is_i64) {
    std::int64_t value = 0;
    std::memcpy(&value, static_cast<const char*>(splits) + index * 8, sizeof value);
    return value;
  }
  std::int32_t value = 0;
  std::memcpy(&value, static_cast<const char*>(splits) + index * 4, sizeof value);
  return value;
}

[[noreturn]] void refuse(const PlanFacts& facts, std::int64_t index, std::int64_t value, const std::string& why) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("'{}': splits[{}] is {}: {}", facts.to_string(), index, value, why));
}

// Ends where a group of this many rows that starts at `begin` does.
std::int64_t end_of(const PlanFacts& facts, std::int64_t index, std::int64_t value, std::int64_t begin) {
  if (facts.splits.form == SplitsForm::sizes) {
    if (value < 0) refuse(facts, index, value, "no size is negative");
    return begin + std::min(value, std::numeric_limits<std::int64_t>::max() - begin);  // a 64-bit size may wrap
  }
  if (value < begin) refuse(facts, index, value, fmt::format("its group starts at row {}", begin));
  return value;
}

}  // namespace

std::int64_t splits_count(const PlanFacts& facts) {
  return facts.groups + (facts.splits.form == SplitsForm::starts ? 1 : 0);
}

reference::GroupExtents read_splits(const PlanFacts& facts, const void* splits, std::int64_t capacity) {
  if (facts.layout == Layout::dense) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}': a dense group fills its buffer; it has no splits to read", facts.to_string()));
  }
  reference::GroupExtents groups;
  const bool starts = facts.splits.form == SplitsForm::starts, masked = facts.layout == Layout::masked;
  std::int64_t end = 0;
  if (starts) {
    end = split_at(facts, splits, 0);
    if (end != 0) refuse(facts, 0, end, "the first group starts at row 0");
  }
  for (std::int64_t g = 0; g < facts.groups; ++g) {
    const std::int64_t index = starts ? g + 1 : g;
    const std::int64_t begin =
        masked ? g * facts.max_m : round_up(end, facts.layout == Layout::padded ? facts.alignment : 1);
    const std::int64_t limit = masked ? begin + facts.max_m : capacity;
    const std::int64_t value = split_at(facts, splits, index);
    end = end_of(facts, index, value, begin);
    if (end > limit && end > begin) {
      refuse(facts, index, value, fmt::format("its group would end at row {}, past row {}", end, limit));
    }
    groups.begin.push_back(begin);
    groups.end.push_back(end);
  }
  return groups;
}

}  // namespace octet
