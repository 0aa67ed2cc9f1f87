// Whose files are believed.
#include <unistd.h>

#include "cache/store.h"
#include "tests/support/catch.h"
#include "tests/unit/cache_test.h"

namespace octet::cache {
namespace {

using namespace test;

constexpr bool kWritable = true, kReadonly = false;

Store open_as(bool writable, const fs::path& path) { return writable ? store_at(path) : Store({"", {path.string()}}); }

// Looks twice and tries to publish; checks that there is one line on stderr, and that it names the setting.
void check_distrusted(bool writable, const fs::path& path) {
  Store store = open_as(writable, path);
  const std::string said = stderr_of([&] {
    CHECK(look(store) == "miss");
    CHECK(look(store) == "miss");
    CHECK_FALSE(store.publish(sample_key("new"), sample_entry("new")));
    CHECK(store.list().empty());
    CHECK(store.prune(0).empty());
  });
  CHECK(count(said, "\n") == 1);
  CHECK(count(said, path.string()) == 1);
  CHECK(count(said, writable ? "OCTET_CACHE_DIR" : "OCTET_CACHE_READONLY_DIRS") == 1);
}

TEST_CASE("A directory that others can write is not read and not written") {
  for (const bool writable : {kWritable, kReadonly}) {
    for (const int mode : {0777, 0770, 0702, 01777}) {
      INFO("mode " << std::oct << mode);
      const TempDir temp;
      REQUIRE(store_at(temp / "cache").publish(sample_key(), sample_entry()));
      const auto before = all_of(temp / "cache");
      fs::permissions(temp / "cache", fs::perms(mode));
      check_distrusted(writable, temp / "cache");
      CHECK(all_of(temp / "cache") == before);
      fs::permissions(temp / "cache", fs::perms(0755));
      Store store = open_as(writable, temp / "cache");
      CHECK(look(store) == "hit");  // readable by others is fine
    }
  }
}

TEST_CASE("A bucket that others can write is not read and not written") {
  const TempDir temp;
  Store store = store_at(temp / "cache");
  REQUIRE(store.publish(sample_key(), sample_entry()));
  fs::permissions(only_entry(temp / "cache").parent_path(), fs::perms(0777));
  stderr_of([&] {
    CHECK(look(store) == "miss");
    CHECK_FALSE(store.publish(sample_key(), sample_entry()));
  });
  CHECK(store.damaged() == 1);
}

TEST_CASE("A link to a directory is judged by the directory") {
  const TempDir temp;
  REQUIRE(store_at(temp / "real").publish(sample_key(), sample_entry()));
  fs::create_directory_symlink(temp / "real", temp / "link");
  Store store = store_at(temp / "link");
  CHECK(look(store) == "hit");
  fs::permissions(temp / "real", fs::perms(0777));
  check_distrusted(kWritable, temp / "link");
}

TEST_CASE("Another user's directory is never believed") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can give a directory away");
    return;
  }
  const TempDir temp;
  REQUIRE(store_at(temp / "cache").publish(sample_key(), sample_entry()));
  for (const fs::path& path : all_of(temp / "cache")) REQUIRE(::lchown(path.c_str(), kNobody, kNobody) == 0);
  check_distrusted(kWritable, temp / "cache");
  check_distrusted(kReadonly, temp / "cache");
}

TEST_CASE("Root's directory serves as a read-only layer, and not as the writable directory") {
  if (::geteuid() != 0) {
    WARN("skipped: needs root to make root's directory");
    return;
  }
  const TempDir temp;
  REQUIRE(store_at(temp / "cache").publish(sample_key(), sample_entry()));
  for (const fs::path& path : all_of(temp.path())) {
    fs::permissions(path, fs::is_directory(path) ? fs::perms(0755) : fs::perms(0644));
  }
  const auto look_as_nobody = [&](bool writable) {
    return run_unprivileged({}, [&] {
      Store store = open_as(writable, temp / "cache");
      std::string found;
      stderr_of([&] { found = look(store); });
      return found == "hit" ? 1 : 0;
    });
  };
  CHECK(look_as_nobody(kReadonly) == 1);
  CHECK(look_as_nobody(kWritable) == 0);
}

}  // namespace
}  // namespace octet::cache
