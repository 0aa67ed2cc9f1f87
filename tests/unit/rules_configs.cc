// Rules of configs, on specs that a caller made, and the shared memory that one of them counts.
#include <functional>
#include <set>

#include "octet/explain.h"
#include "runtime/candidates.h"
#include "runtime/rules.h"
#include "runtime/shared_memory.h"
#include "tests/support/catch.h"

namespace {

using octet::GemmConfig;
using octet::MxConfig;
using octet::PortableConfig;
using octet::Problem;
using octet::QuantizeConfig;

const std::string kPair = " a=e4m3:1x128 b=e4m3:128x128 d=bf16";
const Problem kGemm = Problem::parse("gemm.packed g8 n7168 k2048" + kPair);
const Problem kWgrad = Problem::parse("wgrad.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:1x128 d=f32");
const Problem kKMajor = Problem::parse("gemm.packed g8 n7168 k2048 a=e4m3:1x128@k_major b=e4m3:128x128 d=bf16");
const Problem kDeepGemm = Problem::parse("wgrad.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:1x128 d=f32 from=deepgemm");
const Problem kMxGemm = Problem::parse("gemm.packed g8 n7168 k2048 a=e4m3:1x32 b=e4m3:1x32 d=bf16");
const Problem kTokens = Problem::parse("quantize.packed g8 c2048 in=bf16 out=e4m3:1x128");
const Problem kWeights = Problem::parse("quantize.uniform g8 n7168 k2048 in=bf16 out=e4m3:128x128");
const Problem kColumns = Problem::parse("quantize.packed g8 c2048 in=bf16 out=e4m3:1x128 dir=col");
const Problem kCurrent = Problem::parse("quantize.packed g8 c2048 in=bf16 out=e4m3:tensor");
const Problem kCurrentWeights = Problem::parse("quantize.uniform g8 n7168 k2048 in=bf16 out=e4m3:tensor");
const Problem kConvert = Problem::parse("convert.packed g8 c2048 a=e4m3:1x32 out=e4m3:1x32@swizzled");

struct Case {
  Problem problem;
  octet::Config config;
  std::string rule;
  std::string arch = "sm_90a";
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {kGemm, QuantizeConfig{}, "gemm.config-of-gemm"},
      {kGemm, GemmConfig{256, 128, 4, 1, 3, 1, 2, true}, "gemm.warpgroups-1-to-3"},
      {kGemm, GemmConfig{128, 256, 2, 2, 3, 1, 2, true}, "gemm.warpgroups-1-to-3"},
      {kGemm, GemmConfig{128, 128, 0, 1, 3, 1, 2, true}, "gemm.warpgroups-1-to-3"},
      {kGemm, GemmConfig{128, 128, -1, -1, 3, 1, 2, true}, "gemm.warpgroups-1-to-3"},
      {kGemm, GemmConfig{384, 128, 3, 1, 3, 1, 2, false}, "gemm.block-at-most-256"},
      {kGemm, GemmConfig{64, 512, 1, 2, 2, 1, 2, false}, "gemm.block-at-most-256"},
      {kGemm, GemmConfig{0, 128, 1, 1, 2, 1, 2, false}, "gemm.block-at-most-256"},
      {kGemm, GemmConfig{128, 128, 3, 1, 3, 1, 2, true}, "gemm.warpgroup-owns-64-rows"},
      {kGemm, GemmConfig{32, 128, 1, 1, 3, 1, 2, true}, "gemm.warpgroup-owns-64-rows"},
      {kGemm, GemmConfig{64, 128, 1, 2, 3, 1, 2, true}, "gemm.warpgroup-owns-128-columns"},
      {kGemm, GemmConfig{64, 192, 1, 1, 3, 1, 2, true}, "gemm.warpgroup-owns-128-columns"},
      {kGemm, GemmConfig{256, 256, 2, 1, 2, 1, 2, false}, "gemm.accumulators-fit-registers"},
      {kGemm, GemmConfig{192, 256, 3, 1, 2, 1, 2, false}, "gemm.accumulators-fit-registers"},
      {kGemm, GemmConfig{128, 128, 2, 1, 1, 1, 2, true}, "gemm.stages-2-to-16"},
      {kGemm, GemmConfig{64, 128, 1, 1, 17, 1, 1, true}, "gemm.stages-2-to-16"},
      {kGemm, GemmConfig{128, 128, 2, 1, 4, 1, 4, true}, "gemm.cluster-1-or-2"},
      {kGemm, GemmConfig{128, 128, 2, 1, 4, 1, 0, true}, "gemm.cluster-1-or-2"},
      {kGemm, GemmConfig{128, 128, 2, 1, 4, 2, 2, true}, "gemm.cluster-1-or-2"},
      {Problem::parse("gemm.packed g8 n248 k64" + kPair), GemmConfig{128, 256, 2, 1, 3, 1, 2, true},
       "gemm.tile-not-far-wider-than-n"},
      {Problem::parse("gemm.packed g8 n120 k64" + kPair), GemmConfig{128, 128, 2, 1, 3, 1, 2, true},
       "gemm.tile-not-far-wider-than-n"},
      {kGemm, GemmConfig{128, 256, 2, 1, 5, 1, 2, false}, "gemm.shared-memory-fits"},
      {kGemm, GemmConfig{64, 128, 1, 1, 8, 1, 1, true, false, 2}, "gemm.resident-blocks-fit"},
      {kGemm, GemmConfig{64, 256, 1, 1, 2, 1, 2, false}, "gemm.accumulators-fit-registers"},
      {kGemm, GemmConfig{}, "gemm.wgmma-arch", "sm_100a"},
      {kKMajor, GemmConfig{}, "gemm.wgmma-scales"},
      {Problem::parse("gemm.packed g8 n64 k64 a=e4m3:1x32 b=e4m3:32x32 d=bf16"), GemmConfig{}, "gemm.wgmma-scales"},
      {kDeepGemm, PortableConfig{}, "portable.own-packing"},
      {kGemm, GemmConfig{64, 24, 1, 1, 4, 1, 1, false, true, 2}, "gemm.swapped-shape"},
      {kGemm, GemmConfig{192, 16, 3, 1, 4, 1, 1, false, true, 1}, "gemm.swapped-shape"},
      {kGemm, GemmConfig{256, 16, 2, 1, 4, 1, 1, false, true, 1}, "gemm.swapped-shape"},
      {kGemm, GemmConfig{128, 16, 1, 1, 4, 1, 1, false, true, 1}, "gemm.swapped-shape"},
      {kGemm, GemmConfig{64, 32, 1, 1, 4, 1, 1, false, true, 0}, "gemm.blocks-per-multiprocessor"},
      {kGemm, GemmConfig{128, 128, 2, 1, 2, 1, 1, false, false, 2}, "gemm.blocks-per-multiprocessor"},
      {kGemm, GemmConfig{64, 256, 1, 1, 4, 1, 1, false, true, 1}, "gemm.swapped-shape"},
      {kGemm, GemmConfig{64, 32, 1, 1, 4, 2, 1, false, true, 2}, "gemm.swapped-shape"},
      {kGemm, GemmConfig{64, 32, 1, 1, 4, 1, 2, false, true, 2}, "gemm.swapped-shape"},
      {kGemm, GemmConfig{64, 32, 1, 2, 4, 1, 1, false, true, 2}, "gemm.swapped-shape"},
      {kGemm, GemmConfig{64, 32, 1, 1, 4, 1, 1, true, true, 2}, "gemm.swapped-shape"},
      {kGemm, GemmConfig{128, 128, 2, 1, 4, 1, 1, false, false, 1, 2}, "gemm.split-k-of-swapped"},
      {kWgrad, GemmConfig{128, 128, 2, 1, 4, 1, 1, false, false, 1, 2}, "gemm.split-k-of-swapped"},
      {kGemm, GemmConfig{64, 32, 1, 1, 4, 2, 1, false, true, 2, 2}, "gemm.swapped-shape"},
      {kGemm, GemmConfig{64, 16, 1, 1, 4, 1, 1, false, true, 2, 2}, "gemm.split-k-shares-tokens"},
      {kGemm, GemmConfig{64, 32, 1, 1, 4, 1, 1, false, true, 2, 4}, "gemm.split-k-shares-tokens"},
      {kGemm, GemmConfig{64, 128, 1, 1, 4, 1, 1, false, true, 1, 8}, "gemm.split-k-shares-tokens"},
      {kGemm, GemmConfig{64, 32, 1, 1, 4, 1, 1, false, true, 2, 0}, "gemm.split-k-shares-tokens"},
      {kGemm, GemmConfig{64, 32, 1, 1, 4, 1, 1, false, true, 4, 2}, "gemm.resident-blocks-fit"},  // beside its mail
      {kWgrad, GemmConfig{64, 32, 1, 1, 4, 1, 1, false, true, 2}, "gemm.swapped-of-forward"},
      {kWgrad, GemmConfig{128, 128, 2, 1, 5, 2, 1, false}, "gemm.wgrad-cluster"},
      {kTokens, PortableConfig{}, "portable.config-of-gemm"},
      {kGemm, PortableConfig{128, 128, 4, 4, 3}, "portable.warps-1-to-8"},
      {kGemm, PortableConfig{128, 128, 0, 4, 3}, "portable.warps-1-to-8"},
      {kGemm, PortableConfig{24, 128, 1, 4, 3}, "portable.warp-owns-16x16"},
      {kGemm, PortableConfig{16, 32, 1, 4, 3}, "portable.warp-owns-16x16"},
      {kGemm, PortableConfig{512, 16, 8, 1, 3}, "portable.warp-owns-16x16"},
      {kGemm, PortableConfig{128, 128, 2, 2, 3}, "portable.accumulators-fit-registers"},
      {kGemm, PortableConfig{64, 64, 2, 2, 1}, "portable.stages-2-to-16"},
      {kConvert, PortableConfig{}, "portable.config-of-gemm"},
      {kGemm, PortableConfig{64, 64, 2, 2, 17}, "portable.stages-2-to-16"},
      {kGemm, PortableConfig{128, 128, 2, 4, 8}, "portable.shared-memory-fits"},
      {kTokens, GemmConfig{}, "quantize.config-of-quantize"},
      {kConvert, GemmConfig{}, "quantize.config-of-quantize"},
      {kTokens, QuantizeConfig{256, 2, 3}, "quantize.rows-per-thread"},
      {kTokens, QuantizeConfig{256, 16, 3}, "quantize.rows-per-thread"},
      {kWeights, QuantizeConfig{256, 4, 3}, "quantize.rows-per-thread"},
      {kColumns, QuantizeConfig{256, 4, 3}, "quantize.rows-per-thread"},
      {kCurrent, QuantizeConfig{256, 4, 3}, "quantize.rows-per-thread"},
      {kConvert, QuantizeConfig{256, 4, 2}, "quantize.rows-per-thread"},
      {kTokens, QuantizeConfig{100, 8, 3}, "quantize.threads"},
      {kTokens, QuantizeConfig{0, 8, 3}, "quantize.threads"},
      {kTokens, QuantizeConfig{2048, 8, 1}, "quantize.threads"},
      {kWeights, QuantizeConfig{128, 8, 3}, "quantize.threads"},
      {kCurrent, QuantizeConfig{32, 8, 3}, "quantize.threads"},
      {kCurrentWeights, QuantizeConfig{128, 8, 3}, "quantize.threads"},
      {kConvert, QuantizeConfig{512, 8, 2}, "quantize.threads"},
      {kTokens, MxConfig{}, "mx.config-of-gemm"},
      {kGemm, MxConfig{}, "mx.scales-of-32"},
      {kWgrad, MxConfig{}, "mx.scales-of-32"},
      {Problem::parse("gemm.packed g8 n64 k64 a=e4m3:1x32 b=e4m3:1x32 d=bf16 w=pointers"), MxConfig{}, "mx.weights"},
      {kMxGemm, MxConfig{256, 128, 4, 1}, "mx.block-shape"},
      {kMxGemm, MxConfig{128, 16, 4, 1}, "mx.block-shape"},
      {kMxGemm, MxConfig{128, 512, 2, 1}, "mx.block-shape"},
      {kMxGemm, MxConfig{128, 256, 4, 1, 1}, "mx.direct-stages"},
      {kMxGemm, MxConfig{128, 32, 9, 1, 5}, "mx.direct-stages"},
      {kMxGemm, MxConfig{128, 256, 1, 1}, "mx.stages-2-to-16"},
      {kMxGemm, MxConfig{128, 32, 17, 1}, "mx.stages-2-to-16"},
      {kMxGemm, MxConfig{128, 256, 5, 4}, "mx.cluster-1-or-2"},
      {kMxGemm, MxConfig{128, 256, 5, 0}, "mx.cluster-1-or-2"},
      {kMxGemm, MxConfig{128, 256, 6, 2}, "mx.shared-memory-fits"},     // 6 * 64 * (128 + 2 * 256) bytes of operands
      {kMxGemm, MxConfig{128, 256, 5, 1, 3}, "mx.shared-memory-fits"},  // 64 * (5 * (128 + 256) + 3 * 2 * 256), staging
      {kTokens, QuantizeConfig{256, 8, 9}, "quantize.blocks-fit-multiprocessor"},
      {kTokens, QuantizeConfig{256, 8, 0}, "quantize.blocks-fit-multiprocessor"},
  };
  return all;
}

