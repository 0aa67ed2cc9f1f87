#include "runtime/words.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace octet {
namespace {

constexpr std::size_t kLongestQuote = 64;

// ASCII only: the vocabulary is ASCII, and the C library's answer depends on the locale.
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Levenshtein distance, one row at a time.
std::size_t edit_distance(std::string_view x, std::string_view y) {
  std::vector<std::size_t> row(y.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < y.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(x[i]) == lower(y[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest_word(std::string_view text, const std::vector<std::string_view>& known) {
  const std::string_view start = text.substr(0, kLongestQuote);
  const auto nearest = std::min_element(known.begin(), known.end(), [&](std::string_view x, std::string_view y) {
    return edit_distance(start, x) < edit_distance(start, y);
  });
  return nearest == known.end() ? std::string_view{} : *nearest;
}

std::string quoted(std::string_view text) {
  std::string shown(text.substr(0, kLongestQuote));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < 0x20 || c == 0x7f; }, '?');
  return fmt::format("'{}{}'", shown, text.size() > kLongestQuote ? "..." : "");
}

Error unknown_word(std::string_view what, std::string_view text, const std::vector<std::string_view>& known) {
  return Error(ErrorCode::invalid_problem,
               fmt::format("unknown {} {}; did you mean '{}'? known: {}", what, quoted(text), nearest_word(text, known),
                           fmt::join(known, ", ")));
}

}  // namespace octet
