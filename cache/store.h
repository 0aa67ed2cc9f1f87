// The kernel cache on disk: read-only layers under one writable directory. No CUDA in here. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/entry.h"
#include "cache/key.h"

namespace octet::cache {

struct StoreOptions {
  std::string directory;                          // writable; made with mode 0700 on first publish; "" = none
  std::vector<std::string> readonly_directories;  // searched after it, in order
};

struct Listing {
  std::string path;
  std::uint64_t bytes = 0;
  std::int64_t last_used = 0;  // seconds since the epoch
  std::optional<Entry> entry;  // empty when damaged
  std::string damage;          // why, when damaged
};

class Store {
 public:
  explicit Store(StoreOptions options);

  // The entry of `key` whose toolchain has this "major.minor", or, when `toolchain` is empty (no NVRTC here), any entry
  // of the key, newest toolchain first. A damaged, foreign or old entry is a counted miss, never an error.
  std::optional<Entry> find(const Key& key, const std::string& toolchain);
  // Temp file in the same directory, write, fsync, rename. False, with one warning per store, when the directory cannot
  // be written: the caller keeps its own bytes.
  bool publish(const Key& key, const Entry& entry);

  std::vector<Listing> list() const;  // every entry of the writable directory, whole or damaged
  // Removes least recently used entries until at most max_bytes are left; damaged ones first. Returns what it removed.
  std::vector<Listing> prune(std::uint64_t max_bytes);

  std::uint64_t damaged() const;  // misses that were damage
  const StoreOptions& options() const { return options_; }

 private:
  StoreOptions options_;
};

}  // namespace octet::cache
