// The items of a problem's text: one table, in canonical order, that printing, parsing and the rules share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "octet/problem.h"
#include "runtime/text_items.h"

namespace octet {

// Sizes in a problem's text are 1 ... this. What a kernel takes is less: the rules say how much.
inline constexpr std::int64_t kLargestNumber = 2147483647;

using ProblemItem = TextItem<Problem>;

// Sizes (g m n k c al), then the data's way through the kernel (a= b= d= in= act= gate= il= out= dir= splits= w=),
// then flags.
const std::vector<ProblemItem>& problem_items();

// Keys of the items that are given and not at their default, in canonical order.
std::vector<std::string_view> given_items(const Problem& problem);
// "k" -> "k<number>".
std::string_view form_of(std::string_view key);

// Whether a text's first word names an operation, as that of a problem does.
bool names_operation(std::string_view word) noexcept;

DType parse_dtype(std::string_view text);  // throws Error{invalid_problem}

}  // namespace octet
