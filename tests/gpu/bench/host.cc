#include "tests/gpu/bench/host.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "tests/gpu/bench/empty_kernel.h"
#include "tests/gpu/device.h"

namespace octet::bench {
namespace {

// A launch that waits for room in the queue measures the GPU: batches are short and waited for in between.
double median_host_us(const std::function<void()>& call, const std::function<void()>& settle) {
  constexpr int kBatches = 101, kCalls = 32;
  std::vector<double> times;
  for (int batch = 0; batch < kBatches; ++batch) {
    settle();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
    times.push_back(spent.count() / kCalls);
  }
  std::nth_element(times.begin(), times.begin() + kBatches / 2, times.end());
  return times[kBatches / 2];
}

}  // namespace

HostTimes measure_host(Runtime& runtime) {
  GemmProblem problem;
  problem.groups = 8;
  problem.n = problem.k = 512;
  const Gemm gemm = runtime.prepare(problem);
  constexpr std::int64_t kRows = 128;
  const test::Buffer a(kRows * 512), sfa(kRows * 4 * 4), b(8 * 512 * 512), sfb(8 * 16 * 4), d(kRows * 512 * 2);
  const test::Buffer splits(std::vector<std::int32_t>(8, 0));  // nothing to compute: the host is what is measured
  const test::OwnedStream stream;
  const GemmArgs args{
      {a.at(), sfa.at(), gemm.a_layout()}, {b.at(), sfb.at(), gemm.b_layout()}, d.at(), splits.at(), kRows, nullptr};
  EmptyKernel empty(runtime.options());
  const auto settle = [&] { stream.synchronize(); };
  HostTimes times;
  times.launch_us = median_host_us([&] { gemm.launch(args, stream); }, settle);
  times.bare_launch_us = median_host_us([&] { empty.launch(stream); }, settle);
  times.prepare_us = median_host_us([&] { runtime.prepare(problem); }, settle);
  return times;
}

}  // namespace octet::bench
