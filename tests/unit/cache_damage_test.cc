// Entries that are not what they should be: counted misses, left alone by readers, replaced by publish.
#include <sys/stat.h>

#include "cache/entry.h"
#include "cache/store.h"
#include "tests/support/catch.h"
#include "tests/unit/cache_test.h"

namespace octet::cache {
namespace {

using namespace test;

struct Damage {
  const char* name;
  std::function<void(const fs::path&)> inflict;
};

void replace(const fs::path& path, const std::string& bytes) {
  fs::remove_all(path);
  write_text(path, bytes);
}

std::vector<Damage> damages() {
  return {
      {"empty", [](const fs::path& path) { replace(path, ""); }},
      {"half", [](const fs::path& path) { fs::resize_file(path, fs::file_size(path) / 2); }},
      {"longer", [](const fs::path& path) { fs::resize_file(path, fs::file_size(path) + 4096); }},
      {"sparse and huge", [](const fs::path& path) { fs::resize_file(path, std::uintmax_t{1} << 40); }},
      {"foreign",
       [](const fs::path& path) {
         replace(path,
                 "\x7f"
                 "ELF is what a cubin starts with");
       }},
      {"a later version",
       [](const fs::path& path) {
         std::string bytes = read_text(path);
         bytes[bytes.find('1')] = '2';
         replace(path, bytes);
       }},
      {"another kernel under this name",
       [](const fs::path& path) {
         const TempDir other;
         store_at(other / "cache").publish(sample_key("other"), sample_entry("other"));
         fs::copy_file(only_entry(other / "cache"), path, fs::copy_options::overwrite_existing);
       }},
      {"another toolchain under this name",
       [](const fs::path& path) {
         Entry entry = *decode(read_text(path));
         for (auto& [label, text] : entry.metadata) text = label == "toolchain" ? "nvrtc 12.0.1" : text;
         replace(path, encode(entry));
       }},
      {"right key, another ingredient",
       [](const fs::path& path) {
         Entry entry = *decode(read_text(path));
         for (auto& [label, text] : entry.metadata) text = label == "key.arch" ? std::string(32, '0') : text;
         replace(path, encode(entry));
       }},
      {"no cubin",
       [](const fs::path& path) {
         Entry entry = *decode(read_text(path));
         entry.cubin.clear();
         replace(path, encode(entry));
       }},
      {"a directory", [](const fs::path& path) { fs::remove(path), fs::create_directory(path); }},
      {"a directory with something in it",
       [](const fs::path& path) {
         fs::remove(path);
         fs::create_directories(path / "inner");
         write_text(path / "inner/file", "x");
       }},
      {"a dangling link", [](const fs::path& path) { fs::remove(path), fs::create_symlink("nowhere", path); }},
      {"a link to itself", [](const fs::path& path) { fs::remove(path), fs::create_symlink(path.filename(), path); }},
      {"a pipe", [](const fs::path& path) { fs::remove(path), ::mkfifo(path.c_str(), 0600); }},
      {"writable by others", [](const fs::path& path) { fs::permissions(path, fs::perms(0666)); }},
  };
}

TEST_CASE("D02: a damaged entry is one counted miss each time, one warning per store, and is replaced") {
  for (const Damage& damage : damages()) {
    INFO(damage.name);
    const TempDir temp;
    REQUIRE(store_at(temp / "cache").publish(sample_key(), sample_entry()));
    REQUIRE(store_at(temp / "cache").publish(sample_key("good"), sample_entry("good")));
    Store store = store_at(temp / "cache");
    fs::path path;
    for (const auto& item : store.list()) {
      if (item.entry->get("spec") == "kernel") path = item.path;
    }
    damage.inflict(path);

    const std::string said = stderr_of([&] {
      CHECK(look(store) == "miss");
      CHECK(look(store, "kernel", "") == "miss");
      CHECK(look(store, "good") == "hit");
    });
    CHECK(store.damaged() == 2);
    CHECK(count(said, "\n") == 1);
    CHECK(count(said, path.string()) == 1);
    CHECK(fs::symlink_status(path).type() != fs::file_type::not_found);  // a reader deletes nothing

    CHECK(stderr_of([&] { REQUIRE(store.publish(sample_key(), sample_entry())); }).empty());
    CHECK(look(store) == "hit");
    CHECK(store.damaged() == 2);
    CHECK(leftovers(temp.path()).empty());
  }
}

TEST_CASE("list tells whole from damaged entries, and the reason") {
  for (const Damage& damage : damages()) {
    if (std::string(damage.name) == "right key, another ingredient") continue;  // seen only when a key is asked
    INFO(damage.name);
    const TempDir temp;
    Store store = store_at(temp / "cache");
    REQUIRE(store.publish(sample_key(), sample_entry()));
    damage.inflict(only_entry(temp / "cache"));
    const auto listings = store.list();
    REQUIRE(listings.size() == 1);
    CHECK_FALSE(listings.front().entry);
    CHECK_FALSE(listings.front().damage.empty());
  }
}

TEST_CASE("A small entry with any byte changed on disk is a miss, never another content") {
  const TempDir temp;
  Store store = store_at(temp / "cache");
  REQUIRE(store.publish(sample_key(), sample_entry()));
  const fs::path path = only_entry(temp / "cache");
  const std::string whole = read_text(path);
  const auto put = [&](std::size_t at, char byte) {
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(static_cast<std::streamoff>(at))
        .put(byte);
  };
  stderr_of([&] {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (const int change : {0x01, 0x20, 0x80, 0xff}) {
        put(i, static_cast<char>(whole[i] ^ change));
        INFO("byte " << i << " changed by " << change);
        REQUIRE(look(store) == "miss");
      }
      put(i, whole[i]);
    }
  });
  CHECK(store.damaged() == 4 * whole.size());
  CHECK(look(store) == "hit");
}

TEST_CASE("Damage in one layer or toolchain does not hide a good entry in another") {
  const TempDir temp;
  REQUIRE(store_at(temp / "layer").publish(sample_key(), sample_entry()));
  Store store({(temp / "cache").string(), {(temp / "layer").string()}});
  REQUIRE(store.publish(sample_key(), sample_entry()));
  write_text(only_entry(temp / "cache"), "");
  stderr_of([&] {
    CHECK(look(store) == "hit");
    CHECK(store.damaged() == 1);
    REQUIRE(store.publish(sample_key(), sample_entry("kernel", "nvrtc 12.9.1")));
    CHECK(store.find(sample_key(), "")->get("toolchain") == "nvrtc 12.9.1");  // older, but of the upper layer
  });
}

TEST_CASE("A file in the place of a bucket is a miss and a failed publish, not an error") {
  const TempDir temp;
  fs::create_directory(temp / "cache");
  fs::permissions(temp / "cache", fs::perms::owner_all);
  write_text(temp / "cache" / sample_key().hex().substr(0, 2), "");
  Store store = store_at(temp / "cache");
  stderr_of([&] {
    CHECK(look(store) == "miss");
    CHECK_FALSE(store.publish(sample_key(), sample_entry()));
  });
}

TEST_CASE("Files that are no entries are left out of find, list and prune") {
  const TempDir temp;
  Store store = store_at(temp / "cache");
  REQUIRE(store.publish(sample_key(), sample_entry()));
  const fs::path bucket = only_entry(temp / "cache").parent_path();
  const std::string hex = sample_key().hex();
  for (const std::string& name : {std::string("README"), hex, hex + ".octet", hex + "-nvrtc-13.0.88.octet.bak",
                                  std::string("x") + hex + "-nvrtc-13.0.88.octet"}) {
    write_text(bucket / name, "mine");
  }
  write_text(temp / "cache/CACHEDIR.TAG", "mine");
  CHECK(look(store) == "hit");
  CHECK(store.list().size() == 1);
  CHECK(store.damaged() == 0);
  CHECK(store.prune(0).size() == 1);
  CHECK(fs::exists(bucket / "README"));
  CHECK(fs::exists(temp / "cache/CACHEDIR.TAG"));
}

}  // namespace
}  // namespace octet::cache
