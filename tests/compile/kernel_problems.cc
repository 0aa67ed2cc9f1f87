#include <cstdlib>

#include "octet/error.h"
#include "runtime/nvrtc.h"
#include "tests/compile/kernels.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

std::vector<Problem> parse(const std::vector<std::string>& texts, const std::string& recipes) {
  std::vector<Problem> problems;
  for (const std::string& text : texts) problems.push_back(Problem::parse(text + recipes));
  return problems;
}

}  // namespace

const std::vector<Problem>& gemm_problems() {
  static const std::vector<Problem> problems = parse(
      {
          "gemm.packed g1 n8 k16",
          "gemm.packed g8 n7168 k2880 splits=i64",
          "gemm.packed g1024 n576 k7168 splits=i32/ends",
          "gemm.packed g8 n576 k128 splits=i64/ends",
          "gemm.packed g1 n7168 k7168 splits=i32/starts",
          "gemm.packed g1024 n7168 k16 splits=i64/starts",
          "gemm.packed g8 n8 k7168",
          "gemm.padded g1 n576 k2880 al128",
          "gemm.padded g8 n7168 k7168 al128 splits=i64",
          "gemm.padded g1024 n576 k128 al16 splits=i32/ends",
          "gemm.padded g1024 n7168 k7168 al128 splits=i64/ends",
          "gemm.padded g8 n8 k16 al1",
      },
      " a=e4m3:1x128 b=e4m3:128x128 d=bf16");
  return problems;
}

const std::vector<Problem>& quantize_problems() {
  static const std::vector<Problem> problems = [] {
    std::vector<Problem> all = parse(
        {
            "quantize.packed g8 c7168",
            "quantize.packed g1 c2880 splits=i64",
            "quantize.packed g1024 c16 splits=i32/ends",
            "quantize.packed g8 c2880 splits=i64/starts",
            "quantize.padded g8 c2880 al128",
            "quantize.padded g1024 c7168 al16 splits=i64/ends",
        },
        " in=bf16 out=e4m3:1x128");
    for (Problem& weights :
         parse({"quantize.uniform g8 n7168 k2880", "quantize.uniform g1 n8 k16", "quantize.uniform g1024 n576 k7168"},
               " in=bf16 out=e4m3:128x128")) {
      all.push_back(std::move(weights));
    }
    return all;
  }();
  return problems;
}

std::vector<Spec> legal_specs(const Problem& problem) {
  std::vector<Spec> specs;
  for (const Candidate& candidate : explain(problem).candidates) {
    if (!candidate.refused) specs.push_back(candidate.spec);
  }
  return specs;
}

Options memory_only() {
  Options options;
  if (const char* library = std::getenv("OCTET_NVRTC_LIBRARY")) options.nvrtc_library = library;
  return options;
}

bool has_nvrtc() {
  const std::string library = memory_only().nvrtc_library;
  try {
    Nvrtc::open(library);
    return true;
  } catch (const Error& error) {
    if (!library.empty()) throw;
    WARN("skipped: " << error.what());
    return false;
  }
}

}  // namespace octet::test
