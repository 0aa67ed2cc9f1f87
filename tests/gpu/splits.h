// Device splits as bytes, in either integer type.
#pragma once

#include <cstdint>
#include <vector>

namespace octet::test {

inline std::vector<std::uint8_t> splits_bytes(const std::vector<std::int64_t>& values, bool is_i64) {
  std::vector<std::uint8_t> bytes;
  const auto append = [&](const void* value, std::size_t width) {
    const auto* begin = static_cast<const std::uint8_t*>(value);
    bytes.insert(bytes.end(), begin, begin + width);
  };
  for (const std::int64_t value : values) {
    const auto narrow = static_cast<std::int32_t>(value);
    if (is_i64)
      append(&value, sizeof value);
    else
      append(&narrow, sizeof narrow);
  }
  return bytes;
}

}  // namespace octet::test
