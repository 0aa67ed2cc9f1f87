#include "tests/gpu/bench/timing.h"

#include <algorithm>
#include <vector>

namespace octet::bench {
namespace {

constexpr std::size_t kFlushBytes = std::size_t{512} << 20;

}  // namespace

Timer::Timer(Protocol protocol) : protocol_(protocol), flush_(kFlushBytes) {
  check(Driver::get().cuEventCreate(&begin_, CU_EVENT_DEFAULT), "cuEventCreate");
  check(Driver::get().cuEventCreate(&end_, CU_EVENT_DEFAULT), "cuEventCreate");
}

Timer::~Timer() {
  Driver::get().cuEventDestroy(begin_);
  Driver::get().cuEventDestroy(end_);
}

double Timer::median_us(const std::function<void()>& call) const {
  const Driver& driver = Driver::get();
  std::vector<double> times;
  for (int i = 0; i < protocol_.warm_ups + protocol_.calls; ++i) {
    check(driver.cuMemsetD8Async(flush_.address(), 0, kFlushBytes, stream_), "cuMemsetD8Async");
    check(driver.cuEventRecord(begin_, stream_), "cuEventRecord");
    call();
    check(driver.cuEventRecord(end_, stream_), "cuEventRecord");
    check(driver.cuEventSynchronize(end_), "cuEventSynchronize");
    float milliseconds = 0;
    check(driver.cuEventElapsedTime(&milliseconds, begin_, end_), "cuEventElapsedTime");
    if (i >= protocol_.warm_ups) times.push_back(milliseconds * 1e3);
  }
  std::sort(times.begin(), times.end());
  const std::size_t half = times.size() / 2;
  return times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
}

}  // namespace octet::bench
