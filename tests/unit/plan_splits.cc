// Splits that a host array holds: what is impossible is named, and never read as something else.
#include "runtime/plan_splits.h"

#include <limits>

#include "octet/error.h"
#include "tests/support/catch.h"

using namespace octet;

namespace {

template <typename Number>
std::string refusal_of(const char* line, const std::vector<Number>& splits, std::int64_t capacity) {
  try {
    read_splits(PlanFacts::parse(line), splits.data(), capacity);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("plan: a 64-bit size that wraps is past the buffer, not before it", "[plan]") {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  for (const char* line : {"linear.packed g3 n64 k64 splits=i64", "linear.padded g3 n64 k64 al32 splits=i64",
                           "linear.masked g3 m8 n64 k64 splits=i64"}) {
    CAPTURE(line);
    for (const std::int64_t size : {kLargest, kLargest - 1, std::int64_t{1} << 32}) {
      const std::string message = refusal_of<std::int64_t>(line, {2, size, 0}, 24);
      CAPTURE(message);
      CHECK(message.find(std::string("splits[1] is ") + std::to_string(size)) != std::string::npos);
    }
  }
}

TEST_CASE("plan: dense groups have no splits to read", "[plan]") {
  CHECK(refusal_of<std::int32_t>("linear.dense g1 n64 k64", {8}, 8).find("dense") != std::string::npos);
}
