#include "cache/file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>

#include "cache/store.h"
#include "tests/support/catch.h"
#include "tests/unit/cache_test.h"

namespace {
// Set, it stands in for the file system's answer: an errno that the next renames fail with.
std::atomic<int> rename_error{0};
std::atomic<int> rename_failures{0};
}  // namespace

// Takes the place of the C library's function in this program, so that a rename can fail as on a network file system.
extern "C" int renameat(int old_directory, const char* old_name, int new_directory, const char* new_name) noexcept {
  if (rename_error != 0) {
    ++rename_failures;
    errno = rename_error;
    return -1;
  }
  using Rename = int (*)(int, const char*, int, const char*);
  static const auto real = reinterpret_cast<Rename>(::dlsym(RTLD_NEXT, "renameat"));
  return real(old_directory, old_name, new_directory, new_name);
}

namespace octet::cache {
namespace {

using namespace test;

struct FailingRename {
  explicit FailingRename(int error) { rename_error = error, rename_failures = 0; }
  ~FailingRename() { rename_error = 0; }
};

TEST_CASE("D05: the loser of a rename on a network file system keeps its build and does not complain") {
  const TempDir temp;
  REQUIRE(store_at(temp / "cache").publish(sample_key(), sample_entry()));  // the winner
  for (const int error : {ENOENT, ESTALE, EIO}) {
    Store store = store_at(temp / "cache");
    const FailingRename failing(error);
    CHECK(stderr_of([&] { CHECK(store.publish(sample_key(), sample_entry())); }).empty());
    CHECK(rename_failures > 0);
    CHECK(leftovers(temp / "cache").empty());
  }
}

TEST_CASE("D05: a rename that fails with no winner is a failed publish, said once, with nothing left over") {
  const TempDir temp;
  Store store = store_at(temp / "cache");
  const std::string said = stderr_of([&] {
    const FailingRename failing(ESTALE);
    CHECK_FALSE(store.publish(sample_key(), sample_entry()));
    CHECK_FALSE(store.publish(sample_key(), sample_entry()));
  });
  CHECK(count(said, "\n") == 1);
  CHECK(leftovers(temp / "cache").empty());
  CHECK(store.publish(sample_key(), sample_entry()));
}

// A system call that fails `failures` times with `error`, then returns 7.
struct Flaky {
  int error, failures, calls = 0;
  int operator()() {
    ++calls;
    if (calls > failures) return 7;
    errno = error;
    return -1;
  }
};

TEST_CASE("retry: interrupted calls go on, stale handles a few times, other errors at once") {
  Flaky interrupted{EINTR, 100};
  CHECK(retry([&] { return interrupted(); }) == 7);
  Flaky stale{ESTALE, 3};
  CHECK(retry([&] { return stale(); }) == 7);
  Flaky dead{ESTALE, 1000};
  CHECK(retry([&] { return dead(); }) == -1);
  CHECK(errno == ESTALE);
  CHECK(dead.calls < 10);
  Flaky denied{EACCES, 1000};
  CHECK(retry([&] { return denied(); }) == -1);
  CHECK(errno == EACCES);
  CHECK(denied.calls == 1);
}

TEST_CASE("make_directories makes what is missing and accepts what is there") {
  const TempDir temp;
  for (const char* path : {"a/b/c", "a/b/c", "a/b//d/", "a/e///"}) {
    make_directories((temp / "").string() + path);
    CHECK(fs::is_directory((temp / "").string() + path));
  }
  write_text(temp / "file", "");
  make_directories((temp / "file/below").string());  // cannot be: no error, no harm
  CHECK(fs::is_regular_file(temp / "file"));
}

TEST_CASE("remove_name removes files, links and trees, and follows no link") {
  const TempDir temp;
  fs::create_directories(temp / "kept");
  write_text(temp / "kept/file", "");
  fs::create_directories(temp / "cache/tree/inner");
  write_text(temp / "cache/tree/inner/file", "");
  fs::create_directory_symlink(temp / "kept", temp / "cache/tree/link");
  fs::create_directory_symlink(temp / "kept", temp / "cache/link");
  const auto directory = open_directory(AT_FDCWD, (temp / "cache").string(), Owner::user);
  REQUIRE(directory.value);
  CHECK(remove_name(*directory.value, "tree"));
  CHECK(remove_name(*directory.value, "link"));
  CHECK(remove_name(*directory.value, "absent"));
  CHECK(fs::is_empty(temp / "cache"));
  CHECK(fs::exists(temp / "kept/file"));
}

TEST_CASE("Descriptors are not left open, and are not inherited by programs that are started") {
  const TempDir temp;
  const auto open_descriptors = [] {
    const fs::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  Store store = store_at(temp / "cache");
  const auto before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    store.publish(sample_key(), sample_entry());
    look(store);
    store.list();
  }
  store.prune(0);
  CHECK(open_descriptors() == before);
  const auto directory = open_directory(AT_FDCWD, (temp / "cache").string(), Owner::user);
  REQUIRE(directory.value);
  CHECK((::fcntl(directory.value->get(), F_GETFD) & FD_CLOEXEC) != 0);
}

}  // namespace
}  // namespace octet::cache
