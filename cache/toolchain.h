// The second label of an entry: what compiled it, "nvrtc MAJOR.MINOR[.BUILD]".
#pragma once

#include <string>
#include <vector>

namespace octet::cache {

struct Toolchain {
  std::string name;               // "nvrtc"; "" when the text was a bare version
  std::vector<unsigned> version;  // {13, 0, 88}; empty when the text has none
};

// "nvrtc 13.0.88", its file-safe form "nvrtc-13.0.88", or "13.0". Never fails: without a version all of it is the name.
Toolchain parse_toolchain(const std::string& text);

// Same major.minor, and same name unless one of the two has none. The build number may differ.
bool serves(const Toolchain& entry, const Toolchain& asked);

// Numeric comparison of the versions (13.10 is newer than 13.9), then by name.
bool newer(const Toolchain& x, const Toolchain& y);

// The text with every character that a file name should not hold as '-'.
std::string file_safe(const std::string& toolchain);

}  // namespace octet::cache
