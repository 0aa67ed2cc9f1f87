// Accepted by the rules, so it compiles, and into what a multiprocessor can run well: every config of every kernel.
#include "tests/compile/kernels.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <set>
#include <string>
#include <tuple>

#include "runtime/candidates.h"
#include "runtime/cubin.h"
#include "runtime/quantize_traits.h"
#include "runtime/rules.h"
#include "runtime/shared_memory.h"
#include "tests/support/catch.h"

namespace {

using octet::Built;
using octet::GemmConfig;
using octet::PortableConfig;
using octet::Problem;
using octet::QuantizeConfig;
using octet::Runtime;
using octet::Spec;
using octet::test::convert_problems;
using octet::test::gemm_family_problems;
using octet::test::gemm_problems;
using octet::test::has_nvrtc;
using octet::test::legal_specs;
using octet::test::memory_only;
using octet::test::portable_problems;
using octet::test::quantize_problems;

// Spills, in bytes per thread. Math and producer of the GEMM use every register that setmaxnreg leaves them, so a few
// addresses that are needed once per tile may go to the stack: 28 bytes at most where this was written (1024 padded
// groups, K=7168). Accumulators, which are used at every step along K, would be 256 bytes at once.
constexpr int kGemmSpillBytes = 64;
// A quantizer's thread holds 64 elements: 32 registers of 16-bit types (16 bytes at most were spilled), twice that of
// f32 (204), and with a gradient those of two inputs (256). More than that is a tile that went to the stack.
constexpr int kQuantizeSpillBytes = 32, kWideSpillBytes = 256, kGradientSpillBytes = 320;

// On sm_90a and sm_100a the widest portable tile keeps FP8 operands as fp16 next to 128 sums: 64 bytes at most.
constexpr int kPortableSpillBytes = 128;

int spill_limit(const Spec& spec) {
  if (std::holds_alternative<PortableConfig>(spec.config)) return kPortableSpillBytes;
  if (std::holds_alternative<GemmConfig>(spec.config)) return kGemmSpillBytes;
  if (spec.problem.has(octet::Flag::grad)) return kGradientSpillBytes;
  if (spec.problem.in == octet::DType::f32) return kWideSpillBytes;
  return kQuantizeSpillBytes;  // converters too
}

constexpr int kRegistersOfSm = 65536;

struct LaunchBound {
  int threads, blocks_per_sm;
};
LaunchBound launch_bound(const Spec& spec) {
  if (const auto* quantize = std::get_if<QuantizeConfig>(&spec.config)) {
    return {quantize->threads, quantize->blocks_per_sm};
  }
  if (const auto* portable = std::get_if<PortableConfig>(&spec.config)) {
    return {32 * portable->warps_m * portable->warps_n, octet::portable_blocks_per_sm(*portable)};
  }
  const auto& gemm = std::get<GemmConfig>(spec.config);
  return {128 * (gemm.warpgroups_m * gemm.warpgroups_n + 1), gemm.blocks_per_sm};
}

// A warp is given registers in units of 8 per thread.
int registers_within(const LaunchBound& bound) {
  return std::min(255, kRegistersOfSm / bound.threads / bound.blocks_per_sm / 8 * 8);
}

// Of the main entry point and its passes, the largest.
void check_resources(const Built& built) {
  const octet::Resources& resources = built.resources;
  CHECK(resources.registers > 0);
  CHECK(resources.registers <= registers_within(launch_bound(built.spec)));
  CHECK_FALSE(resources.wgmma_serialized);
  CHECK(resources.spill_store_bytes <= spill_limit(built.spec));
  CHECK(resources.spill_load_bytes <= spill_limit(built.spec));
  const int most_shared_bytes = octet::DeviceFacts::for_arch(built.spec.arch).shared_memory_per_block;
  if (const auto* gemm = std::get_if<GemmConfig>(&built.spec.config)) {
    if (octet::passes_of(built.spec.problem).size() == 1) CHECK(resources.static_shared_bytes == 0);
    CHECK(resources.dynamic_shared_bytes <= most_shared_bytes);
    CHECK(resources.dynamic_shared_bytes == octet::gemm_shared_memory_bytes(built.spec.problem, *gemm));
  } else if (const auto* portable = std::get_if<PortableConfig>(&built.spec.config)) {
    CHECK(resources.static_shared_bytes == 0);
    CHECK(resources.dynamic_shared_bytes <= most_shared_bytes);
    CHECK(resources.dynamic_shared_bytes == octet::portable_shared_memory_bytes(built.spec.problem, *portable));
  } else {
    CHECK(resources.dynamic_shared_bytes == 0);
    CHECK(resources.static_shared_bytes <= 48 * 1024);
  }
}

void check_entry_points(const Built& built) {
  const octet::CubinFacts facts = octet::read_cubin(built.cubin).value_or(octet::CubinFacts{});
  for (const octet::Pass pass : octet::passes_of(built.spec)) {
    const std::string name = built.spec.name() + octet::suffix(pass);
    INFO(name);
    CHECK(std::count(facts.functions.begin(), facts.functions.end(), name) == 1);
  }
}

void check_built(const Built& built) {
  INFO(built.spec.name());
  CHECK(built.compiled);
  CHECK(octet::cubin_fault(built.cubin, built.spec.arch, built.spec.name()).empty());
  check_entry_points(built);
  check_resources(built);
}

// Compiles in one runtime, and in another one that has seen nothing else.
void check_spec(Runtime& runtime, const Spec& spec) {
  INFO(spec.name());
  const Built built = runtime.build(spec);
  check_built(built);
  const Built again = Runtime(memory_only()).build(spec);
  CHECK(again.compiled);
  CHECK(again.key == built.key);
  CHECK((again.cubin == built.cubin));  // no bytes in the report
}

constexpr int kCompilers = 2;  // at a time

std::vector<Built> build_all(const std::vector<Spec>& specs) {
  std::vector<Built> built(specs.size());
  Runtime runtime(memory_only());
  std::atomic<std::size_t> next = 0;
  const auto compile = [&] {
    for (std::size_t i; (i = next++) < specs.size();) built[i] = runtime.build(specs[i]);
  };
  std::vector<std::future<void>> workers;
  for (int i = 0; i < kCompilers; ++i) workers.push_back(std::async(std::launch::async, compile));
  for (auto& worker : workers) worker.get();
  return built;
}

void check_every_legal_config(const std::vector<Problem>& problems) {
  std::vector<Spec> all;
  for (const Problem& problem : problems) {
    INFO(problem.to_string());
    const std::vector<Spec> specs = legal_specs(problem);
    REQUIRE_FALSE(specs.empty());
    all.insert(all.end(), specs.begin(), specs.end());
  }
  for (const Built& built : build_all(all)) check_built(built);
}

std::vector<Spec> made_for_arch(const Problem& problem) {
  std::vector<Spec> specs = legal_specs(problem);
  specs.erase(std::remove_if(specs.begin(), specs.end(),
                             [](const Spec& spec) { return !std::holds_alternative<GemmConfig>(spec.config); }),
              specs.end());
  return specs;
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
        if (!(spec.config == octet::Config(candidate.config))) continue;
        if (best < problems.size() && uses[best] <= uses[i]) continue;
        best = i;
        taken = spec;
      }
    }
    if (best < problems.size()) add(best, taken);
  }
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (uses[i] == 0) add(i, made_for_arch(problems[i]).back());
  }
  return chosen;
}

}  // namespace

