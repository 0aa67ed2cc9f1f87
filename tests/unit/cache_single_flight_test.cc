#include "cache/single_flight.h"

#include <atomic>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/catch.h"

namespace octet::cache {
namespace {

constexpr int kThreads = 64;

// Runs `body(i)` in 64 threads that start together.
void in_threads(const std::function<void(int)>& body) {
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      body(i);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_CASE("E01: 64 threads that want one key build once and all get the result") {
  SingleFlight<std::string> flights;
  std::atomic<int> builds{0}, arrived{0}, right{0};
  in_threads([&](int) {
    ++arrived;
    const std::string value = flights.run("key", [&] {
      ++builds;
      while (arrived < kThreads) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the last ones to arrive still have to call
      return std::string("built");
    });
    right += value == "built";
  });
  CHECK(builds == 1);
  CHECK(right == kThreads);
}

TEST_CASE("Flights of different keys run at the same time") {
  SingleFlight<int> flights;
  std::latch both(2);  // passes only if neither build waits for the other
  std::thread other([&] {
    flights.run("a", [&] {
      both.arrive_and_wait();
      return 1;
    });
  });
  const int value = flights.run("b", [&] {
    both.arrive_and_wait();
    return 2;
  });
  other.join();
  CHECK(value == 2);
  CHECK(flights.run("outer", [&] { return flights.run("inner", [] { return 3; }); }) == 3);
}

TEST_CASE("A flight that fails throws to every waiter and is forgotten") {
  SingleFlight<int> flights;
  std::atomic<int> builds{0}, arrived{0}, caught{0};
  in_threads([&](int) {
    ++arrived;
    try {
      flights.run("key", [&]() -> int {
        ++builds;
        while (arrived < kThreads) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        throw std::runtime_error("no compiler");
      });
    } catch (const std::runtime_error& error) {
      caught += std::string(error.what()) == "no compiler";
    }
  });
  CHECK(builds == 1);
  CHECK(caught == kThreads);
  CHECK(flights.run("key", [] { return 7; }) == 7);
}

TEST_CASE("Nothing is remembered: a later call builds again") {
  SingleFlight<int> flights;
  int builds = 0;
  for (int i = 1; i <= 3; ++i) CHECK(flights.run("key", [&] { return ++builds; }) == i);
}

}  // namespace
}  // namespace octet::cache
