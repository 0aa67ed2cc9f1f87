#include "cache/layer.h"

#include <fcntl.h>

#include <algorithm>
#include <string_view>

#include "cache/digest.h"
#include "cache/lock.h"
#include "cache/toolchain.h"

namespace octet::cache {
namespace {

constexpr std::string_view kSuffix = ".octet";
constexpr std::chrono::hours kAbandoned{1};  // no writer takes that long

std::string bucket_of(const std::string& key_hex) { return key_hex.substr(0, 2); }

std::string entry_name(const std::string& key_hex, const std::string& toolchain) {
  return key_hex + "-" + file_safe(toolchain) + std::string(kSuffix);
}

// The two parts of an entry's file name.
struct ParsedName {
  std::string key_hex;
  Toolchain toolchain;
};
std::optional<ParsedName> parse_name(std::string_view name) {
  if (name.size() <= kDigestDigits + kSuffix.size() || name[kDigestDigits] != '-' ||
      !is_digest_hex(name.substr(0, kDigestDigits)) || name.substr(name.size() - kSuffix.size()) != kSuffix) {
    return std::nullopt;
  }
  name.remove_suffix(kSuffix.size());
  return ParsedName{std::string(name.substr(0, kDigestDigits)),
                    parse_toolchain(std::string(name.substr(kDigestDigits + 1)))};
}

bool is_bucket(const std::string& name) { return name.size() == 2 && is_digest_hex(name + std::string(30, '0')); }

// Names in the bucket that may hold the entry, newest toolchain first.
std::vector<std::string> candidates(const Fd& bucket, const std::string& key_hex, const std::string& toolchain) {
  const Toolchain asked = parse_toolchain(file_safe(toolchain));
  std::vector<std::pair<Toolchain, std::string>> found;
  for (const std::string& name : names_in(bucket)) {
    const auto parsed = parse_name(name);
    if (!parsed || parsed->key_hex != key_hex) continue;
    if (toolchain.empty() || serves(parsed->toolchain, asked)) found.emplace_back(parsed->toolchain, name);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& x, const auto& y) { return newer(x.first, y.first); });
  std::vector<std::string> names;
  for (auto& item : found) names.push_back(std::move(item.second));
  return names;
}

// A whole entry that stands under its own name.
Look<Entry> load(const Fd& bucket, const std::string& name, Owner owner) {
  auto file = read_file(bucket, name, owner);
  if (!file.value) return {std::nullopt, std::move(file.fault)};
  std::string why;
  auto entry = decode(*file.value, &why);
  if (!entry) return {std::nullopt, std::move(why)};
  if (entry_name(entry->get("key"), entry->get("toolchain")) != name) {
    return {std::nullopt, "its content belongs to another name"};
  }
  if (entry->cubin.empty()) return {std::nullopt, "it holds no cubin"};
  return {std::move(*entry), ""};
}

// Whether the entry was built from these ingredients. The digest of each is compared, not the key alone.
bool built_from(const Entry& entry, const Key& key) {
  std::vector<std::pair<std::string, std::string>> labels;
  for (const auto& label : entry.metadata) {
    if (label.first == "key" || label.first.rfind("key.", 0) == 0) labels.push_back(label);
  }
  return labels == key.labels();
}

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Look<Fd> Layer::open_root(Faults& faults) const {
  auto root = open_directory(AT_FDCWD, path_, owner_);
  faults.directory = root.fault;
  faults.absent = !root.value && root.fault.empty();
  return root;
}

Look<Fd> Layer::open_bucket(const Look<Fd>& root, const std::string& bucket, Faults& faults) const {
  if (!root.value) return {};
  auto opened = open_directory(root.value->get(), bucket, owner_);
  if (!opened.fault.empty()) faults.entries.push_back(path_ + "/" + bucket + ": " + opened.fault);
  return opened;
}

std::optional<Entry> Layer::find(const Key& key, const std::string& toolchain, bool touch, Faults& faults) const {
  const std::string hex = key.hex();
  const auto bucket = open_bucket(open_root(faults), bucket_of(hex), faults);
  if (!bucket.value) return std::nullopt;
  for (const std::string& name : candidates(*bucket.value, hex, toolchain)) {
    auto entry = load(*bucket.value, name, owner_);
    if (entry.value && !built_from(*entry.value, key)) entry = {std::nullopt, "built from other ingredients"};
    if (entry.value) {
      // Best effort: on a read-only file system the order of eviction does not matter.
      if (touch) ::utimensat(bucket.value->get(), name.c_str(), nullptr, 0);
      return std::move(entry.value);
    }
    if (!entry.fault.empty()) faults.entries.push_back(path_ + "/" + bucket_of(hex) + "/" + name + ": " + entry.fault);
  }
  return std::nullopt;
}

std::string Layer::publish(const Entry& stamped) const {
  const std::string hex = stamped.get("key");
  make_directories(path_);
  Faults faults;
  const auto root = open_root(faults);
  if (!root.value) return faults.absent ? "it cannot be made" : faults.directory;
  if (::mkdirat(root.value->get(), bucket_of(hex).c_str(), 0700) != 0 && errno != EEXIST) return error_text(errno);
  const auto bucket = open_bucket(root, bucket_of(hex), faults);
  if (!bucket.value) return faults.entries.empty() ? error_text(ENOENT) : faults.entries.front();
  const std::string name = entry_name(hex, stamped.get("toolchain"));
  std::string fault = write_file(*bucket.value, name, encode(stamped));
  // A network file system may fail the rename for the loser of a race, or report its own rename as failed.
  if (!fault.empty() && load(*bucket.value, name, owner_).value == stamped) fault.clear();
  return fault;
}

void Layer::each(Faults& faults, const std::function<void(LayerItem)>& visit) const {
  const auto root = open_root(faults);
  if (!root.value) return;
  for (const std::string& bucket_name : names_in(*root.value)) {
    if (!is_bucket(bucket_name)) continue;
    const auto bucket = open_bucket(root, bucket_name, faults);
    if (!bucket.value) continue;
    for (const std::string& name : names_in(*bucket.value)) {
      struct stat status {};
      if (!parse_name(name) || ::fstatat(bucket.value->get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        continue;
      auto entry = load(*bucket.value, name, owner_);
      if (!entry.value && entry.fault.empty()) continue;  // removed meanwhile
      visit({bucket_name, name, static_cast<std::uint64_t>(status.st_size), nanoseconds(status.st_mtim),
             std::move(entry)});
    }
  }
}

bool Layer::remove(const LayerItem& item) const {
  Faults faults;
  const auto bucket = open_bucket(open_root(faults), item.bucket, faults);
  if (!bucket.value) return false;
  struct stat status {};
  const bool there = ::fstatat(bucket.value->get(), item.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  return there && nanoseconds(status.st_mtim) == item.last_used_ns && remove_name(*bucket.value, item.name);
}

void Layer::tidy() const {
  Faults faults;
  const auto root = open_root(faults);
  if (!root.value) return;
  for (const std::string& name : names_in(*root.value)) {
    if (!is_bucket(name)) continue;
    const auto bucket = open_bucket(root, name, faults);
    if (bucket.value) remove_stale_temporaries(*bucket.value, kAbandoned);
  }
  remove_idle_locks(path_, kAbandoned);
}

}  // namespace octet::cache
