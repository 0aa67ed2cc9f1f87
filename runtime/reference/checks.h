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

// Leading dimension of mn_major: rows up to a multiple of 4, so that 16-byte loads of f32 scales stay aligned.
constexpr std::int64_t mn_major_ld(std::int64_t capacity) { return ceil_div(capacity, 4) * 4; }

Error bad_argument(const std::string& message);

// Each throws Error{invalid_argument} with what is wrong, what was got and what to do.
void check_positive(const char* name, std::int64_t value);
void check_index(const char* name, std::int64_t index, std::int64_t count);
void check_pointer(const char* name, const void* pointer);
void check_recipe(const char* name, const Recipe& recipe, Granularity granularity, ScaleLayout scale_layout);
void check_token_layout(Layout layout);
// Groups of a buffer of `capacity` rows: in order, inside, and not over one another.
void check_extents(const GroupExtents& groups, std::int64_t count, std::int64_t capacity);
void check_gemm(const GemmProblem& problem, std::int64_t capacity);
void check_operands(const std::uint8_t* a, const float* sfa, const std::uint8_t* b, const float* sfb);

// Rows that belong to a group.
std::int64_t total_rows(const GroupExtents& groups);

}  // namespace octet::reference