// Every candidate of its table is legal, and the rates fall, so that the first one is taken.
void check_candidates(const std::string& text) {
  INFO(text);
  const Problem problem = Problem::parse(text);
  REQUIRE_FALSE(octet::refuse(problem, {}));
  const std::vector<octet::QuantizeCandidate>& candidates = octet::quantize_candidates(problem);
  REQUIRE_FALSE(candidates.empty());
  for (const octet::QuantizeCandidate& candidate : candidates) {
    CHECK_FALSE(octet::refuse(octet::Spec{problem, candidate.config, "sm_90a"}, {}));
    CHECK(candidate.gigabytes_per_s > 0);
  }
  CHECK(octet::select(problem).config == octet::Config(candidates.front().config));
}

}  // namespace

TEST_CASE("every impossible config is refused by its rule") {
  for (const Case& c : cases()) {
    INFO(to_string(c.config));
    const auto refused = octet::refuse(octet::Spec{c.problem, c.config, c.arch}, {});
    REQUIRE(refused);
    CHECK(refused->rule == c.rule);
    CHECK(refused->message.find("(rule " + c.rule + "); ") != std::string::npos);
  }
}

TEST_CASE("no rule of configs is without a case above") {
  std::set<std::string> covered = {"gemm.wgmma-arch", "mx.wgmma-arch",  // rules_refusals.cc: another arch
                                   "config.no-workspace"},              // select_workspace.cc
      listed;
  for (const Case& c : cases()) covered.insert(c.rule);
  for (const octet::RuleDescription& rule : octet::rule_descriptions()) {
    if (rule.scope == "config") listed.insert(rule.id);
  }
  CHECK(listed == covered);
}

