// What a warm launch costs on the host.
#pragma once

#include "octet/octet.h"

namespace octet::bench {

struct HostTimes {
  double launch_us = 0;       // Gemm::launch, warm
  double bare_launch_us = 0;  // cuLaunchKernelEx of an empty kernel with parameters of a like size
  double prepare_us = 0;      // Runtime::prepare, warm
};
HostTimes measure_host(Runtime& runtime);

}  // namespace octet::bench
