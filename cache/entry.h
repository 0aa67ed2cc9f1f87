// One cache entry: a file that holds a cubin and everything needed to trust it.
//
//   file     = head { metadata } LF "source " size LF source LF "cubin " size LF cubin LF "xxh3-128 " digest LF
//   head     = "octet-cache-entry " version LF          version is 1; another version is read as damage
//   metadata = label " " text LF                        at least the space, so no metadata line is empty
//   size     = decimal bytes of what follows the LF     no sign, no leading zero
//   digest   = 32 hex digits: XXH3-128 of every byte before the word "xxh3-128"
//
// In labels and texts "\" is written "\\" and a line feed "\n"; a space in a label is "\s". So any text is allowed, and
// `less` shows a person what an entry is. Nothing in the file varies between two builds of the same thing.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace octet::cache {

struct Entry {
  // Ordered labels: "spec", "problem", "arch", "toolchain", "resources", ... The store adds "key" and "key.*".
  std::vector<std::pair<std::string, std::string>> metadata;
  std::string source;
  std::string cubin;

  // The label's text, "" when it is not there; the first one's, when it is there twice.
  const std::string& get(const std::string& label) const;

  friend bool operator==(const Entry&, const Entry&) = default;
};

// Bytes of the file; the same Entry gives the same bytes.
std::string encode(const Entry& entry);
// Empty on any damage (wrong magic or version, truncation, checksum); `why` then says which.
std::optional<Entry> decode(const std::string& bytes, std::string* why = nullptr);

}  // namespace octet::cache
