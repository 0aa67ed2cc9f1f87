// A plan on the host: the data of tests/support/plan_data.h, the blocks of memory, and the reference executor.
#pragma once

#include <string>
#include <vector>

#include "octet/plan_run.h"
#include "tests/support/plan_data.h"

namespace octet::test {

struct PlanCase {
  PlanData data;
  std::vector<std::uint8_t> quantized_weights, saved, deferred, scratch;

  // Blocks hold 0xFF: NaN in every type, so that a step which reads what none has written shows.
  PlanCase(const std::string& line, std::vector<std::int64_t> sizes, std::int64_t capacity);
  void run(PlanPass pass);
  // All passes.
  void run();
  // A row-major output, as numbers.
  std::vector<double> values(const std::string& name) const;
};

}  // namespace octet::test
