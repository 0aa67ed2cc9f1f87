#include "cache/lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "tests/support/catch.h"
#include "tests/unit/cache_test.h"

namespace octet::cache {
namespace {

using namespace test;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A child that takes the lock, tells so through a pipe, and then runs `meanwhile` before it ends.
class Holder {
 public:
  Holder(const std::string& directory, const std::function<void()>& meanwhile) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe failed");
    pid_ = start_child([&] {
      const BuildLock lock(directory, "key", 0);
      const char held = lock.held() ? 'y' : 'n';
      if (::write(ends[1], &held, 1) != 1) return 1;
      meanwhile();
      return 0;
    });
    char held = 'n';
    if (::read(ends[0], &held, 1) != 1 || held != 'y') throw std::runtime_error("the child did not get the lock");
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Holder() { end(); }
  pid_t pid() const { return pid_; }
  void end() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    wait_for(std::exchange(pid_, -1));
  }

 private:
  pid_t pid_ = -1;
};

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
void sleep_long() { sleep_ms(60'000); }

TEST_CASE("A lock excludes other processes, per key") {
  const TempDir temp;
  const std::string directory = (temp / "absent/cache").string();
  const Holder holder(directory, sleep_long);
  CHECK_FALSE(BuildLock(directory, "key", 0).held());
  CHECK(BuildLock(directory, "another", 0).held());
}

TEST_CASE("A lock excludes other threads of the process") {
  const TempDir temp;
  const std::string directory = (temp / "cache").string();
  std::atomic<int> inside{0}, most{0}, done{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const BuildLock lock(directory, "key", 60);
      if (!lock.held()) return;
      const int now = ++inside;
      if (now > most) most = now;
      sleep_ms(2);
      --inside;
      ++done;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(most == 1);
  CHECK(done == 8);
}

TEST_CASE("A waiter gets the lock when its holder is done, and says nothing about a short wait") {
  const TempDir temp;
  const std::string directory = (temp / "cache").string();
  const Holder holder(directory, [] { sleep_ms(200); });
  const auto start = Clock::now();
  const std::string said = stderr_of([&] { CHECK(BuildLock(directory, "key", 30).held()); });
  CHECK(seconds_since(start) < 10);
  CHECK(said.empty());
}

TEST_CASE("A holder that is killed releases the lock") {
  const TempDir temp;
  const std::string directory = (temp / "cache").string();
  Holder holder(directory, sleep_long);
  std::thread killer([&] {
    sleep_ms(100);
    ::kill(holder.pid(), SIGKILL);
  });
  const auto start = Clock::now();
  CHECK(BuildLock(directory, "key", 30).held());
  CHECK(seconds_since(start) < 10);
  killer.join();
  CHECK(BuildLock(directory, "key", 0).held());
}

TEST_CASE("Waiting is bounded and is reported once") {
  const TempDir temp;
  const std::string directory = (temp / "cache").string();
  const Holder holder(directory, sleep_long);
  const auto start = Clock::now();
  const std::string said = stderr_of([&] { CHECK_FALSE(BuildLock(directory, "key", 1.3).held()); });
  CHECK(seconds_since(start) >= 1.3);
  CHECK(seconds_since(start) < 10);
  CHECK(count(said, "\n") == 1);
  CHECK(count(said, directory + "/locks/key") == 1);
}

TEST_CASE("D25: a child that is forked while the lock is held neither keeps nor releases it") {
  const TempDir temp;
  const std::string directory = (temp / "cache").string();
  pid_t child = -1;
  {
    const BuildLock lock(directory, "key", 0);
    REQUIRE(lock.held());
    // This child leaves the scope of an inherited lock; the parent's must survive that.
    const int released = run_child([&] {
      lock.~BuildLock();
      return 0;
    });
    CHECK(released == 0);
    CHECK_FALSE(BuildLock(directory, "key", 0).held());
    child = start_child([] {
      sleep_long();
      return 0;
    });
  }
  CHECK(BuildLock(directory, "key", 0).held());  // although the child still has the descriptor
  ::kill(child, SIGKILL);
  wait_for(child);
}

TEST_CASE("A lock file that was removed and made again still excludes") {
  const TempDir temp;
  const std::string directory = (temp / "cache").string();
  { const BuildLock made(directory, "key", 0); }
  const fs::path file = temp / "cache/locks/key";
  // Somebody tidies: holds the old file, removes its name, and lets go. A waiter has the old file open meanwhile.
  const Fd old(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::flock(old.get(), LOCK_EX | LOCK_NB) == 0);
  std::atomic<bool> got{false}, stop{false};
  std::thread waiter([&] {
    const BuildLock lock(directory, "key", 30);
    got = lock.held();
    while (!stop) sleep_ms(1);
  });
  sleep_ms(100);
  fs::remove(file);
  ::flock(old.get(), LOCK_UN);
  sleep_ms(300);
  CHECK_FALSE(BuildLock(directory, "key", 0).held());  // the waiter holds the file that has the name now
  stop = true;
  waiter.join();
  CHECK(got);
  CHECK(BuildLock(directory, "key", 0).held());
}

TEST_CASE("Where locks cannot be made the caller goes on without one") {
  const TempDir temp;
  CHECK_FALSE(BuildLock("", "key", 60).held());
  write_text(temp / "file", "");
  CHECK_FALSE(BuildLock((temp / "file").string(), "key", 60).held());
  fs::create_directory(temp / "linked");
  fs::permissions(temp / "linked", fs::perms::owner_all);
  fs::create_symlink(temp / "file", temp / "linked/locks");
  CHECK_FALSE(BuildLock((temp / "linked").string(), "key", 60).held());
  fs::create_directories(temp / "planted/locks");
  for (const char* path : {"planted", "planted/locks"}) fs::permissions(temp / path, fs::perms::owner_all);
  fs::create_symlink(temp / "file", temp / "planted/locks/key");
  CHECK_FALSE(BuildLock((temp / "planted").string(), "key", 60).held());  // no lock through somebody's link
  fs::create_directory(temp / "open");
  fs::permissions(temp / "open", fs::perms(0777));
  CHECK_FALSE(BuildLock((temp / "open").string(), "key", 60).held());
  CHECK(fs::is_empty(temp / "open"));

  fs::create_directory(temp / "readonly");
  fs::permissions(temp / "readonly", fs::perms(0500));
  const std::vector<fs::path> paths{temp.path(), temp / "readonly"};
  CHECK(run_unprivileged(paths, [&] { return BuildLock((temp / "readonly").string(), "key", 60).held() ? 1 : 0; }) ==
        0);
  fs::permissions(temp / "readonly", fs::perms::owner_all);
}

}  // namespace
}  // namespace octet::cache
