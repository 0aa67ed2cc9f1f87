#include "cache/lock.h"
#include "cache/store.h"
#include "tests/support/catch.h"
#include "tests/unit/cache_test.h"

namespace octet::cache {
namespace {

using namespace test;

// A store with entries "0", "1", ... of one size, each used an hour after the one before; the last one a minute ago.
struct Aged {
  TempDir temp;
  Store store{{(temp / "cache").string(), {}}};
  std::uint64_t each = 0;

  explicit Aged(int entries) {
    for (int i = 0; i < entries; ++i) {
      REQUIRE(store.publish(sample_key(std::to_string(i)), sample_entry(std::to_string(i))));
    }
    for (const auto& item : store.list()) {
      const int age = entries - 1 - std::stoi(item.entry->get("spec"));
      fs::last_write_time(item.path,
                          fs::file_time_type::clock::now() - std::chrono::hours(age) - std::chrono::minutes(1));
      each = item.bytes;
    }
  }

  fs::path path_of(const std::string& name) const {
    for (const auto& item : store.list()) {
      if (item.entry && item.entry->get("spec") == name) return item.path;
    }
    throw std::runtime_error("no entry " + name);
  }
};

std::vector<std::string> names(const std::vector<Listing>& listings) {
  std::vector<std::string> names;
  for (const auto& item : listings) names.push_back(item.entry ? item.entry->get("spec") : item.damage);
  return names;
}

using Names = std::vector<std::string>;

TEST_CASE("list gives path, size and last use") {
  Aged aged(2);
  const auto listings = aged.store.list();
  REQUIRE(listings.size() == 2);
  for (const auto& item : listings) {
    CHECK(item.bytes == fs::file_size(item.path));
    CHECK(item.entry->cubin == sample_entry(item.entry->get("spec")).cubin);
    const auto age = std::time(nullptr) - item.last_used;
    CHECK(age >= 60);
    CHECK(age < 2 * 3600);
  }
}

TEST_CASE("prune removes the least recently used entries until the rest fits") {
  Aged aged(5);
  CHECK(aged.store.prune(5 * aged.each).empty());
  CHECK(names(aged.store.prune(5 * aged.each - 1)) == Names{"0"});
  CHECK(names(aged.store.prune(2 * aged.each)) == Names{"1", "2"});
  CHECK(look(aged.store, "2") == "miss");
  CHECK(look(aged.store, "3") == "hit");
  CHECK(look(aged.store, "4") == "hit");
  CHECK(aged.store.prune(0).size() == 2);
  CHECK(aged.store.list().empty());
}

TEST_CASE("A hit is a use") {
  Aged aged(3);
  REQUIRE(look(aged.store, "0") == "hit");
  CHECK(names(aged.store.prune(2 * aged.each)) == Names{"1"});
  CHECK(look(aged.store, "0") == "hit");
}

TEST_CASE("prune takes damaged entries first, however new they are") {
  Aged aged(3);
  const fs::path damaged = aged.path_of("2");
  const fs::path directory = aged.path_of("1");
  write_text(damaged, "");
  fs::remove(directory);
  fs::create_directories(directory / "inner");
  CHECK(aged.store.prune(1 << 30).empty());  // it fits: nothing needs to go
  const auto removed = aged.store.prune(aged.each);
  CHECK(removed.size() >= 1);
  for (const auto& item : removed) CHECK_FALSE(item.entry);
  CHECK(look(aged.store, "0") == "hit");
  CHECK_FALSE(fs::exists(directory));
}

TEST_CASE("prune removes what crashed writers left an hour ago, and nothing younger") {
  Aged aged(1);
  const fs::path bucket = aged.path_of("0").parent_path();
  const auto now = fs::file_time_type::clock::now();
  write_text(bucket / ".tmp-1-1-old", "half an entry");
  fs::last_write_time(bucket / ".tmp-1-1-old", now - std::chrono::minutes(61));
  write_text(bucket / ".tmp-1-1-new", "half an entry");
  fs::last_write_time(bucket / ".tmp-1-1-new", now - std::chrono::minutes(59));
  CHECK(aged.store.prune(1 << 30).empty());
  CHECK_FALSE(fs::exists(bucket / ".tmp-1-1-old"));
  CHECK(fs::exists(bucket / ".tmp-1-1-new"));
  CHECK(look(aged.store, "0") == "hit");
}

TEST_CASE("An entry that was used or replaced since it was listed is not removed") {
  Aged aged(2);
  const Layer layer((aged.temp / "cache").string(), Owner::user);
  std::vector<LayerItem> items;
  Faults faults;
  layer.each(faults, [&](LayerItem item) { items.push_back(std::move(item)); });
  REQUIRE(items.size() == 2);
  REQUIRE(look(aged.store, items[0].entry.value->get("spec")) == "hit");
  CHECK_FALSE(layer.remove(items[0]));
  CHECK(layer.remove(items[1]));
  CHECK_FALSE(layer.remove(items[1]));
  CHECK(aged.store.list().size() == 1);
}

TEST_CASE("prune removes idle lock files, never one that is held") {
  const TempDir temp;
  const std::string directory = (temp / "cache").string();
  { const BuildLock idle(directory, "idle", 0); }
  { const BuildLock young(directory, "young", 0); }
  const BuildLock held(directory, "held", 0);
  REQUIRE(held.held());
  for (const char* name : {"idle", "held"}) {
    fs::last_write_time(temp / "cache/locks" / name, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  store_at(temp / "cache").prune(0);
  CHECK_FALSE(fs::exists(temp / "cache/locks/idle"));
  CHECK(fs::exists(temp / "cache/locks/young"));
  CHECK(fs::exists(temp / "cache/locks/held"));
  stderr_of([&] { CHECK_FALSE(BuildLock(directory, "held", 0).held()); });
}

}  // namespace
}  // namespace octet::cache
