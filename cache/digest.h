// The one hash of the cache: XXH3-128. It finds accidents (damage, a wrong file), it does not stop an attacker: that is
// what the ownership checks of the store are for.
#pragma once

#include <string>
#include <string_view>

namespace octet::cache {

inline constexpr std::size_t kDigestDigits = 32;

// 32 lower-case hex digits in xxHash's canonical (big-endian) order, the same on every machine.
std::string digest_hex(std::string_view bytes);

// Whether the text has the form of digest_hex's result.
bool is_digest_hex(std::string_view text);

}  // namespace octet::cache
