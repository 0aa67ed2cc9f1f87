// Accepted by the rules, so it compiles, and into what a multiprocessor can run well: every config of both kernels.
#include "tests/compile/kernels.h"

#include <algorithm>
#include <set>
#include <string>

#include "runtime/candidates.h"
#include "runtime/cubin.h"
#include "runtime/shared_memory.h"
#include "tests/support/catch.h"

namespace {

using octet::Built;
using octet::GemmConfig;
using octet::Problem;
using octet::QuantizeConfig;
using octet::Runtime;
using octet::Spec;
using octet::test::gemm_problems;
using octet::test::has_nvrtc;
using octet::test::legal_specs;
using octet::test::memory_only;
using octet::test::quantize_problems;

// Per thread. Math and producer use every register that setmaxnreg leaves them, so a few addresses that are needed once
// per tile may go to the stack: 28 bytes at most where this was written (1024 padded groups, K=7168). Accumulators,
// which are used at every step along K, would be 256 bytes at once.
constexpr int kSpillBytes = 64;
constexpr int kSharedBytesOfBlock = 232448;  // 227 KiB, what an H100 or H200 lets a block opt in to
constexpr int kRegistersOfSm = 65536;

struct LaunchBound {
  int threads, blocks_per_sm;
};
LaunchBound launch_bound(const Spec& spec) {
  if (const auto* quantize = std::get_if<QuantizeConfig>(&spec.config)) {
    return {quantize->threads, quantize->blocks_per_sm};
  }
  const auto& gemm = std::get<GemmConfig>(spec.config);
  return {128 * (gemm.warpgroups_m * gemm.warpgroups_n + 1), octet::gemm_blocks_per_sm(gemm)};
}

// A warp is given registers in units of 8 per thread.
int registers_within(const LaunchBound& bound) {
  return std::min(255, kRegistersOfSm / bound.threads / bound.blocks_per_sm / 8 * 8);
}

void check_resources(const Built& built) {
  const octet::Resources& resources = built.resources;
  CHECK(resources.registers > 0);
  CHECK(resources.registers <= registers_within(launch_bound(built.spec)));
  CHECK_FALSE(resources.wgmma_serialized);
  CHECK(resources.spill_store_bytes <= kSpillBytes);
  CHECK(resources.spill_load_bytes <= kSpillBytes);
  if (const auto* gemm = std::get_if<GemmConfig>(&built.spec.config)) {
    CHECK(resources.static_shared_bytes == 0);
    CHECK(resources.dynamic_shared_bytes <= kSharedBytesOfBlock);
    CHECK(resources.dynamic_shared_bytes == octet::gemm_shared_memory_bytes(built.spec.problem, *gemm));
  } else {
    CHECK(resources.dynamic_shared_bytes == 0);
    CHECK(resources.static_shared_bytes <= 48 * 1024);
  }
}

// Compiles in one runtime, and in another one that has seen nothing else.
void check_spec(Runtime& runtime, const Spec& spec) {
  INFO(spec.name());
  const Built built = runtime.build(spec);
  CHECK(built.compiled);
  CHECK(octet::cubin_fault(built.cubin, spec.arch, spec.name()).empty());
  check_resources(built);
  const Built again = Runtime(memory_only()).build(spec);
  CHECK(again.compiled);
  CHECK(again.key == built.key);
  CHECK((again.cubin == built.cubin));  // no bytes in the report
}

void check_every_legal_spec(const std::vector<Problem>& problems) {
  Runtime runtime(memory_only());
  for (const Problem& problem : problems) {
    const std::vector<Spec> specs = legal_specs(problem);
    REQUIRE_FALSE(specs.empty());
    for (const Spec& spec : specs) check_spec(runtime, spec);
  }
}

// One problem for each config and one config for each problem, dealt out in turn.
std::vector<Spec> representative_gemms() {
  const auto& problems = gemm_problems();
  const auto& candidates = octet::gemm_candidates();
  std::vector<Spec> chosen;
  std::vector<int> uses(problems.size());
  const auto add = [&](std::size_t problem, const Spec& spec) {
    ++uses[problem];
    chosen.push_back(spec);
  };
  for (const octet::GemmCandidate& candidate : candidates) {
    std::size_t best = problems.size();
    Spec taken;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      for (const Spec& spec : legal_specs(problems[i])) {
        if (!(std::get<GemmConfig>(spec.config) == candidate.config)) continue;
        if (best < problems.size() && uses[best] <= uses[i]) continue;
        best = i;
        taken = spec;
      }
    }
    if (best < problems.size()) add(best, taken);
  }
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (uses[i] == 0) add(i, legal_specs(problems[i]).back());
  }
  return chosen;
}

std::string splits_text(const Problem& problem) {
  static const char* const forms[] = {"sizes", "ends", "starts"};
  return std::string(problem.splits.is_i64 ? "i64/" : "i32/") + forms[static_cast<int>(problem.splits.form)];
}

const std::set<std::string> kAllSplits = {"i32/sizes", "i32/ends", "i32/starts", "i64/sizes", "i64/ends", "i64/starts"};

}  // namespace

TEST_CASE("kernels: the GEMM compiles to a good cubin in every config, with every form of splits") {
  if (!has_nvrtc()) return;
  std::set<std::string> configs, wanted, splits, problems;
  Runtime runtime(memory_only());
  for (const Spec& spec : representative_gemms()) {
    check_spec(runtime, spec);
    configs.insert(to_string(spec.config));
    splits.insert(splits_text(spec.problem));
    problems.insert(spec.problem.to_string());
  }
  for (const octet::GemmCandidate& candidate : octet::gemm_candidates()) {
    wanted.insert(to_string(octet::Config(candidate.config)));
  }
  CHECK(configs == wanted);
  CHECK(splits == kAllSplits);
  CHECK(problems.size() == gemm_problems().size());
}

TEST_CASE("kernels: the quantizers compile to good cubins in every config") {
  if (!has_nvrtc()) return;
  check_every_legal_spec(quantize_problems());
}

TEST_CASE("kernels: the GEMM of every problem in every legal config", "[.heavy]") {
  if (!has_nvrtc()) return;
  check_every_legal_spec(gemm_problems());
}

TEST_CASE("kernels: the quantizers neither spill nor use a stack") {
  if (!has_nvrtc()) return;
  Runtime runtime(memory_only());
  for (const Problem& problem : {quantize_problems().front(), quantize_problems().back()}) {
    const octet::Resources resources = runtime.build(legal_specs(problem).front()).resources;
    CHECK(resources.spill_store_bytes == 0);
    CHECK(resources.stack_bytes == 0);
  }
}
