// The content key of an entry: labelled ingredients hashed together (XXH3-128).
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace octet::cache {

// A value. Label and text are both length-prefixed in the hash, so no two lists of ingredients collide by
// concatenation. The order of the ingredients counts. No path, time or host name may be added: a cache can be copied
// between machines.
class Key {
 public:
  Key& add(std::string label, std::string text);
  std::string hex() const;  // 32 lower-case hex digits
  const std::vector<std::pair<std::string, std::string>>& ingredients() const { return ingredients_; }

  // What an entry stores of its key, as metadata: {"key", hex()}, then {"key.<label>", digest of the text} for each
  // ingredient. It tells a person which ingredient differs between two entries, and is compared in full at every hit.
  std::vector<std::pair<std::string, std::string>> labels() const;

 private:
  std::vector<std::pair<std::string, std::string>> ingredients_;
};

}  // namespace octet::cache
