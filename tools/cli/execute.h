// Timed executions, on the host and on a device.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "octet/runtime.h"
#include "tools/cli/device_buffer.h"

namespace octet::cli {

// Wall time of each of `repeat` calls, in microseconds.
template <typename Call>
std::vector<double> time_on_host(int repeat, const Call& call) {
  std::vector<double> times_us;
  for (int i = 0; i < repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    times_us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  return times_us;
}

// Event time of each of `repeat` launches, in microseconds.
template <typename Launch>
std::vector<double> time_on_device(int repeat, const DeviceStream& stream, const Launch& launch) {
  launch(
      stream.get());  // not timed: clocks and caches settle, and what a first launch sets up is not the kernel's time
  stream.synchronize();
  std::vector<double> times_us;
  for (int i = 0; i < repeat; ++i) {
    DeviceEvent start, stop;
    start.record(stream.get());
    launch(stream.get());
    stop.record(stream.get());
    stream.synchronize();
    times_us.push_back(stop.microseconds_since(start));
  }
  return times_us;
}

// The device array of splits that the problem asks for.
inline DeviceBuffer upload_splits(const Splits& splits, const std::vector<std::int64_t>& values) {
  if (splits.is_i64) return DeviceBuffer(values);
  return DeviceBuffer(std::vector<std::int32_t>(values.begin(), values.end()));
}

}  // namespace octet::cli