TEST_CASE("kernels: the GEMM compiles to a good cubin in every config, with every form of splits") {
  if (!has_nvrtc()) return;
  std::set<std::string> configs, wanted, splits, problems;
  Runtime runtime(memory_only());
  for (const Spec& spec : representative_gemms()) {
    check_spec(runtime, spec);
    configs.insert(to_string(spec.config));
    splits.insert(octet::test::splits_text(spec.problem));
    problems.insert(spec.problem.to_string());
  }
  for (const octet::GemmCandidate& candidate : octet::gemm_candidates()) {
    const octet::Config config(candidate.config);
    const auto takes = [&](const Problem& problem) { return !octet::refuse(Spec{problem, config, "sm_90a"}, {}); };
    if (std::any_of(gemm_problems().begin(), gemm_problems().end(), takes)) wanted.insert(to_string(config));
  }
  CHECK(configs == wanted);
  CHECK(splits == octet::test::all_splits());
  CHECK(problems.size() == gemm_problems().size());
}

TEST_CASE("kernels: the portable GEMM compiles to good cubins for every arch") {
  if (!has_nvrtc()) return;
  const std::vector<std::string> archs = {"sm_89", "sm_90a", "sm_100a", "sm_120a", "sm_90", "sm_100", "sm_120"};
  std::vector<Spec> specs;
  std::set<std::string> used;
  for (std::size_t i = 0; i < portable_problems().size(); ++i) {
    INFO(portable_problems()[i].to_string());
    for (const std::size_t turn : {2 * i, 2 * i + 1}) {  // two archs for each problem, and configs in turn
      std::vector<Spec> legal;
      const octet::DeviceFacts device = octet::DeviceFacts::for_arch(archs[turn % archs.size()]);
      for (const Spec& spec : legal_specs(portable_problems()[i], device)) {
        if (std::holds_alternative<PortableConfig>(spec.config)) legal.push_back(spec);
      }
      REQUIRE_FALSE(legal.empty());
      specs.push_back(legal[turn % legal.size()]);
      used.insert(to_string(specs.back().config));
    }
  }
  CHECK(used.size() == octet::portable_candidates().size());
  for (const Built& built : build_all(specs)) check_built(built);
}

