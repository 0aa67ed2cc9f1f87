// Amounts of bytes as people write them.
#pragma once

#include <cstdint>
#include <string>

namespace octet::cli {

// "512", "64K", "1.5M", "2G", "1T", an optional "B" or "iB" behind; powers of 1024. Throws Error{invalid_argument}.
std::uint64_t parse_bytes(const std::string& text);
std::string format_bytes(std::uint64_t bytes);  // "1.5 MiB"

}  // namespace octet::cli
