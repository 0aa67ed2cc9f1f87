// Threads and streams.
#include <barrier>
#include <deque>
#include <thread>

#include "tests/gpu/gemm_case.h"
#include "tests/support/catch.h"

namespace octet::test {

TEST_CASE_METHOD(GpuTest, "E01: 64 threads make the first call of one spec: one compile, all right") {
  INFO(random.note());
  constexpr int kThreads = 64;
  const GemmData data = random_gemm(packed_gemm(3, 264, 272), {70, 0, 129}, 9, random);
  const TemporaryDirectory cache;
  Runtime fresh(options_with_cache(cache.path() / "cache"));
  std::vector<Bf16> results(kThreads);
  std::vector<std::string> failures(kThreads);
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      try {
        use_device();
        GemmBuffers buffers(data);
        start.arrive_and_wait();
        results[i] = buffers.run(fresh.prepare(data.problem));
      } catch (const std::exception& error) {
        failures[i] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) REQUIRE(failure == "");
  REQUIRE(fault(data, results[0], random) == "");
  for (const Bf16& result : results) REQUIRE((result == results[0]));
  REQUIRE(fresh.statistics().compiled == 1);
  REQUIRE(fresh.statistics().loaded == 1);
}

TEST_CASE_METHOD(GpuTest, "concurrency: one kernel on several streams at once, each with its own sizes") {
  INFO(random.note());
  constexpr std::size_t kStreams = 4;
  const GemmProblem problem = packed_gemm(8, 576, 512);
  const Gemm gemm = runtime().prepare(problem);
  std::vector<GemmData> data;
  std::deque<GemmBuffers> buffers;
  std::vector<Bf16> wanted;
  data.reserve(kStreams);
  for (std::size_t i = 0; i < kStreams; ++i) {
    std::vector<std::int64_t> sizes;
    for (int g = 0; g < 8; ++g) sizes.push_back(random.integer(0, 200));
    data.push_back(random_gemm(problem, sizes, static_cast<std::int64_t>(i), random));
    buffers.emplace_back(data.back());
    wanted.push_back(buffers.back().run(gemm));
    REQUIRE(fault(data.back(), wanted.back(), random) == "");
  }
  const OwnedStream streams[kStreams];
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    for (GemmBuffers& each : buffers) each.d.poison();
    for (int call = 0; call < 5; ++call) {
      for (std::size_t i = 0; i < kStreams; ++i) gemm.launch(buffers[i].args(gemm), streams[i]);
    }
    for (std::size_t i = 0; i < kStreams; ++i) {
      streams[i].synchronize();
      const bool same = buffers[i].read_d() == wanted[i];
      REQUIRE(same);
    }
  }
}

}  // namespace octet::test
