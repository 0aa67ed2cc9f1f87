// Random GEMMs of the whole family, under any legal config, against the oracle.
//
//   OCTET_FUZZ_COUNT=500 OCTET_FUZZ_SEED=7 octet-gpu-tests '[fuzz]'
//
// Twice COUNT problems that the rules accept are drawn from the seed (a fresh one where none is given). What is wrong
// is reported with its number, seed and problem line, and does not stop the rest.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/gpu/fuzz/gemm_draw.h"
#include "tests/gpu/parallel.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* given = std::getenv(variable);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

struct Fuzzed {
  DrawnGemm drawn;
  Spec spec;
  Gemm gemm;
  std::string fault;
};

struct Fuzz {
  std::vector<Fuzzed> accepted;
  std::size_t refused = 0;
};
Fuzz draw_accepted(std::size_t count, Random& random) {
  constexpr std::size_t kDrawsPerCase = 50;  // a table that refuses nearly all of it is broken
  Fuzz fuzz;
  while (fuzz.accepted.size() < count && fuzz.refused < kDrawsPerCase * count) {
    DrawnGemm drawn = draw_gemm(random);
    const std::vector<Spec> specs = legal_specs(drawn.problem);
    if (specs.empty()) {
      ++fuzz.refused;
      continue;
    }
    const Spec spec = specs[static_cast<std::size_t>(drawn.config) % specs.size()];
    fuzz.accepted.push_back({std::move(drawn), spec, {}, ""});
  }
  return fuzz;
}

// What the rules accept compiles: all of it first, on several threads.
void prepare(std::vector<Fuzzed>& cases) {
  constexpr unsigned kThreads = 8;
  parallel_for(
      cases.size(),
      [&](std::size_t i) {
        try {
          cases[i].gemm = runtime().prepare_gemm(cases[i].spec, 0);
        } catch (const Error& error) {
          cases[i].fault = error.what();
        }
      },
      kThreads);
}

std::string case_fault(const Fuzzed& fuzzed, Random& random) {
  const DrawnGemm& drawn = fuzzed.drawn;
  FamilyCase gemm_case = family_case(drawn.problem, drawn.sizes, drawn.spare_rows, random);
  gemm_case.alpha *= drawn.alpha;  // beside what fp16 needs
  gemm_case.beta = drawn.beta;
  gemm_case.a_gap = drawn.a_gap, gemm_case.b_gap = drawn.b_gap, gemm_case.d_gap = drawn.d_gap;
  gemm_case.pointers_on_device = drawn.pointers_on_device;
  FamilyBuffers buffers(gemm_case);
  GemmArgs args = buffers.args(fuzzed.gemm);
  const Bytes plain = buffers.run(fuzzed.gemm, args);
  const std::string text = judge(gemm_case, plain, random, 512);
  if (!text.empty()) return text;
  if (drawn.problem.has(Flag::checked) && !buffers.status().empty()) return "status: " + buffers.status();
  args.max_sms = drawn.max_sms;
  args.programmatic = drawn.programmatic;
  return buffers.run(fuzzed.gemm, args) == plain ? "" : "a second launch, as drawn, differs";
}

std::string fault_or_error(const Fuzzed& fuzzed, Random& random) {
  try {
    return case_fault(fuzzed, random);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "fuzz: random GEMMs of the whole family", "[fuzz]") {
  const std::size_t given = number_from("OCTET_FUZZ_COUNT", 120), count = 2 * given;
  const std::uint64_t seed = number_from("OCTET_FUZZ_SEED", static_cast<std::uint64_t>(random.integer(0, 1 << 30)));
  const std::string note = fmt::format("OCTET_FUZZ_SEED={} OCTET_FUZZ_COUNT={}", seed, given);
  INFO(note);
  Random of_problems(seed);
  Fuzz fuzz = draw_accepted(count, of_problems);
  std::cout << fmt::format("fuzz: {} problems accepted, {} refused; {}\n", fuzz.accepted.size(), fuzz.refused, note)
            << std::flush;
  REQUIRE(fuzz.accepted.size() == count);

  prepare(fuzz.accepted);
  std::vector<std::string> reports;
  for (std::size_t i = 0; i < count; ++i) {
    Random of_data(seed + i);
    Fuzzed& fuzzed = fuzz.accepted[i];
    if (fuzzed.fault.empty()) fuzzed.fault = fault_or_error(fuzzed, of_data);
    if (fuzzed.fault.empty()) continue;
    reports.push_back(
        fmt::format("{}: {} ({}): {}", i, fuzzed.drawn.text(), to_string(fuzzed.spec.config), fuzzed.fault));
  }
  INFO(fmt::format("{}", fmt::join(reports, "\n")));
  REQUIRE(reports.size() == 0);
}

}  // namespace octet::test
