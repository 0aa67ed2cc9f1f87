#include "cache/key.h"

#include "cache/digest.h"

namespace octet::cache {
namespace {

// "5:hello": decimal length, colon, text. A prefix code, so a sequence of them can be split in one way only.
void append_prefixed(std::string& out, const std::string& text) {
  out += std::to_string(text.size());
  out += ':';
  out += text;
}

}  // namespace

Key& Key::add(std::string label, std::string text) {
  ingredients_.emplace_back(std::move(label), std::move(text));
  return *this;
}

std::string Key::hex() const {
  std::string joined;
  for (const auto& [label, text] : ingredients_) {
    append_prefixed(joined, label);
    append_prefixed(joined, text);
  }
  return digest_hex(joined);
}

std::vector<std::pair<std::string, std::string>> Key::labels() const {
  std::vector<std::pair<std::string, std::string>> labels{{"key", hex()}};
  for (const auto& [label, text] : ingredients_) labels.emplace_back("key." + label, digest_hex(text));
  return labels;
}

}  // namespace octet::cache
