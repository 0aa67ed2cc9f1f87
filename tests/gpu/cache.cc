// The kernel cache, with real processes and a real driver.
#include <cstdlib>
#include <set>

#include "tests/gpu/child.h"
#include "tests/gpu/gemm_case.h"
#include "tests/gpu/quantize_case.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;
const std::string kX = "gemm.packed g3 n264 k144 a=e4m3:1x128 b=e4m3:128x128 d=bf16";
const std::string kY = "gemm.packed g3 n136 k272 a=e4m3:1x128 b=e4m3:128x128 d=bf16";

std::set<std::string> files_under(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) names.insert(fs::relative(entry, folder).string());
  return names;
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "cache: kernels built offline run with no compile") {
  INFO(random.note());
  // What `octet build` would be given. OCTET_TEST_PREBUILT_CACHE names a cache that it filled with these two lines.
  const GemmProblem gemm = packed_gemm(8, 576, 512);
  const Problem quantize = token_problem(8, 512);
  const TemporaryDirectory folder;
  const char* prebuilt = std::getenv("OCTET_TEST_PREBUILT_CACHE");
  const fs::path cache = prebuilt != nullptr ? fs::path(prebuilt) : folder.path() / "cache";
  const DeviceFacts device = Runtime::device_facts(0);
  if (prebuilt == nullptr) {
    Runtime offline(options_with_cache(cache));
    for (const Spec& spec : variants(gemm.to_problem(), 4096, device)) offline.build(spec);
    for (const Spec& spec : variants(quantize, 4096, device)) offline.build(spec);
  }
  Options options = options_with_cache("");
  options.cache_readonly_dirs = {cache.string()};
  options.cache_mode = CacheMode::cached_only;
  Runtime online(options);
  REQUIRE(fault(online.prepare(gemm), random_gemm(gemm, {0, 1, 127, 128, 129, 3, 0, 9}, 5, random), random) == "");
  const QuantizeCase tokens = awkward_case(quantize, {0, 1, 127, 128, 129, 3, 0, 9}, 5, random);
  REQUIRE(difference(expected(tokens), QuantizeBuffers(tokens).run(online.prepare_quantize(quantize))) == "");
  REQUIRE(online.statistics().compiled == 0);
  REQUIRE(online.statistics().cache_hits == 2);

  REQUIRE(refusal_fault([&] { online.prepare(packed_gemm(5, 8, 16)); }, ErrorCode::cache,
                        {"octet build", packed_gemm(5, 8, 16).to_problem().to_string()}) == "");
}

TEST_CASE_METHOD(GpuTest, "D01: 16 processes race on one cold cache: one compile, all right, nothing left over") {
  const TemporaryDirectory folder;
  const fs::path quiet = folder.path() / "quiet";
  REQUIRE(run_children(quiet, {{kX}}).front().exit_code == 0);
  for (int round = 0; round < 2; ++round) {
    CAPTURE(round);
    const fs::path cache = folder.path() / ("race" + std::to_string(round)) / "deeper";
    std::uint64_t compiled = 0;
    for (const ChildReport& report : run_children(cache, std::vector(16, std::vector{kX}))) {
      REQUIRE(report.exit_code == 0);
      compiled += report.compiled;
    }
    REQUIRE(compiled == 1);
    REQUIRE(files_under(cache) == files_under(quiet));
  }
}

TEST_CASE_METHOD(GpuTest, "D22: a second process compiles nothing, and a key does not depend on what ran before") {
  const TemporaryDirectory folder;
  const ChildReport both = run_children(folder.path() / "one", {{kX, kY}}).front();
  REQUIRE(both.exit_code == 0);
  REQUIRE(both.compiled == 2);
  const ChildReport again = run_children(folder.path() / "one", {{kY, kX}}).front();
  REQUIRE(again.exit_code == 0);
  REQUIRE(again.compiled == 0);
  const ChildReport alone = run_children(folder.path() / "other", {{kY}}).front();
  REQUIRE(alone.exit_code == 0);
  REQUIRE(alone.compiled == 1);
  REQUIRE(alone.keys.at(kY) == both.keys.at(kY));
  REQUIRE(again.keys == both.keys);
  REQUIRE(both.keys.at(kX) != both.keys.at(kY));
}

}  // namespace octet::test
