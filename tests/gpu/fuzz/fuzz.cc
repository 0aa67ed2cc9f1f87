// Random problems over the whole table of quantizers, against the oracle.
//
//   OCTET_FUZZ_COUNT=500 OCTET_FUZZ_SEED=7 octet-gpu-tests '[fuzz]'
//
// COUNT problems that the rules accept are drawn from the seed (a fresh one where none is given). What is wrong is
// reported with its number, seed and problem line, and does not stop the rest.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/rules.h"
#include "tests/gpu/convert_case.h"
#include "tests/gpu/fuzz/draw.h"
#include "tests/gpu/parallel.h"
#include "tests/gpu/quantize_judge.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* given = std::getenv(variable);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

bool converts(const Problem& problem) {
  return problem.op == Operation::dequantize || problem.op == Operation::convert;
}

struct Draws {
  std::vector<Drawn> accepted;
  std::size_t refused = 0;
};
Draws draw_accepted(std::size_t count, Random& random) {
  constexpr std::size_t kDrawsPerCase = 50;  // a table that refuses nearly all of it is broken
  const DeviceFacts device = Runtime::device_facts(0);
  Draws draws;
  while (draws.accepted.size() < count && draws.refused < kDrawsPerCase * count) {
    Drawn drawn = draw(random);
    if (refuse(drawn.problem, device))
      ++draws.refused;
    else
      draws.accepted.push_back(std::move(drawn));
  }
  return draws;
}

// What the rules accept compiles: all of it first, on several threads.
void prepare(const Problem& problem) {
  if (converts(problem)) {
    runtime().prepare_convert(problem, {0, 0});
    return;
  }
  runtime().prepare_quantize(problem, {0, 0});
  if (problem.op == Operation::quantize && problem.act != Activation::none) {
    runtime().prepare_quantize(activation_part(problem), {0, 0});
  }
}

std::vector<std::string> prepare_faults(const std::vector<Drawn>& drawn) {
  constexpr unsigned kThreads = 8;
  std::vector<std::string> faults(drawn.size());
  parallel_for(
      drawn.size(),
      [&](std::size_t i) {
        try {
          prepare(drawn[i].problem);
        } catch (const Error& error) {
          faults[i] = error.what();
        }
      },
      kThreads);
  return faults;
}

std::string case_fault(const Drawn& drawn, Random& random) {
  try {
    if (converts(drawn.problem)) {
      const auto codes = drawn.ordinary ? quantized_codes : random_codes;
      return fault(codes(drawn.problem, drawn.sizes, drawn.spare_rows, random));
    }
    const auto make = drawn.ordinary ? ordinary_case : awkward_case;
    QuantizeCase quantize = make(drawn.problem, drawn.sizes, drawn.spare_rows, random);
    quantize.noop = drawn.noop;
    quantize.amax_floor = drawn.amax_floor;
    return fault(quantize);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "fuzz: random problems over the whole table of quantizers", "[fuzz]") {
  const std::size_t count = number_from("OCTET_FUZZ_COUNT", 120);
  const std::uint64_t seed = number_from("OCTET_FUZZ_SEED", static_cast<std::uint64_t>(random.integer(0, 1 << 30)));
  const std::string note = fmt::format("OCTET_FUZZ_SEED={} OCTET_FUZZ_COUNT={}", seed, count);
  INFO(note);
  Random of_problems(seed);
  const Draws draws = draw_accepted(count, of_problems);
  std::cout << fmt::format("fuzz: {} problems accepted, {} refused; {}\n", draws.accepted.size(), draws.refused, note)
            << std::flush;
  REQUIRE(draws.accepted.size() == count);

  std::vector<std::string> faults = prepare_faults(draws.accepted), reports;
  for (std::size_t i = 0; i < count; ++i) {
    Random of_data(seed + i);
    if (faults[i].empty()) faults[i] = case_fault(draws.accepted[i], of_data);
    if (!faults[i].empty()) reports.push_back(fmt::format("{}: {}: {}", i, draws.accepted[i].text(), faults[i]));
  }
  INFO(fmt::format("{}", fmt::join(reports, "\n")));
  REQUIRE(reports.size() == 0);
}

}  // namespace octet::test
