// How every figure is taken: the L2 is flushed before each call, events around the call, the median of many.
#pragma once

#include <functional>

#include "tests/gpu/device.h"

namespace octet::bench {

struct Protocol {
  int warm_ups = 3;
  int calls = 20;
};

class Timer {
 public:
  explicit Timer(Protocol protocol);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Median device time in microseconds of what `call` puts on stream().
  double median_us(const std::function<void()>& call) const;
  CUstream stream() const { return stream_; }

 private:
  Protocol protocol_;
  test::OwnedStream stream_;
  test::Buffer flush_;
  CUevent begin_ = nullptr, end_ = nullptr;
};

}  // namespace octet::bench
