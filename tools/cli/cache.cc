// octet cache: what the kernel cache on disk holds, whether it is whole, and how to keep it small.
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cache/store.h"
#include "octet/error.h"
#include "tools/cli/bytes.h"
#include "tools/cli/command.h"
#include "tools/cli/json.h"

namespace octet::cli {
namespace {

struct Request {
  std::string directory;
  std::string max_bytes = "2G";
  bool json = false;
};

Options options_of(const Request& request) {
  Options options = Options::from_environment();
  if (!request.directory.empty()) {
    options.cache_dir = request.directory;
    options.cache_readonly_dirs.clear();  // the named directory alone
  }
  if (options.cache_dir.empty()) {
    throw Error(ErrorCode::cache, "there is no cache directory here; set OCTET_CACHE_DIR or give --cache-dir");
  }
  return options;
}

std::vector<cache::Listing> list(const std::string& directory) { return cache::Store({directory, {}}).list(); }

// The writable directory first, then the layers under it, as they are searched.
std::vector<cache::Listing> list_all(const Options& options) {
  std::vector<cache::Listing> all = list(options.cache_dir);
  for (const std::string& layer : options.cache_readonly_dirs) {
    for (cache::Listing& listing : list(layer)) all.push_back(std::move(listing));
  }
  return all;
}

std::uint64_t total_bytes(const std::vector<cache::Listing>& listings) {
  std::uint64_t total = 0;
  for (const auto& listing : listings) total += listing.bytes;
  return total;
}

std::string label(const cache::Listing& listing, const std::string& name) {
  return listing.entry ? listing.entry->get(name) : "";
}

Json to_json(const cache::Listing& listing) {
  return {{"path", listing.path},
          {"bytes", listing.bytes},
          {"last_used", listing.last_used},
          {"spec", label(listing, "spec")},
          {"problem", label(listing, "problem")},
          {"arch", label(listing, "arch")},
          {"toolchain", label(listing, "toolchain")},
          {"damage", listing.entry ? Json(nullptr) : Json(listing.damage)}};
}

Json document(const Options& options, const std::vector<cache::Listing>& listings, const char* name) {
  Json json = {{"directory", options.cache_dir}, {"count", listings.size()}, {"bytes", total_bytes(listings)}};
  json[name] = Json::array();
  for (const auto& listing : listings) json[name].push_back(to_json(listing));
  return json;
}

void print_line(const cache::Listing& listing) {
  const std::string what = listing.entry ? label(listing, "spec") + "  " + label(listing, "toolchain")
                                         : listing.path + "  damaged: " + listing.damage;
  fmt::print("{:>10}  {}\n", format_bytes(listing.bytes), what);
}

int print_list(const Request& request) {
  const Options options = options_of(request);
  const auto listings = list_all(options);
  if (request.json) {
    print_json(document(options, listings, "entries"));
    return kSuccess;
  }
  for (const auto& listing : listings) print_line(listing);
  fmt::print("{} entries, {} in {}\n", listings.size(), format_bytes(total_bytes(listings)), options.cache_dir);
  return kSuccess;
}

int verify(const Request& request) {
  const Options options = options_of(request);
  const auto listings = list_all(options);
  std::vector<cache::Listing> damaged;
  for (const auto& listing : listings) {
    if (!listing.entry) damaged.push_back(listing);
  }
  if (request.json) {
    Json json = document(options, listings, "entries");
    json["damaged"] = damaged.size();
    print_json(json);
  } else {
    for (const auto& listing : damaged) print_line(listing);
    fmt::print("{} entries, {} damaged in {}\n", listings.size(), damaged.size(), options.cache_dir);
  }
  return damaged.empty() ? kSuccess : kFailure;
}

int prune(const Request& request) {
  const std::uint64_t limit = parse_bytes(request.max_bytes);
  const Options options = options_of(request);
  const auto removed = cache::Store({options.cache_dir, {}}).prune(limit);
  if (request.json) {
    print_json(document(options, removed, "removed"));
    return kSuccess;
  }
  for (const auto& listing : removed) print_line(listing);
  fmt::print("removed {} entries, {} from {}\n", removed.size(), format_bytes(total_bytes(removed)), options.cache_dir);
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
