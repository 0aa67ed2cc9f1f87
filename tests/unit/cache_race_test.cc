// Several processes and threads on one cache.
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "cache/store.h"
#include "tests/support/catch.h"
#include "tests/unit/cache_test.h"

namespace octet::cache {
namespace {

using namespace test;

// Holds children back until all of them were started.
class Gate {
 public:
  Gate() {
    if (::pipe(ends_) != 0) throw std::runtime_error("pipe failed");
  }
  ~Gate() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void wait() {  // in a child
    ::close(ends_[1]);
    char byte = 0;
    [[maybe_unused]] const auto ended = ::read(ends_[0], &byte, 1);
  }
  void open() {  // in the parent
    ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2];
};

TEST_CASE("D06, D01: 32 processes publish into a nested path that is absent; all succeed, nothing is left over") {
  constexpr int kProcesses = 32, kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    const TempDir temp;
    Gate gate;
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      children.push_back(start_child([&] {
        gate.wait();
        Store store = store_at(temp / "not/there/yet");
        const std::string own = std::to_string(i);
        const bool published =
            store.publish(sample_key(), sample_entry()) && store.publish(sample_key(own), sample_entry(own));
        return published && look(store) == "hit" && look(store, own) == "hit" && store.damaged() == 0 ? 0 : 1;
      }));
    }
    gate.open();
    for (const pid_t child : children) CHECK(wait_for(child) == 0);
    CHECK(leftovers(temp.path()).empty());
    CHECK(store_at(temp / "not/there/yet").list().size() == kProcesses + 1);
  }
}

TEST_CASE("D04: readers beside a process that corrupts and restores see the entry or a miss, and delete nothing") {
  const TempDir temp;
  REQUIRE(store_at(temp / "cache").publish(sample_key(), sample_entry()));
  const fs::path path = only_entry(temp / "cache");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  const auto running = [&] { return std::chrono::steady_clock::now() < end; };

  std::vector<pid_t> readers;
  for (int i = 0; i < 8; ++i) {
    readers.push_back(start_child([&] {
      int wrong = 0;
      stderr_of([&] {
        Store store = store_at(temp / "cache");
        while (running()) {
          const std::string found = look(store);
          wrong += found != "hit" && found != "miss";
        }
      });
      return wrong == 0 ? 0 : 1;
    }));
  }
  const pid_t corrupter = start_child([&] {
    Store store = store_at(temp / "cache");
    int failures = 0;
    for (int i = 0; running(); ++i) {
      if (i % 3 == 0) write_text(path, "");  // in place: a reader may hold this very file open
      if (i % 3 == 1) fs::resize_file(path, fs::file_size(path) / 2);
      if (i % 3 == 2) write_text(path, std::string(500, 'x'));
      failures += !store.publish(sample_key(), sample_entry());
      failures += !fs::exists(path);  // nobody else may have deleted what was just repaired
    }
    return failures == 0 ? 0 : 1;
  });
  CHECK(wait_for(corrupter) == 0);
  for (const pid_t reader : readers) CHECK(wait_for(reader) == 0);
  Store store = store_at(temp / "cache");
  CHECK(look(store) == "hit");
}

TEST_CASE("A writer that is killed at any moment leaves a whole entry or none") {
  const TempDir temp;
  Entry entry = sample_entry();
  entry.cubin.assign(1 << 20, 'c');
  for (int i = 0; i < 40; ++i) {
    const pid_t writer = start_child([&] {
      Store store = store_at(temp / "cache");
      for (;;) store.publish(sample_key(), entry);
      return 0;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(500 * i));
    ::kill(writer, SIGKILL);
    REQUIRE(wait_for(writer) == 128 + SIGKILL);
    Store store = store_at(temp / "cache");
    const auto found = store.find(sample_key(), "nvrtc 13.0");
    if (found) CHECK(found->cubin == entry.cubin);
    REQUIRE(store.damaged() == 0);
  }
}

TEST_CASE("A pruner beside readers and writers makes misses, never damage") {
  const TempDir temp;
  constexpr int kThreads = 4, kRounds = 100;
  Store store = store_at(temp / "cache");
  std::atomic<int> running{kThreads}, wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const std::string name = std::to_string(i % 2);
      for (int round = 0; round < kRounds; ++round) {
        if (!store.publish(sample_key(name), sample_entry(name))) ++wrong;
        const std::string found = look(store, name);
        if (found != "hit" && found != "miss") ++wrong;
      }
      --running;
    });
  }
  std::size_t removed = 0;
  while (running > 0) removed += store.prune(0).size();
  for (auto& thread : threads) thread.join();
  CHECK(removed > 0);
  CHECK(wrong == 0);
  CHECK(store.damaged() == 0);
  CHECK(leftovers(temp / "cache").empty());
}

}  // namespace
}  // namespace octet::cache
