#include "runtime/resources_text.h"

#include <charconv>

namespace octet {
namespace {

// Calls visit(label, field) for every number of `resources`.
template <typename R, typename Visit>
void each_field(R& resources, Visit visit) {
  visit("registers", resources.registers);
  visit("spill_stores", resources.spill_store_bytes);
  visit("spill_loads", resources.spill_load_bytes);
  visit("stack", resources.stack_bytes);
  visit("static_shared", resources.static_shared_bytes);
  visit("dynamic_shared", resources.dynamic_shared_bytes);
  visit("barriers", resources.barriers);
}

// The digits that follow "<label>=", where it starts a word.
std::string_view value_of(std::string_view text, std::string_view label) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (word.size() > label.size() && word.substr(0, label.size()) == label && word[label.size()] == '=') {
      return word.substr(label.size() + 1);
    }
    text.remove_prefix(word.size() == text.size() ? word.size() : word.size() + 1);
  }
  return {};
}

}  // namespace

std::string to_text(const Resources& resources) {
  std::string text;
  each_field(resources,
             [&](const char* label, int value) { text += std::string(label) + "=" + std::to_string(value) + " "; });
  return text + "wgmma_serialized=" + (resources.wgmma_serialized ? "1" : "0");
}

Resources resources_from_text(std::string_view text) {
  Resources resources;
  each_field(resources, [&](const char* label, int& value) {
    const std::string_view digits = value_of(text, label);
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
  });
  resources.wgmma_serialized = value_of(text, "wgmma_serialized") == "1";
  return resources;
}

}  // namespace octet
