#include "tools/cli/bytes.h"

#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "octet/error.h"

namespace octet::cli {
namespace {

constexpr std::string_view kUnits = "KMGT";

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("'{}' is not an amount of bytes; write a number with K, M, G or T, for example 2G", text));
}

}  // namespace

std::uint64_t parse_bytes(const std::string& text) {
  double amount = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  std::string_view suffix(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const std::size_t unit = suffix.empty() ? std::string_view::npos : kUnits.find(suffix.front());
  if (unit != std::string_view::npos) suffix.remove_prefix(1);
  const bool known = suffix.empty() || suffix == "B" || (suffix == "iB" && unit != std::string_view::npos);
  if (error != std::errc() || !known || !std::isfinite(amount) || amount < 0) refuse(text);
  if (unit != std::string_view::npos) amount = std::ldexp(amount, 10 * (1 + static_cast<int>(unit)));
  if (amount >= std::ldexp(1.0, 63)) refuse(text);
  return static_cast<std::uint64_t>(amount);
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < kUnits.size(); ++unit) amount /= 1024;
  return fmt::format("{:.1f} {}iB", amount, kUnits[unit]);
}

}  // namespace octet::cli
