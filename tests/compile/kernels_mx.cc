// The MXFP8 GEMM compiles to good cubins: every config, layout of groups and of scales, type and epilogue.
#include <algorithm>
#include <string>

#include "octet/explain.h"
#include "octet/runtime.h"
#include "runtime/cubin.h"
#include "runtime/quantize_traits.h"
#include "runtime/shared_memory.h"
#include "tests/compile/kernels.h"
#include "tests/support/catch.h"

namespace {

using octet::MxConfig;
using octet::Problem;
using octet::test::memory_only;

// The largest part of a spill that a config may have: the addresses of a producer, which has 24 registers.
constexpr int kMostSpilledBytes = 32;

void check_cubin(octet::Runtime& runtime, const octet::Spec& spec) {
  INFO(spec.name());
  const octet::Built built = runtime.build(spec);
  CHECK(octet::cubin_fault(built.cubin, spec.arch, spec.name()).empty());
  const octet::CubinFacts facts = octet::read_cubin(built.cubin).value_or(octet::CubinFacts{});
  for (const octet::Pass pass : octet::passes_of(spec)) {
    CHECK(std::count(facts.functions.begin(), facts.functions.end(), spec.name() + octet::suffix(pass)) == 1);
  }
  CHECK_FALSE(built.resources.wgmma_serialized);
  CHECK(built.resources.registers <= 168);
  CHECK(built.resources.spill_store_bytes <= kMostSpilledBytes);
  CHECK(built.resources.dynamic_shared_bytes ==
        octet::mx_shared_memory_bytes(spec.problem, std::get<MxConfig>(spec.config)));
}

// Of the legal candidates with an MxConfig the first one of each form, or all.
void check_problem(const std::string& text, bool every_config) {
  INFO(text);
  octet::Runtime runtime(memory_only());
  int built = 0, direct = 0;
  for (const octet::Candidate& candidate :
       explain(Problem::parse(text), octet::DeviceFacts::for_arch("sm_90a")).candidates) {
    if (candidate.refused || !std::holds_alternative<MxConfig>(candidate.spec.config)) continue;
    int& seen = std::get<MxConfig>(candidate.spec.config).direct > 0 ? direct : built;
    if (seen++ == 0 || every_config) check_cubin(runtime, candidate.spec);
  }
  CHECK(built > 0);
  CHECK(direct > 0);
}

}  // namespace

TEST_CASE("kernels: the MXFP8 GEMM compiles to a good cubin in every config") {
  if (!octet::test::has_nvrtc()) return;
  check_problem("gemm.packed g8 n4096 k7168 a=e4m3:1x32 b=e4m3:1x32 d=bf16", true);
  check_problem("wgrad.packed g8 n7168 k2048 a=e4m3:1x32 b=e4m3:1x32 d=f32 +acc", true);
}

TEST_CASE("kernels: the MXFP8 GEMM compiles for every layout, type and epilogue") {
  if (!octet::test::has_nvrtc()) return;
  for (const char* text : {
           "gemm.packed g1 n8 k16 a=e4m3:1x32 b=e4m3:1x32 d=f32 splits=i64",
           "gemm.packed g1024 n576 k2880 a=e5m2:1x32 b=e4m3:1x32@swizzled d=bf16 +bias splits=i32/ends",
           "gemm.packed g8 n576 k7168 a=e4m3:1x32@swizzled b=e5m2:1x32 d=fp16 dir=col +acc splits=i64/starts",
           "gemm.packed g8 n576 k7168 a=e4m3:1x32@swizzled b=e4m3:1x32@swizzled d=bf16 dir=col +checked",
           "gemm.padded g8 n576 k7168 al128 a=e4m3:1x32@swizzled b=e4m3:32x32 d=f32 +bias +acc",
           "gemm.padded g8 n576 k7168 al128 a=e4m3:1x32 b=e4m3:32x32 d=bf16 dir=col splits=i64/ends",
           "gemm.masked g32 m512 n4096 k7168 a=e4m3:1x32@swizzled b=e4m3:1x32 d=bf16",
           "gemm.dense g1 n4096 k7168 a=e5m2:1x32 b=e5m2:1x32 d=bf16",
           "wgrad.packed g1024 n576 k2880 a=e5m2:1x32 b=e4m3:1x32 d=bf16 splits=i32/ends",
           "wgrad.padded g8 n4096 k7168 al128 a=e4m3:1x32@swizzled b=e4m3:1x32@swizzled d=f32 +acc splits=i64",
           "wgrad.masked g8 m512 n4096 k2048 a=e4m3:1x32@swizzled b=e4m3:1x32 d=fp16 +acc",
           "wgrad.dense g1 n4096 k4096 a=e4m3:1x32 b=e4m3:1x32@swizzled d=f32",
       }) {
    check_problem(text, false);
  }
}
