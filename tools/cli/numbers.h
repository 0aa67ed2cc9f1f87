// Whole numbers as they are typed: decimal digits, within bounds, with one message for all that is not.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace CLI {
class Option;
}

namespace octet::cli {

// Rows, devices and counts all fit in 32 bits.
inline constexpr std::uint64_t kMostCount = std::numeric_limits<std::int32_t>::max();

// nullopt for anything but digits, and outside the bounds.
std::optional<std::uint64_t> parse_whole(std::string_view text, std::uint64_t least, std::uint64_t most);
// "must be a whole number from 1 to 8, not 'x'"
std::string not_whole(std::string_view text, std::uint64_t least, std::uint64_t most);

// Makes the option refuse what parse_whole does. Decimal always: CLI11 alone would read 010 as eight.
CLI::Option* require_whole(CLI::Option* option, std::uint64_t least, std::uint64_t most = kMostCount);

}  // namespace octet::cli
