#include "tools/cli/numbers.h"

#include <charconv>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace octet::cli {

std::optional<std::uint64_t> parse_whole(std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < least || value > most) return std::nullopt;
  return value;
}

std::string not_whole(std::string_view text, std::uint64_t least, std::uint64_t most) {
  return fmt::format("must be a whole number from {} to {}, not '{}'", least, most, text);
}

CLI::Option* require_whole(CLI::Option* option, std::uint64_t least, std::uint64_t most) {
  // A transform may rewrite the text that CLI11 converts afterwards.
  const auto read = [least, most](std::string& text) {
    const auto value = parse_whole(text, least, most);
    if (!value) return not_whole(text, least, most);
    text = std::to_string(*value);
    return std::string();
  };
  return option->transform(CLI::Validator(read, ""));
}

}  // namespace octet::cli
