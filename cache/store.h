// The kernel cache on disk: read-only layers under one writable directory. No CUDA in here. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cache/entry.h"
#include "cache/key.h"
#include "cache/layer.h"

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

// No call throws for what is on disk. The writable directory must belong to this user and be writable by nobody else; a
// read-only layer may also belong to root. What is not trusted is not read. Each of these is said once per store, as
// one line on stderr: a directory that cannot be used, the first failed publish, the first damaged entry.
class Store {
 public:
  explicit Store(StoreOptions options);

  // The entry of `key` whose toolchain has this "major.minor" ("nvrtc 13.0"), or, when `toolchain` is empty (no NVRTC
  // here), any entry of the key: layer by layer, the newest toolchain of a layer first. A hit in the writable directory
  // counts as a use. A damaged, foreign or old entry is a counted miss, never an error, and is left where it is.
  std::optional<Entry> find(const Key& key, const std::string& toolchain);
  // The same in the writable directory alone, for a builder that got its build lock after `find` missed: only what was
  // published meanwhile is new. Damage was counted and told by `find`.
  std::optional<Entry> find_published(const Key& key, const std::string& toolchain) const;
  // Temp file in the same directory, write, fsync, rename. Adds key.labels() to the metadata. False, with one warning
  // per store, when the directory cannot be written: the caller keeps its own bytes. An entry without a cubin is
  // refused.
  bool publish(const Key& key, const Entry& entry);

  std::vector<Listing> list() const;  // every entry of the writable directory, whole or damaged, by path
  // Removes least recently used entries until at most max_bytes are left; damaged ones first. Returns what it removed,
  // with the metadata of whole entries but not their source and cubin. Also removes what crashed writers left behind
  // more than an hour ago.
  std::vector<Listing> prune(std::uint64_t max_bytes);

  std::uint64_t damaged() const { return damaged_; }  // damaged entries that `find` met
  const StoreOptions& options() const { return options_; }

 private:
  std::optional<Entry> find_in(const Layer& layer, const Key& key, const std::string& toolchain);
  void each(const std::function<void(LayerItem)>& visit) const;
  void warn_once(const std::string& topic, const std::string& message) const;  // topic: a path, "" for damage
  void warn_unusable(const Layer& layer, const std::string& fault) const;

  StoreOptions options_;
  std::optional<Layer> writable_;
  std::vector<Layer> readonly_;
  std::atomic<std::uint64_t> damaged_{0};
  mutable std::mutex warned_mutex_;
  mutable std::set<std::string> warned_;
};

}  // namespace octet::cache
