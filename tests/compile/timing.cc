// How long a compile takes here: of this machine, and so run by hand: octet-compile-tests '[timing]'
#include <algorithm>
#include <cstdio>

#include "tests/compile/kernels.h"
#include "tests/support/catch.h"

namespace {

using octet::Problem;
using octet::test::legal_specs;

std::vector<double> seconds_of(const std::vector<Problem>& problems) {
  octet::Runtime runtime(octet::test::memory_only());
  std::vector<double> seconds;
  for (const Problem& problem : problems) {
    for (const octet::Spec& spec : legal_specs(problem)) seconds.push_back(runtime.build(spec).seconds);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

void check_median(const char* what, const std::vector<double>& seconds, double limit) {
  const double median = seconds.at(seconds.size() / 2);
  std::printf("%-10s %zu compiles: %.3f s median, %.3f to %.3f, limit %.1f\n", what, seconds.size(), median,
              seconds.front(), seconds.back(), limit);
  CHECK(median <= limit);
}

}  // namespace

TEST_CASE("timing: half of the kernels compile within 0.4 s, half of the quantizers within 0.2 s", "[.timing]") {
  REQUIRE(octet::test::has_nvrtc());
  const auto& gemms = octet::test::gemm_problems();
  check_median("gemm", seconds_of({gemms[1], gemms[8]}), 0.4);
  check_median("quantize", seconds_of(octet::test::quantize_problems()), 0.2);
}