TEST_CASE("the problem's rules come before the config's") {
  Problem bad = kGemm;
  bad.k = 7100;
  CHECK(octet::refuse(octet::Spec{bad, QuantizeConfig{}, "sm_90a"}, {})->rule == "gemm.k-multiple-of-16");
}

TEST_CASE("a tile may be wider than N by up to its half, the narrowest by any") {
  const auto accepts = [](std::int64_t n, const GemmConfig& config) {
    Problem problem = kGemm;
    problem.n = n;
    return !octet::refuse(octet::Spec{problem, config, "sm_90a"}, {});
  };
  CHECK(accepts(256, {128, 256, 2, 1, 3, 1, 2, true}));
  CHECK_FALSE(accepts(248, {128, 256, 2, 1, 3, 1, 2, true}));
  CHECK(accepts(128, {128, 256, 2, 1, 3, 1, 1, true}));
  CHECK_FALSE(accepts(120, {128, 256, 2, 1, 3, 1, 1, true}));
  CHECK(accepts(8, {64, 128, 1, 1, 4, 1, 1, false}));
}

TEST_CASE("every portable candidate is legal for every GEMM where its shared memory fits") {
  for (const char* arch : {"sm_89", "sm_90a", "sm_100a", "sm_120a"}) {
    const octet::DeviceFacts device = octet::DeviceFacts::for_arch(arch);
    int legal = 0;
    for (const octet::PortableCandidate& candidate : octet::portable_candidates()) {
      INFO(arch << " " << to_string(octet::Config(candidate.config)));
      for (const Problem& problem : {kGemm, kWgrad, kMxGemm}) {
        const auto refused = octet::refuse(octet::Spec{problem, candidate.config, arch}, device);
        CHECK((!refused || refused->rule == "portable.shared-memory-fits"));
        legal += !refused;
      }
    }
    CHECK(legal >= 12);
  }
}

