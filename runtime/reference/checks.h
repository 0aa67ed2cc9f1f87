// What the functions of this folder refuse, and the arithmetic of sizes that they share.
#pragma once

#include <cstdint>
#include <string>

#include "octet/error.h"
#include "octet/problem.h"
#include "octet/reference.h"
#include "runtime/integers.h"

namespace octet::reference {

constexpr std::int64_t kBlock = 128;  // elements of K, or rows of weights, that share a scale

Error bad_argument(const std::string& message);

// Each throws Error{invalid_argument} with what is wrong, what was got and what to do.
void check_positive(const char* name, std::int64_t value);
void check_index(const char* name, std::int64_t index, std::int64_t first, std::int64_t end);  // in [first, end)
void check_pointer(const char* name, const void* pointer);
// Groups of a buffer of `capacity` rows: in order, inside, and not over one another.
void check_extents(const GroupExtents& groups, std::int64_t count, std::int64_t capacity);

}  // namespace octet::reference
