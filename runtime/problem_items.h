// The items of a problem's text: one table, in canonical order, that printing, parsing and the rules share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "octet/problem.h"

namespace octet {

// Sizes in a problem's text are 1 ... this. What a kernel takes is less: the rules say how much.
inline constexpr std::int64_t kLargestNumber = 2147483647;

struct ProblemItem {
  const char* key;   // what a written item starts with: "k", "a=", "+acc" (a flag is all key)
  const char* form;  // how a message spells it: "k<number>"
  // The value's text; empty when the item is not given or has its default. A flag's value is its own name.
  std::string (*print)(const Problem& problem);
  void (*parse)(std::string_view value, Problem& problem);

  bool is_flag() const { return key[0] == '+'; }
};

// Sizes (g m n k c al), then the data's way through the kernel (a= b= d= in= act= gate= il= out= dir= splits= w=),
// then flags.
const std::vector<ProblemItem>& problem_items();

// Keys of the items that are given and not at their default, in canonical order.
std::vector<std::string_view> given_items(const Problem& problem);
// "k" -> "k<number>".
std::string_view form_of(std::string_view key);

DType parse_dtype(std::string_view text);  // throws Error{invalid_problem}

}  // namespace octet