TEST_CASE("every candidate of the tables is legal for an ordinary problem") {
  const Problem plain = Problem::parse("gemm.packed g8 n7168 k2048 a=e4m3:tensor b=e4m3:tensor d=bf16");
  for (const octet::GemmCandidate& candidate : octet::gemm_candidates()) {
    INFO(to_string(octet::Config(candidate.config)));
    const bool of_blocks = !octet::refuse(octet::Spec{kGemm, candidate.config, "sm_90a"}, {});
    const bool of_tensors = !octet::refuse(octet::Spec{plain, candidate.config, "sm_90a"}, {});
    CHECK((of_blocks || of_tensors));  // a row that no problem can take is there for nothing
  }
  for (const octet::PortableCandidate& candidate : octet::portable_candidates()) {
    INFO(to_string(octet::Config(candidate.config)));
    CHECK_FALSE(octet::refuse(octet::Spec{kGemm, candidate.config, "sm_90a"}, {}));
    CHECK_FALSE(octet::refuse(octet::Spec{kWgrad, candidate.config, "sm_90a"}, {}));
  }
  const Problem mx_wgrad = Problem::parse("wgrad.packed g8 n7168 k2048 a=e4m3:1x32 b=e4m3:1x32 d=f32");
  for (const octet::MxCandidate& candidate : octet::mx_candidates()) {
    INFO(to_string(octet::Config(candidate.config)));
    CHECK_FALSE(octet::refuse(octet::Spec{kMxGemm, candidate.config, "sm_90a"}, {}));
    CHECK_FALSE(octet::refuse(octet::Spec{mx_wgrad, candidate.config, "sm_90a"}, {}));
  }
  for (const std::string layout :
       {"packed g8 c2048", "padded g8 c2048 al64", "masked g8 m64 c2048", "uniform g8 n7168 k2048"}) {
    for (const std::string in : {"bf16", "fp16", "f32"}) {
      for (const std::string act : {"", " act=gelu", " act=swiglu", " act=gelu +grad", " act=swiglu +grad"}) {
        check_candidates("activation." + layout + " d=" + in + " in=" + in + (act.empty() ? " act=relu" : act));
        for (const std::string out : {"tensor", "row", "1x128", "128x128", "1x32"}) {
          check_candidates("quantize." + layout + " in=" + in + " out=e4m3:" + out + act);
          check_candidates("quantize." + layout + " in=" + in + " out=e4m3:" + out + act + " dir=row,col");
        }
        check_candidates("quantize." + layout + " in=" + in + " out=e4m3:tensor +given" + act);
      }
    }
    check_candidates("dequantize." + layout + " a=e4m3:row d=bf16");
    check_candidates("convert." + layout + " a=e4m3:1x32 out=e4m3:1x32@swizzled");
  }
}

