// One cache entry: a file that holds a cubin and everything needed to trust it. (Grammar: written here by its owner.)
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace octet::cache {

struct Entry {
  // Ordered labels: "spec", "problem", "arch", "key", "toolchain", "resources", ... One line of text each.
  std::vector<std::pair<std::string, std::string>> metadata;
  std::string source;
  std::string cubin;

  // The label's text, "" when it is not there.
  const std::string& get(const std::string& label) const;
};

// Bytes of the file; the same Entry gives the same bytes.
std::string encode(const Entry& entry);
// Empty on any damage (wrong magic or version, truncation, checksum); `why` then says which.
std::optional<Entry> decode(const std::string& bytes, std::string* why = nullptr);

}  // namespace octet::cache
