// Values with one text spelling, as problems and plans have it: a head and items, one table of which serves printing,
// parsing and suggestions.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "octet/error.h"
#include "runtime/words.h"

namespace octet {

template <typename Value>
struct TextItem {
  const char* key;   // what a written item starts with: "k", "a=", "+acc" (a flag is all key)
  const char* form;  // how a message spells it: "k<number>"
  // The value's text; empty when the item is not given or has its default. A flag's value is any text but "".
  std::string (*print)(const Value& value);
  void (*parse)(std::string_view text, Value& value);

  bool is_flag() const { return key[0] == '+'; }
};

std::vector<std::string_view> split_words(std::string_view text);
// What an item is looked up by: all of a flag, an operand or option up to its '=', a size up to its first digit.
std::string_view key_of(std::string_view word);

// "k" -> "k<number>".
template <typename Value>
std::string_view form_of(std::string_view key, const std::vector<TextItem<Value>>& items) {
  for (const TextItem<Value>& item : items) {
    if (key == item.key) return item.form;
  }
  return key;
}

// Throws Error{invalid_problem} with the nearest known item.
template <typename Value>
const TextItem<Value>& find_item(std::string_view word, const std::vector<TextItem<Value>>& items) {
  const std::string_view key = key_of(word);
  std::vector<std::string_view> known;
  for (const TextItem<Value>& item : items) {
    if (key == item.key) return item;
    known.emplace_back(item.key);
  }
  throw Error(ErrorCode::invalid_problem,
              fmt::format("unknown item {}; did you mean {}? known: {}", quoted(word),
                          form_of(nearest_word(key.empty() ? word : key, known), items), fmt::join(known, " ")));
}

template <typename Value>
void parse_item(std::string_view word, const TextItem<Value>& item, Value& value) {
  try {
    item.parse(word.substr(std::string_view(item.key).size()), value);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("item {}: {}", quoted(word), error.what()));
  }
}

// All words but the head, which is words[0]. Any order, each item at most once.
template <typename Value>
void parse_items(const std::vector<std::string_view>& words, const std::vector<TextItem<Value>>& items, Value& value) {
  std::set<const TextItem<Value>*> seen;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const TextItem<Value>& item = find_item(words[i], items);
    if (!seen.insert(&item).second) {
      throw Error(ErrorCode::invalid_problem,
                  fmt::format("item {}: {} is given twice; keep one of them", quoted(words[i]), item.form));
    }
    parse_item(words[i], item, value);
  }
}

// In the table's order, each after a space.
template <typename Value>
std::string print_items(const std::vector<TextItem<Value>>& items, const Value& value) {
  std::string text;
  for (const TextItem<Value>& item : items) {
    const std::string printed = item.print(value);
    if (!printed.empty()) text += fmt::format(" {}{}", item.key, item.is_flag() ? "" : printed);
  }
  return text;
}

// Keys of the items that are given and not at their default, in the table's order.
template <typename Value>
std::vector<std::string_view> given_items(const std::vector<TextItem<Value>>& items, const Value& value) {
  std::vector<std::string_view> keys;
  for (const TextItem<Value>& item : items) {
    if (!item.print(value).empty()) keys.emplace_back(item.key);
  }
  return keys;
}

}  // namespace octet
