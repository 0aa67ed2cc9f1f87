#include "cache/toolchain.h"

#include <charconv>
#include <tuple>

namespace octet::cache {
namespace {

// Empty unless all of the text is numbers with dots between them.
std::vector<unsigned> parse_version(const std::string& text) {
  std::vector<unsigned> version;
  const char* next = text.data();
  const char* const end = next + text.size();
  for (;;) {
    unsigned number = 0;
    const auto [stop, error] = std::from_chars(next, end, number);
    if (error != std::errc()) return {};
    version.push_back(number);
    if (stop == end) return version;
    if (*stop != '.') return {};
    next = stop + 1;
  }
}

unsigned part(const Toolchain& toolchain, std::size_t index) {
  return index < toolchain.version.size() ? toolchain.version[index] : 0;
}

bool is_file_safe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
}

}  // namespace

Toolchain parse_toolchain(const std::string& text) {
  const std::size_t separator = text.find_last_of(" -");
  const std::size_t start = separator == std::string::npos ? 0 : separator + 1;
  auto version = parse_version(text.substr(start));
  if (version.empty()) return {text, {}};
  return {start == 0 ? "" : text.substr(0, separator), std::move(version)};
}

bool serves(const Toolchain& entry, const Toolchain& asked) {
  const bool same_name = entry.name.empty() || asked.name.empty() || entry.name == asked.name;
  return same_name && entry.version.empty() == asked.version.empty() && part(entry, 0) == part(asked, 0) &&
         part(entry, 1) == part(asked, 1);
}

bool newer(const Toolchain& x, const Toolchain& y) { return std::tie(x.version, x.name) > std::tie(y.version, y.name); }

std::string file_safe(const std::string& toolchain) {
  std::string safe = toolchain;
  for (char& c : safe) {
    if (!is_file_safe(c)) c = '-';
  }
  return safe;
}

}  // namespace octet::cache