TEST_CASE("kernels: the GEMM's family compiles to good cubins, in a config of each kind") {
  if (!has_nvrtc()) return;
  std::vector<Spec> all;
  for (const Problem& problem : gemm_family_problems()) {
    std::set<std::tuple<bool, bool, bool>> kinds;
    for (const Spec& spec : made_for_arch(problem)) {
      const auto& config = std::get<GemmConfig>(spec.config);
      if (kinds.emplace(config.swapped, config.split_k > 1, config.whole_tile_store).second) all.push_back(spec);
    }
    INFO(problem.to_string());
    REQUIRE_FALSE(kinds.empty());
  }
  for (const Built& built : build_all(all)) check_built(built);
}

TEST_CASE("kernels: the quantizers compile to good cubins in every config, with all of their passes") {
  if (!has_nvrtc()) return;
  check_every_legal_config(quantize_problems());
}

TEST_CASE("kernels: the dequantizers and converters compile to good cubins in every config") {
  if (!has_nvrtc()) return;
  check_every_legal_config(convert_problems());
}

TEST_CASE("kernels: a quantizer's cubin is the same from a runtime that has seen nothing else") {
  if (!has_nvrtc()) return;
  Runtime runtime(memory_only());
  for (const char* text :
       {"quantize.packed g8 c256 in=bf16 out=e4m3:1x128", "quantize.packed g8 c256 in=bf16 out=e4m3:tensor",
        "quantize.uniform g8 n64 k256 in=bf16 out=e4m3:row dir=row,col",
        "quantize.packed g8 c256 in=bf16 act=swiglu out=e4m3:1x32 dir=row,col +grad +dbias",
        "dequantize.packed g8 c256 a=e4m3:1x128 d=bf16", "convert.packed g8 c256 a=e4m3:1x32 out=e4m3:1x32@swizzled"}) {
    check_spec(runtime, legal_specs(Problem::parse(text)).front());
  }
}

TEST_CASE("kernels: the GEMM of every problem in every legal config", "[.heavy]") {
  if (!has_nvrtc()) return;
  check_every_legal_config(gemm_problems());
  check_every_legal_config(gemm_family_problems());
}
