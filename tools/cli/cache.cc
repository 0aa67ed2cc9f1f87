// octet cache: what the kernel cache on disk holds, whether it is whole, and how to keep it small.
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cache/layer.h"
#include "cache/store.h"
#include "octet/error.h"
#include "octet/runtime.h"
#include "tools/cli/bytes.h"
#include "tools/cli/cache_folder.h"
#include "tools/cli/command.h"
#include "tools/cli/json.h"

namespace octet::cli {
namespace {

struct Request {
  std::string directory;
  std::string max_bytes = "2G";
  bool json = false;
};

// What is looked after: the cache of this environment with its layers, or the one directory that was named.
struct Folders {
  std::string directory;
  std::vector<std::string> layers;
  bool is_named = false;
};

Folders folders_of(const Request& request) {
  if (!request.directory.empty()) return {request.directory, {}, true};
  const Options options = Options::from_environment();
  if (options.cache_dir.empty()) {
    throw Error(ErrorCode::cache, "there is no cache directory here; set OCTET_CACHE_DIR or give --cache-dir");
  }
  return {options.cache_dir, options.cache_readonly_dirs, false};
}

// The cache of this environment is made when first needed; a directory that somebody named must be there.
void require_folder(const std::string& directory, cache::Owner owner, bool may_be_absent) {
  if (cache_exists(directory, owner) || may_be_absent) return;
  throw Error(ErrorCode::cache, fmt::format("the kernel cache {} does not exist", directory));
}

struct Stored {
  std::string folder;
  cache::Listing listing;
};

void add_entries(std::vector<Stored>& all, const std::string& directory, cache::Owner owner) {
  const cache::Layer layer(directory, owner);
  cache::Faults faults;
  layer.each(faults, [&](cache::LayerItem item) {
    constexpr std::int64_t kNsPerSecond = 1'000'000'000;
    all.push_back({directory,
                   {layer.path_of(item), item.bytes, item.last_used_ns / kNsPerSecond, std::move(item.entry.value),
                    std::move(item.entry.fault)}});
  });
}

// The writable directory first, then the layers under it, as they are searched.
std::vector<Stored> list_all(const Folders& folders) {
  // A named directory is only read here, so it may be a layer of the system.
  const cache::Owner owner = folders.is_named ? cache::Owner::user_or_root : cache::Owner::user;
  require_folder(folders.directory, owner, !folders.is_named);
  for (const std::string& layer : folders.layers) require_folder(layer, cache::Owner::user_or_root, false);
  std::vector<Stored> all;
  add_entries(all, folders.directory, owner);
  for (const std::string& layer : folders.layers) add_entries(all, layer, cache::Owner::user_or_root);
  return all;
}

std::uint64_t total_bytes(const std::vector<Stored>& entries) {
  std::uint64_t total = 0;
  for (const auto& entry : entries) total += entry.listing.bytes;
  return total;
}

std::string label(const cache::Listing& listing, const std::string& name) {
  return listing.entry ? listing.entry->get(name) : "";
}

Json to_json(const Stored& stored) {
  const cache::Listing& listing = stored.listing;
  return {{"path", listing.path},
          {"layer", stored.folder},
          {"bytes", listing.bytes},
          {"last_used", listing.last_used},
          {"spec", label(listing, "spec")},
          {"problem", label(listing, "problem")},
          {"arch", label(listing, "arch")},
          {"toolchain", label(listing, "toolchain")},
          {"damage", listing.entry ? Json(nullptr) : Json(listing.damage)}};
}

Json document(const Folders& folders, const std::vector<Stored>& entries, const char* name) {
  Json json = {{"directory", folders.directory}, {"count", entries.size()}, {"bytes", total_bytes(entries)}};
  json[name] = Json::array();
  for (const auto& entry : entries) json[name].push_back(to_json(entry));
  return json;
}

void print_line(const cache::Listing& listing) {
  const std::string what = listing.entry ? label(listing, "spec") + "  " + label(listing, "toolchain")
                                         : listing.path + "  damaged: " + listing.damage;
  fmt::print("{:>10}  {}\n", format_bytes(listing.bytes), what);
}

void print_lines(const Folders& folders, const std::vector<Stored>& entries) {
  std::string folder;
  for (const Stored& stored : entries) {
    if (!folders.layers.empty() && stored.folder != folder) {
      fmt::print("{}{}\n", stored.folder, stored.folder == folders.directory ? "" : " (read-only)");
    }
    folder = stored.folder;
    print_line(stored.listing);
  }
}

// "/home/me/.cache/octet and 2 read-only layers"
std::string places(const Folders& folders) {
  const std::size_t n = folders.layers.size();
  return n == 0 ? folders.directory
                : fmt::format("{} and {} read-only layer{}", folders.directory, n, n == 1 ? "" : "s");
}

int print_list(const Request& request) {
  const Folders folders = folders_of(request);
  const auto entries = list_all(folders);
  if (request.json) {
    print_json(document(folders, entries, "entries"));
    return kSuccess;
  }
  print_lines(folders, entries);
  fmt::print("{} entries, {} in {}\n", entries.size(), format_bytes(total_bytes(entries)), places(folders));
  return kSuccess;
}

int verify(const Request& request) {
  const Folders folders = folders_of(request);
  const auto entries = list_all(folders);
  std::vector<Stored> damaged;
  for (const auto& stored : entries) {
    if (!stored.listing.entry) damaged.push_back(stored);
  }
  if (request.json) {
    Json json = document(folders, entries, "entries");
    json["damaged"] = damaged.size();
    print_json(json);
  } else {
    print_lines(folders, damaged);
    fmt::print("{} entries, {} damaged in {}\n", entries.size(), damaged.size(), places(folders));
  }
  return damaged.empty() ? kSuccess : kFailure;
}

int prune(const Request& request) {
  const std::uint64_t limit = parse_bytes(request.max_bytes);
  Folders folders = folders_of(request);
  folders.layers.clear();  // nothing is removed from a read-only one
  require_folder(folders.directory, cache::Owner::user, !folders.is_named);
  std::vector<Stored> removed;
  for (auto& listing : cache::Store({folders.directory, {}}).prune(limit)) {
    removed.push_back({folders.directory, std::move(listing)});
  }
  if (request.json) {
    print_json(document(folders, removed, "removed"));
    return kSuccess;
  }
  print_lines(folders, removed);
  fmt::print("removed {} entries, {} from {}\n", removed.size(), format_bytes(total_bytes(removed)), folders.directory);
  return kSuccess;
}

CLI::App* add(CLI::App& parent, const char* name, const char* what, const std::shared_ptr<Request>& request,
              Action& action, int (*job)(const Request&)) {
  CLI::App* command = parent.add_subcommand(name, what);
  command->add_option("--cache-dir", request->directory, "The cache; default: OCTET_CACHE_DIR");
  command->add_flag("--json", request->json, "Print JSON");
  command->callback([&action, request, job] { action = [request, job] { return job(*request); }; });
  return command;
}

}  // namespace

void add_cache(CLI::App& app, Action& action) {
  const auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("cache", "Look after the kernel cache on disk");
  command->require_subcommand(1);
  add(*command, "ls", "List every entry, read-only layers included", request, action, print_list);
  add(*command, "verify", "Check every entry; exit code 1 when one is damaged", request, action, verify);
  add(*command, "prune", "Remove what is above a size: damaged entries, then the least recently used", request, action,
      prune)
      ->add_option("--max-bytes", request->max_bytes, "What may stay: a number with K, M, G or T")
      ->capture_default_str();
}

}  // namespace octet::cli
