// Entries on another machine. The store asks it after its own directories, and tells it what was built.
#pragma once

#include <optional>
#include <string>

#include "cache/entry.h"
#include "cache/key.h"

namespace octet::cache {

// Thread-safe. Never throws and never waits longer than its own time limit: what cannot be had is a miss.
class Remote {
 public:
  virtual ~Remote() = default;
  // An entry of `key` whose toolchain serves `toolchain` ("": any), checked as an entry on disk is.
  virtual std::optional<Entry> find(const Key& key, const std::string& toolchain) = 0;
  // Offers an entry that was published here. Nothing happens where the remote is read-only.
  virtual void publish(const Key& key, const Entry& stamped) = 0;
};

}  // namespace octet::cache