TEST_CASE("rows alone may be quantized four at a time, by threads of any whole warps") {
  for (const QuantizeConfig& config :
       {QuantizeConfig{64, 4, 16}, QuantizeConfig{128, 4, 4}, QuantizeConfig{1024, 8, 1}}) {
    INFO(to_string(octet::Config(config)));
    CHECK_FALSE(octet::refuse(octet::Spec{kTokens, config, "sm_90a"}, {}));
    CHECK(octet::refuse(octet::Spec{kColumns, config, "sm_90a"}, {}));
  }
  CHECK_FALSE(octet::refuse(octet::Spec{kCurrentWeights, QuantizeConfig{256, 4, 3}, "sm_90a"}, {}));
}

TEST_CASE("shared memory grows with everything that is kept in it") {
  const GemmConfig base{128, 128, 2, 1, 4, 1, 1, false};
  const auto bytes = [](const Problem& problem, const GemmConfig& config) {
    return octet::gemm_shared_memory_bytes(problem, config);
  };
  const std::int64_t base_bytes = bytes(kGemm, base);
  GemmConfig config = base;
  config.stages = 5;
  CHECK(bytes(kGemm, config) - base_bytes >= 2 * 128 * 128);  // one more block of A and of B
  config = base;
  config.whole_tile_store = true;
  CHECK(bytes(kGemm, config) - base_bytes == 128 * 128 * 2 - 2 * 64 * 64 * 2);
  config = base;
  config.block_m = 64;
  CHECK(bytes(kGemm, config) < base_bytes);
  Problem longer = kGemm;
  longer.k = 4 * kGemm.k;
  CHECK(bytes(longer, base) - base_bytes >= 2 * 3 * (2048 / 128) * 4);
  Problem wider = kGemm;
  wider.g = 1024;
  CHECK(bytes(wider, base) - base_bytes >= 12 * (1024 - 8) - 128);
}

TEST_CASE("a device with less shared memory keeps fewer configs") {
  octet::DeviceFacts small;
  small.shared_memory_per_block = 160 * 1024;
  CHECK_FALSE(octet::refuse(octet::Spec{kGemm, GemmConfig{128, 128, 2, 1, 3, 1, 2, true}, "sm_90a"}, small));
  CHECK(octet::refuse(octet::Spec{kGemm, GemmConfig{128, 256, 2, 1, 4, 1, 2, false}, "sm_90a"}, small)->rule ==
        "gemm.shared-memory-fits");
  small.shared_memory_per_block = 48 * 1024;
  try {
    octet::select(kGemm, small);
    FAIL("accepted");
  } catch (const octet::Error& error) {
    CHECK(error.code() == octet::ErrorCode::no_kernel);
    CHECK(std::string(error.what()).find("portable.shared-memory-fits") != std::string::npos);  // the last one
  }
  CHECK(octet::explain(kGemm, small).chosen == -1);
  CHECK(octet::explain(kGemm, small).breakpoints.empty());
}
