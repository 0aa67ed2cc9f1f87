// How long a compile takes here: of this machine, and so run by hand: octet-compile-tests '[timing]'
#include <algorithm>
#include <cstdio>

#include "tests/compile/kernels.h"
#include "tests/support/catch.h"

namespace {

using octet::Problem;
using octet::Spec;
using octet::test::legal_specs;

bool is_portable(const Spec& spec) { return std::holds_alternative<octet::PortableConfig>(spec.config); }
bool is_for_arch(const Spec& spec) { return !is_portable(spec); }

// Sorted.
std::vector<double> seconds_of(const std::vector<Problem>& problems, bool (*wanted)(const Spec&)) {
  octet::Runtime runtime(octet::test::memory_only());
  std::vector<double> seconds;
  for (const Problem& problem : problems) {
    for (const Spec& spec : legal_specs(problem)) {
      if (wanted(spec)) seconds.push_back(runtime.build(spec).seconds);
    }
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

double median_of(const char* what, const std::vector<double>& seconds) {
  const double median = seconds.at(seconds.size() / 2);
  std::printf("%-26s %3zu compiles: %.3f s median, %.3f to %.3f\n", what, seconds.size(), median, seconds.front(),
              seconds.back());
  return median;
}

// The forward GEMM of every other pair of recipes, and what wgrad is trained with: for information.
const char* const kOthers[] = {"gemm.packed g8 n7168 k2048 a=e4m3:tensor b=e4m3:tensor d=bf16",
                               "gemm.packed g8 n7168 k2048 a=e4m3:row b=e4m3:row d=bf16",
                               "gemm.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:1x128 d=bf16",
                               "wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc"};

}  // namespace

TEST_CASE("timing: half of the kernels compile within 0.4 s, half of the quantizers within 0.2 s", "[.timing]") {
  REQUIRE(octet::test::has_nvrtc());
  const auto& gemms = octet::test::gemm_problems();
  CHECK(median_of("gemm, limit 0.4", seconds_of({gemms[1], gemms[8]}, is_for_arch)) <= 0.4);
  CHECK(median_of("quantize, limit 0.2", seconds_of(octet::test::quantize_problems(), is_for_arch)) <= 0.2);
  median_of("gemm, portable", seconds_of({gemms[1], gemms[8]}, is_portable));
  for (const char* text : kOthers) median_of(text, seconds_of({Problem::parse(text)}, is_for_arch));
}
