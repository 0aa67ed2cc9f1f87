// Vocabularies: one table of words per type serves printing, parsing and suggestions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "octet/error.h"

namespace octet {

template <typename T>
struct Word {
  const char* text;
  T value;
};

// The known word with the smallest edit distance to `text`, upper and lower case alike; the first of equals.
std::string_view nearest_word(std::string_view text, const std::vector<std::string_view>& known);

// `text` in quotes for a message: shortened, and free of control characters, so that a message stays one line.
std::string quoted(std::string_view text);

// Error{invalid_problem}: "unknown layout 'paked'; did you mean 'packed'? known: packed, padded, ...".
Error unknown_word(std::string_view what, std::string_view text, const std::vector<std::string_view>& known);

template <typename T, std::size_t Size>
const char* text_of(const Word<T> (&words)[Size], T value) noexcept {
  for (const Word<T>& word : words) {
    if (word.value == value) return word.text;
  }
  return "?";
}

// Throws unknown_word.
template <typename T, std::size_t Size>
T value_of(const Word<T> (&words)[Size], std::string_view what, std::string_view text) {
  std::vector<std::string_view> known;
  for (const Word<T>& word : words) {
    if (text == word.text) return word.value;
    known.emplace_back(word.text);
  }
  throw unknown_word(what, text, known);
}

}  // namespace octet
