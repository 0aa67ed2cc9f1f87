#include "runtime/text_items.h"

#include <algorithm>

namespace octet {

std::vector<std::string_view> split_words(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n\v\f";
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(kSpaces); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kSpaces, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kSpaces, end);
  }
  return words;
}

std::string_view key_of(std::string_view word) {
  if (word.front() == '+') return word;
  const std::size_t equals = word.find('=');
  if (equals != std::string_view::npos) return word.substr(0, equals + 1);
  return word.substr(0, word.find_first_of("0123456789"));
}

}  // namespace octet
