// One directory of the cache. The store stacks them.
//
//   <directory>/<first two digits of the key>/<key>-<toolchain, file-safe>.octet      an entry
//   <directory>/locks/<key>                                                           a build lock (lock.h)
//
// The file name is a hint for finding; what counts is the content, and an entry under a wrong name is a foreign one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/entry.h"
#include "cache/file.h"
#include "cache/key.h"

namespace octet::cache {

// What was wrong on the way, for the store to count and to report.
struct Faults {
  std::string directory;             // why the layer is not used; "" when it is, or when it does not exist
  bool absent = false;               // the layer does not exist
  std::vector<std::string> entries;  // damaged entries: "<path>: <why>"
};

struct LayerItem {
  std::string bucket, name;  // directory within the layer, file name
  std::uint64_t bytes = 0;
  std::int64_t last_used_ns = 0;  // modification time, which a hit sets
  Look<Entry> entry;
};

class Layer {
 public:
  Layer(std::string path, Owner owner) : path_(std::move(path)), owner_(owner) {}

  const std::string& path() const { return path_; }
  Owner owner() const { return owner_; }
  std::string path_of(const LayerItem& item) const { return path_ + "/" + item.bucket + "/" + item.name; }

  // The newest entry of `key` whose toolchain serves `toolchain` ("": any). `touch` notes the use, for eviction.
  std::optional<Entry> find(const Key& key, const std::string& toolchain, bool touch, Faults& faults) const;
  // Makes the directories that are missing. Returns the fault, "" when published.
  std::string publish(const Entry& stamped) const;
  // Every entry, whole or damaged, one after the other: a cache may be larger than the memory.
  void each(Faults& faults, const std::function<void(LayerItem)>& visit) const;
  // Removes an item unless it was replaced or used since it was listed. True when it is gone by this call.
  bool remove(const LayerItem& item) const;
  // Removes what crashed writers left behind.
  void tidy() const;

 private:
  Look<Fd> open_root(Faults& faults) const;
  Look<Fd> open_bucket(const Look<Fd>& root, const std::string& bucket, Faults& faults) const;

  std::string path_;
  Owner owner_;
};

}  // namespace octet::cache
