#include "cache/store.h"

#include <algorithm>
#include <cstdio>
#include <tuple>

namespace octet::cache {
namespace {

// The entry as it is stored: what it says of its key is the store's word, not the caller's.
Entry stamped(const Key& key, Entry entry) {
  auto& metadata = entry.metadata;
  const auto of_key = [](const auto& label) { return label.first == "key" || label.first.rfind("key.", 0) == 0; };
  metadata.erase(std::remove_if(metadata.begin(), metadata.end(), of_key), metadata.end());
  for (auto& label : key.labels()) metadata.push_back(std::move(label));
  return entry;
}

Listing listing(const Layer& layer, LayerItem item) {
  return {layer.path_of(item), item.bytes, item.last_used_ns / 1'000'000'000, std::move(item.entry.value),
          std::move(item.entry.fault)};
}

// Damaged ones first, then by last use; by name where those are equal, so that the order is always the same.
bool goes_before(const LayerItem& x, const LayerItem& y) {
  const auto order = [](const LayerItem& item) {
    return std::make_tuple(item.entry.value.has_value(), item.last_used_ns, std::cref(item.name));
  };
  return order(x) < order(y);
}

}  // namespace

Store::Store(StoreOptions options) : options_(std::move(options)) {
  if (!options_.directory.empty()) writable_.emplace(options_.directory, Owner::user);
  for (const std::string& path : options_.readonly_directories) readonly_.emplace_back(path, Owner::user_or_root);
}

std::optional<Entry> Store::find(const Key& key, const std::string& toolchain) {
  std::optional<Entry> entry;
  if (writable_) entry = find_in(*writable_, key, toolchain);
  for (auto layer = readonly_.begin(); !entry && layer != readonly_.end(); ++layer) {
    entry = find_in(*layer, key, toolchain);
  }
  return entry;
}

std::optional<Entry> Store::find_published(const Key& key, const std::string& toolchain) const {
  Faults told_before;
  return writable_ ? writable_->find(key, toolchain, true, told_before) : std::nullopt;
}

std::optional<Entry> Store::find_in(const Layer& layer, const Key& key, const std::string& toolchain) {
  const bool is_writable = layer.owner() == Owner::user;
  Faults faults;
  auto entry = layer.find(key, toolchain, is_writable, faults);
  // The writable directory is made when first needed; a read-only one that is missing is a mistake somewhere.
  if (faults.absent && !is_writable) faults.directory = "it does not exist";
  if (!faults.directory.empty()) warn_unusable(layer, faults.directory);
  damaged_ += faults.entries.size();
  if (!faults.entries.empty()) {
    warn_once("", "cache entry " + faults.entries.front() +
                      "; it is not used and the kernel is built again (all of them: octet cache verify)");
  }
  return entry;
}

bool Store::publish(const Key& key, const Entry& entry) {
  if (!writable_) return false;
  const std::string fault = entry.cubin.empty() ? "the entry holds no cubin" : writable_->publish(stamped(key, entry));
  if (!fault.empty()) warn_unusable(*writable_, fault);
  return fault.empty();
}

void Store::each(const std::function<void(LayerItem)>& visit) const {
  if (!writable_) return;
  Faults faults;
  writable_->each(faults, visit);
  if (!faults.directory.empty()) warn_unusable(*writable_, faults.directory);
}

std::vector<Listing> Store::list() const {
  std::vector<Listing> listings;
  each([&](LayerItem item) { listings.push_back(listing(*writable_, std::move(item))); });
  return listings;
}

std::vector<Listing> Store::prune(std::uint64_t max_bytes) {
  std::vector<LayerItem> items;
  std::uint64_t total = 0;
  each([&](LayerItem item) {
    if (item.entry.value) {
      item.entry.value->source = {};
      item.entry.value->cubin = {};
    }
    total += item.bytes;
    items.push_back(std::move(item));
  });
  std::sort(items.begin(), items.end(), goes_before);
  std::vector<Listing> removed;
  for (auto item = items.begin(); total > max_bytes && item != items.end(); ++item) {
    if (!writable_->remove(*item)) continue;
    total -= item->bytes;
    removed.push_back(listing(*writable_, std::move(*item)));
  }
  if (writable_) writable_->tidy();
  return removed;
}

void Store::warn_unusable(const Layer& layer, const std::string& fault) const {
  const bool is_writable = layer.owner() == Owner::user;
  const std::string consequence = is_writable ? "new kernels stay in memory" : "this layer is skipped";
  const std::string setting = is_writable ? "OCTET_CACHE_DIR" : "OCTET_CACHE_READONLY_DIRS";
  warn_once(layer.path(), "kernel cache " + layer.path() + ": " + fault + "; " + consequence + " (mend it, or change " +
                              setting + ")");
}

void Store::warn_once(const std::string& topic, const std::string& message) const {
  {
    const std::lock_guard<std::mutex> lock(warned_mutex_);
    if (!warned_.insert(topic).second) return;
  }
  std::fputs(("octet: " + message + "\n").c_str(), stderr);
}

}  // namespace octet::cache
