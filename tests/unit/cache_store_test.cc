#include "cache/store.h"

#include <sys/stat.h>

#include <csignal>

#include <sys/resource.h>

#include "cache/digest.h"
#include "tests/support/catch.h"
#include "tests/unit/cache_test.h"

namespace octet::cache {
namespace {

using namespace test;

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

TEST_CASE("What was published is found, with what it was built from") {
  const TempDir temp;
  Store store = store_at(temp / "cache");
  CHECK(look(store) == "miss");
  CHECK_FALSE(fs::exists(temp / "cache"));  // looking makes nothing
  REQUIRE(store.publish(sample_key(), sample_entry()));
  CHECK(look(store) == "hit");
  CHECK(look(store, "another") == "miss");
  CHECK(store.damaged() == 0);

  const auto entry = store.find(sample_key(), "nvrtc 13.0");
  REQUIRE(entry);
  CHECK(entry->get("key") == sample_key().hex());
  CHECK(entry->get("key.arch") == digest_hex("sm_90a"));
  CHECK(entry->get("key.source") == digest_hex("kernel"));
}

TEST_CASE("D22: publishing twice, in any order, gives the same bytes under the same names") {
  const auto contents = [](const std::vector<std::string>& names) {
    const TempDir temp;
    Store store = store_at(temp / "cache");
    for (const std::string& name : names) REQUIRE(store.publish(sample_key(name), sample_entry(name)));
    std::vector<std::pair<std::string, std::string>> files;
    for (const auto& item : store.list()) {
      files.emplace_back(fs::relative(item.path, temp.path()).string(), read_text(item.path));
    }
    return files;
  };
  CHECK(contents({"x", "y"}) == contents({"y", "x", "y"}));
}

TEST_CASE("The caller's word about the key is replaced by the store's") {
  const TempDir temp;
  Store store = store_at(temp / "cache");
  Entry entry = sample_entry();
  entry.metadata.emplace_back("key", "0123");
  entry.metadata.emplace_back("key.arch", "wrong");
  REQUIRE(store.publish(sample_key(), entry));
  CHECK(store.find(sample_key(), "")->get("key.arch") == digest_hex("sm_90a"));
}

TEST_CASE("Directories that the store makes are 0700, files are not writable by others") {
  const TempDir temp;
  const mode_t before = ::umask(0);
  Store store = store_at(temp / "deep/er/cache");
  const bool published = store.publish(sample_key(), sample_entry());
  ::umask(before);
  REQUIRE(published);
  const fs::path entry = only_entry(temp / "deep/er/cache");
  for (const fs::path& made : {temp / "deep", temp / "deep/er", temp / "deep/er/cache", entry.parent_path()}) {
    INFO(made);
    CHECK(mode_of(made) == 0700);
  }
  CHECK(mode_of(entry) == 0644);
  CHECK(leftovers(temp.path()).empty());
}

TEST_CASE("D13: entries of two toolchains and of two archs live side by side") {
  const TempDir temp;
  Store store = store_at(temp / "cache");
  REQUIRE(store.publish(sample_key(), sample_entry("kernel", "nvrtc 13.0.88")));
  CHECK(look(store, "kernel", "nvrtc 13.10") == "miss");
  CHECK(look(store, "kernel", "nvrtc 12.0") == "miss");
  REQUIRE(store.publish(sample_key(), sample_entry("kernel", "nvrtc 13.10.1")));
  REQUIRE(store.publish(sample_key(), sample_entry("kernel", "nvrtc 13.9.7")));
  for (const char* arch : {"sm_100a", "sm_103a", "sm_120a", "sm_121a"}) {
    CHECK_FALSE(store.find(sample_key("kernel", arch), ""));
    REQUIRE(store.publish(sample_key("kernel", arch), sample_entry("kernel")));
  }
  CHECK(store.list().size() == 7);
  const auto toolchain = [&](const std::string& asked) { return store.find(sample_key(), asked)->get("toolchain"); };
  CHECK(toolchain("nvrtc 13.0") == "nvrtc 13.0.88");
  CHECK(toolchain("nvrtc 13.9") == "nvrtc 13.9.7");
  CHECK(toolchain("") == "nvrtc 13.10.1");  // the newest by number
}

TEST_CASE("Another build of the toolchain with the same major.minor serves, the newest first") {
  const TempDir temp;
  Store store = store_at(temp / "cache");
  for (const char* build : {"nvrtc 13.0.88", "nvrtc 13.0.100", "nvrtc 13.0.9"}) {
    REQUIRE(store.publish(sample_key(), sample_entry("kernel", build)));
  }
  CHECK(store.find(sample_key(), "nvrtc 13.0")->get("toolchain") == "nvrtc 13.0.100");
}

TEST_CASE("Read-only layers are searched in order under the writable directory, and never written") {
  const TempDir temp;
  for (const char* layer : {"first", "second"}) {
    Entry entry = sample_entry();
    entry.metadata.emplace_back("from", layer);
    REQUIRE(store_at(temp / layer).publish(sample_key(), entry));
  }
  REQUIRE(store_at(temp / "second").publish(sample_key("deep"), sample_entry("deep")));
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(48);
  fs::last_write_time(only_entry(temp / "first"), old);

  Store store({(temp / "cache").string(), {(temp / "first").string(), (temp / "second").string()}});
  CHECK(store.find(sample_key(), "nvrtc 13.0")->get("from") == "first");
  CHECK(look(store, "deep") == "hit");
  CHECK(fs::last_write_time(only_entry(temp / "first")) == old);
  CHECK_FALSE(fs::exists(temp / "cache"));
  CHECK(store.list().empty());  // it lists what it may write

  REQUIRE(store.publish(sample_key(), sample_entry()));
  CHECK(store.find(sample_key(), "nvrtc 13.0")->get("from").empty());

  Store readonly({"", {(temp / "second").string()}});
  CHECK(look(readonly) == "hit");
  CHECK_FALSE(readonly.publish(sample_key("new"), sample_entry("new")));
  CHECK(readonly.prune(0).empty());
  CHECK(look(readonly) == "hit");
}

TEST_CASE("Layers may be copied to another place, and reached through links") {
  const TempDir temp;
  REQUIRE(store_at(temp / "built").publish(sample_key(), sample_entry()));
  fs::copy(temp / "built", temp / "copied", fs::copy_options::recursive);
  fs::permissions(temp / "copied", fs::perms::owner_all);
  fs::create_directory(temp / "linked");
  const fs::path entry = only_entry(temp / "built");
  fs::create_directory(temp / "linked" / entry.parent_path().filename());
  fs::create_symlink(entry, temp / "linked" / entry.parent_path().filename() / entry.filename());
  fs::remove_all(temp / "built/locks");
  for (const char* layer : {"copied", "linked"}) {
    INFO(layer);
    Store store({"", {(temp / layer).string()}});
    CHECK(look(store) == "hit");
  }
}

TEST_CASE("A read-only layer that does not exist is said once and skipped") {
  const TempDir temp;
  Store store({"", {(temp / "absent").string()}});
  const std::string said = stderr_of([&] {
    for (int i = 0; i < 3; ++i) CHECK(look(store) == "miss");
  });
  CHECK(count(said, "\n") == 1);
  CHECK(count(said, "OCTET_CACHE_READONLY_DIRS") == 1);
}

TEST_CASE("An entry without a cubin is never published") {
  const TempDir temp;
  Store store = store_at(temp / "cache");
  Entry entry = sample_entry();
  entry.cubin.clear();
  stderr_of([&] { CHECK_FALSE(store.publish(sample_key(), entry)); });
  CHECK(look(store) == "miss");
}

TEST_CASE("D11: a hit is judged by content, whatever the file's time") {
  const TempDir temp;
  Store store = store_at(temp / "cache");
  REQUIRE(store.publish(sample_key(), sample_entry()));
  for (const int hours : {-24 * 365 * 30, 24 * 365}) {
    fs::last_write_time(only_entry(temp / "cache"), fs::file_time_type::clock::now() + std::chrono::hours(hours));
    CHECK(look(store) == "hit");
  }
  CHECK(look(store, "edited source") == "miss");
}

TEST_CASE("D09: the cache path is a file: misses, one warning that names the setting") {
  const TempDir temp;
  write_text(temp / "file", "not a directory");
  for (const char* path : {"file", "file/below"}) {
    INFO(path);
    Store store = store_at(temp / path);
    const std::string said = stderr_of([&] {
      CHECK(look(store) == "miss");
      CHECK_FALSE(store.publish(sample_key(), sample_entry()));
      CHECK_FALSE(store.publish(sample_key(), sample_entry()));
      CHECK(store.list().empty());
      CHECK(store.prune(0).empty());
    });
    CHECK(count(said, "\n") == 1);
    CHECK(count(said, "OCTET_CACHE_DIR") == 1);
    CHECK(store.damaged() == 0);
  }
  CHECK(read_text(temp / "file") == "not a directory");
}

TEST_CASE("D09: a read-only directory that is pre-filled is used, and says once that it cannot be written") {
  const TempDir temp;
  REQUIRE(store_at(temp / "cache").publish(sample_key(), sample_entry()));
  const auto paths = all_of(temp.path());
  for (const fs::path& path : paths) {
    fs::permissions(path, fs::is_directory(path) ? fs::perms(0500) : fs::perms(0400));
  }
  const int result = run_unprivileged(paths, [&] {
    int failures = 0;
    Store store = store_at(temp / "cache");
    const std::string said = stderr_of([&] {
      failures += look(store) != "hit";
      failures += store.publish(sample_key("new"), sample_entry("new"));
      failures += store.publish(sample_key("new"), sample_entry("new"));
      failures += look(store, "new") != "miss";
    });
    failures += count(said, "\n") != 1;
    failures += count(said, "OCTET_CACHE_DIR") != 1;
    return failures;
  });
  CHECK(result == 0);
  for (const fs::path& path : paths) fs::permissions(path, fs::perms::owner_all);
}

TEST_CASE("D09: an absent directory under one that cannot be written is a warning, not an error") {
  const TempDir temp;
  fs::permissions(temp.path(), fs::perms(0500));
  const int result = run_unprivileged({temp.path()}, [&] {
    Store store = store_at(temp / "nonexistent/octet");
    bool published = true;
    const std::string said = stderr_of([&] { published = store.publish(sample_key(), sample_entry()); });
    return published || look(store) != "miss" || count(said, "OCTET_CACHE_DIR") != 1 ? 1 : 0;
  });
  CHECK(result == 0);
  fs::permissions(temp.path(), fs::perms::owner_all);
}

TEST_CASE("D10: a write that fails halfway leaves nothing behind and is said once") {
  const TempDir temp;
  REQUIRE(store_at(temp / "cache").publish(sample_key("small"), sample_entry("small")));
  Entry large = sample_entry();
  large.cubin.assign(1 << 20, 'c');
  const int result = run_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{256 << 10, 256 << 10};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 90;
    int failures = 0;
    Store store = store_at(temp / "cache");
    const std::string said = stderr_of([&] {
      failures += store.publish(sample_key(), large);
      failures += store.publish(sample_key(), large);
      failures += look(store) != "miss";
      failures += look(store, "small") != "hit";
    });
    failures += count(said, "\n") != 1;
    failures += count(said, "OCTET_CACHE_DIR") != 1;
    return failures;
  });
  CHECK(result == 0);
  CHECK(leftovers(temp.path()).empty());
  CHECK(store_at(temp / "cache").list().size() == 1);
  CHECK(store_at(temp / "cache").publish(sample_key(), large));  // and again, once there is room
}

}  // namespace
}  // namespace octet::cache
