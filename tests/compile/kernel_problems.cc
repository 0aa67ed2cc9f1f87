#include <cstdlib>

#include "octet/error.h"
#include "runtime/nvrtc.h"
#include "tests/compile/kernels.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

std::vector<Problem> parse(const std::vector<std::string>& texts, const std::string& recipes = "") {
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

const std::vector<Problem>& gemm_family_problems() {
  static const std::vector<Problem> problems = parse({
      "gemm.masked g32 m512 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
      "gemm.masked g8 m300 n576 k2880 a=e4m3:1x128 b=e4m3:1x128 d=f32 splits=i64 +acc",
      "gemm.dense g1 n7168 k2880 a=e4m3:1x128 b=e4m3:128x128 d=fp16 +bias",
      "gemm.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128@block2d_t d=f32 dir=col +bias +acc +checked",
      "gemm.packed g1024 n2048 k7168 a=e5m2:1x128 b=e4m3:1x128 d=bf16 dir=col splits=i64/starts",
      "gemm.padded g8 n4096 k2048 al128 a=e4m3:1x128:pow2 b=e5m2:128x128:pow2 d=bf16 +acc splits=i32/ends",
      "gemm.packed g8 n4096 k7168 a=e4m3:tensor b=e4m3:tensor d=bf16 +fastacc",
      "gemm.padded g8 n4096 k7168 al16 a=e5m2:tensor b=e4m3:tensor d=fp16 +bias +acc dir=col",
      "gemm.packed g8 n4096 k7168 a=e4m3:row b=e4m3:row d=f32 +bias splits=i64/ends",
      "gemm.masked g8 m300 n4096 k7168 a=e5m2:row b=e5m2:row d=bf16 +fastacc +acc",
      "wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc",
      "wgrad.packed g1024 n2048 k7168 a=e5m2:1x128 b=e4m3:1x128 d=bf16 splits=i64/starts +checked",
      "wgrad.padded g8 n4096 k7168 al128 a=e4m3:1x128 b=e4m3:128x128 d=f32 +acc splits=i32/ends",
      "wgrad.masked g8 m300 n576 k2880 a=e4m3:1x128 b=e4m3:1x128 d=fp16 +acc splits=i64",
      "wgrad.dense g1 n4096 k7168 a=e4m3:tensor b=e5m2:tensor d=f32 +fastacc +acc",
      "wgrad.packed g8 n4096 k7168 a=e4m3:row b=e4m3:row d=bf16 +acc splits=i64/ends",
      "wgrad.padded g8 n4096 k7168 al16 a=e4m3:tensor b=e4m3:tensor d=bf16",
      "gemm.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=bf16 w=pointers",
      "wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32 w=pointers +acc",
      "wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32 from=deepgemm",
  });
  return problems;
}

const std::vector<Problem>& portable_problems() {
  static const std::vector<Problem> problems = parse({
      "gemm.packed g8 n7168 k2880 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
      "gemm.padded g1024 n576 k7168 al16 a=e5m2:1x128@k_major b=e4m3:128x128@block2d_t d=f32 splits=i64/ends +acc",
      "gemm.masked g8 m300 n4096 k7168 a=e4m3:1x128 b=e5m2:1x128 d=fp16 +bias +acc +checked w=pointers",
      "gemm.packed g8 n576 k2880 a=e4m3:1x128 b=e4m3:1x128 d=bf16 dir=col splits=i32/starts +checked",
      "gemm.dense g1 n7168 k7168 a=e4m3:1x128:pow2 b=e4m3:1x128@k_major d=bf16",
      "gemm.packed g8 n8 k16 a=e4m3:tensor b=e4m3:tensor d=bf16 splits=i64",
      "gemm.dense g1 n4096 k7168 a=e5m2:tensor b=e4m3:tensor d=f32 +fastacc +bias dir=col",
      "gemm.masked g1024 m300 n4096 k7168 a=e4m3:row b=e5m2:row d=bf16 w=pointers splits=i64",
      "gemm.padded g8 n4096 k2880 al128 a=e4m3:row b=e4m3:row d=fp16 +fastacc +acc",
      "gemm.packed g8 n7168 k7168 a=e4m3:1x32 b=e4m3:1x32 d=bf16",
      "gemm.packed g1024 n576 k2880 a=e4m3:1x32@swizzled b=e5m2:1x32@swizzled d=bf16 splits=i64/starts +checked",
      "gemm.masked g8 m300 n4096 k7168 a=e5m2:1x32@swizzled b=e4m3:32x32 d=f32 +acc w=pointers",
      "gemm.packed g8 n4096 k2880 a=e4m3:1x32 b=e4m3:1x32 d=fp16 dir=col +bias splits=i32/ends",
      "wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc",
      "wgrad.padded g1024 n4096 k2048 al16 a=e5m2:1x128 b=e4m3:128x128 d=bf16 splits=i64/ends +checked",
      "wgrad.masked g8 m300 n4096 k2048 a=e5m2:tensor b=e4m3:tensor d=f32 w=pointers +checked +fastacc",
      "wgrad.dense g1 n4096 k2048 a=e4m3:row b=e4m3:row d=f32 +acc",
      "wgrad.packed g1024 n4096 k2048 a=e5m2:1x32 b=e4m3:1x32@swizzled d=f32 +acc splits=i32/starts",
      "wgrad.masked g8 m300 n16 k16 a=e4m3:1x32@swizzled b=e4m3:1x32 d=fp16 splits=i64",
      "wgrad.dense g1 n4096 k2048 a=e4m3:1x32 b=e5m2:1x32 d=bf16 w=pointers",
  });
  return problems;
}

const std::vector<Problem>& quantize_problems() {
  static const std::vector<Problem> problems = parse({
      "quantize.packed g8 c7168 in=bf16 out=e4m3:1x128",
      "quantize.packed g1 c2880 in=bf16 out=e4m3:1x128 splits=i64",
      "quantize.packed g1024 c16 in=bf16 out=e4m3:1x128 splits=i32/ends",
      "quantize.packed g8 c2880 in=fp16 out=e5m2:1x128@k_major splits=i64/starts",
      "quantize.padded g1024 c7168 al16 in=bf16 out=e4m3:1x128 splits=i64/ends",
      "quantize.padded g8 c2880 al128 in=bf16 act=swiglu out=e4m3:1x128 +probs",
      "quantize.masked g32 m512 c7168 in=f32 out=e4m3:1x128 splits=i64",
      "quantize.packed g8 c7168 in=bf16 act=swiglu out=e4m3:1x128",
      "quantize.packed g8 c2048 in=bf16 out=e4m3:1x128 dir=col",
      "quantize.packed g8 c2048 in=bf16 out=e4m3:1x128 dir=col +grad +dbias",
      "quantize.packed g8 c7168 in=bf16 out=e4m3:1x128 dir=row,col",
      "quantize.packed g8 c2048 in=bf16 act=swiglu out=e4m3:1x128 dir=row,col +probs +grad",
      "quantize.packed g8 c2048 in=f32 act=geglu gate=second out=e4m3:1x128 dir=row,col",
      "quantize.masked g8 m300 c2880 in=fp16 out=e5m2:1x128:pow2@k_major dir=row,col",
      "quantize.uniform g8 n4096 k7168 in=bf16 out=e4m3:1x128 dir=row,col",
      "quantize.dense g1 c7168 in=bf16 out=e4m3:1x128 dir=row,col",

      "quantize.packed g8 c7168 in=bf16 out=e4m3:tensor",
      "quantize.masked g8 m300 c2880 in=fp16 out=e5m2:tensor +noop +amax",
      "quantize.padded g8 c2880 al16 in=f32 out=e4m3:tensor splits=i32/ends",
      "quantize.packed g8 c7168 in=bf16 out=e4m3:tensor +given",
      "quantize.packed g8 c2048 in=bf16 out=e4m3:tensor dir=col",
      "quantize.uniform g8 n4096 k7168 in=bf16 out=e4m3:tensor dir=row,col",
      "quantize.padded g8 c2048 al16 in=fp16 out=e4m3:tensor dir=row,col +amax +given",
      "quantize.packed g1024 c2048 in=bf16 act=swiglu out=e4m3:tensor",
      "quantize.masked g8 m300 c2048 in=f32 act=relu out=e4m3:tensor dir=row,col +grad +dbias",

      "quantize.packed g8 c7168 in=bf16 out=e4m3:row splits=i32/starts",
      "quantize.packed g8 c2048 in=bf16 act=silu out=e4m3:row +bias",
      "quantize.masked g8 m300 c2880 in=f32 out=e5m2:row dir=col",
      "quantize.uniform g8 n4096 k7168 in=bf16 out=e4m3:row dir=row,col",
      "quantize.padded g8 c2048 al16 in=bf16 act=glu il=32 out=e4m3:row dir=row,col +probs +grad",

      "quantize.uniform g1 n8 k16 in=bf16 out=e4m3:128x128",
      "quantize.uniform g8 n7168 k2880 in=bf16 out=e4m3:128x128",
      "quantize.uniform g1024 n576 k7168 in=fp16 out=e4m3:128x128@block2d_t",
      "quantize.uniform g8 n576 k2880 in=f32 out=e5m2:128x128:pow2@block2d_t dir=col",
      "quantize.uniform g8 n4096 k7168 in=bf16 out=e4m3:128x128:pow2 dir=row,col",
      "quantize.packed g8 c2048 in=fp16 out=e4m3:128x128 dir=row,col",
      "quantize.masked g8 m300 c2048 in=bf16 act=gelu out=e4m3:128x128 +bias",

      "quantize.packed g8 c7168 in=bf16 out=e4m3:1x32",
      "quantize.masked g8 m300 c2880 in=fp16 out=e5m2:1x32",
      "quantize.padded g8 c2048 al16 in=bf16 act=qgelu out=e4m3:1x32 splits=i64",
      "quantize.packed g8 c2048 in=f32 act=clamped_swiglu il=1 out=e4m3:1x32 +bias +probs",
      "quantize.packed g1024 c2880 in=bf16 out=e4m3:1x32 dir=col splits=i32/starts",
      "quantize.padded g8 c2048 al16 in=f32 out=e4m3:1x32 dir=row,col",
      "quantize.uniform g8 n4096 k7168 in=bf16 out=e4m3:1x32 dir=row,col",
      "quantize.packed g8 c7168 in=bf16 out=e4m3:1x32@swizzled",
      "quantize.masked g8 m300 c2880 in=bf16 out=e5m2:1x32@swizzled dir=col",
      "quantize.packed g8 c2048 in=bf16 act=situ_glu il=8 out=e4m3:1x32@swizzled dir=row,col +grad",
      "quantize.uniform g8 n4096 k7168 in=bf16 out=e4m3:32x32",
      "quantize.uniform g8 n576 k2880 in=f32 out=e4m3:32x32 dir=col",
      "quantize.uniform g8 n4096 k7168 in=fp16 out=e5m2:32x32 dir=row,col",

      "activation.packed g8 c2048 d=bf16 in=bf16 act=reglu",
      "activation.padded g8 c2880 al16 d=f32 in=f32 act=sreglu il=16",
      "activation.masked g8 m300 c2048 d=fp16 in=fp16 act=qgeglu il=64 +probs +grad",
      "activation.uniform g8 n4096 k7168 d=bf16 in=bf16 act=srelu",
      "activation.packed g8 c2048 d=bf16 in=bf16 act=clamped_swiglu gate=second il=1 +bias +probs +grad +dbias +noop",
  });
  return problems;
}

const std::vector<Problem>& convert_problems() {
  static const std::vector<Problem> problems = parse({
      "dequantize.packed g8 c7168 a=e4m3:tensor d=bf16",
      "dequantize.padded g8 c2880 al16 a=e5m2:tensor d=f32 dir=col",
      "dequantize.packed g8 c2048 a=e4m3:row d=fp16 splits=i64",
      "dequantize.masked g8 m300 c2048 a=e5m2:row d=fp16 dir=col",
      "dequantize.padded g8 c2880 al16 a=e4m3:1x128 d=f32 splits=i64/ends",
      "dequantize.packed g8 c2048 a=e4m3:1x128@k_major d=bf16 splits=i32/ends",
      "dequantize.masked g8 m300 c2048 a=e4m3:1x128 d=bf16 dir=col",
      "dequantize.uniform g8 n4096 k7168 a=e4m3:128x128 d=bf16",
      "dequantize.uniform g8 n576 k2880 a=e4m3:128x128@block2d_t d=bf16 dir=col",
      "dequantize.packed g8 c2048 a=e4m3:1x32 d=bf16",
      "dequantize.packed g1024 c2880 a=e5m2:1x32 d=fp16 dir=col splits=i32/starts",
      "dequantize.masked g8 m300 c2048 a=e4m3:1x32@swizzled d=f32",
      "dequantize.padded g8 c2048 al16 a=e5m2:1x32@swizzled d=bf16 dir=col",
      "dequantize.uniform g8 n576 k2880 a=e4m3:32x32 d=bf16",
      "dequantize.dense g1 c2048 a=e4m3:1x128 d=bf16",
      "dequantize.uniform g8 n576 k2880 a=e4m3:32x32 d=bf16 dir=col",

      "convert.packed g8 c7168 a=e4m3:1x32 out=e4m3:1x32@swizzled",
      "convert.masked g8 m300 c2880 a=e4m3:1x32@swizzled out=e4m3:1x32 dir=col",
      "convert.padded g8 c2048 al16 a=e4m3:1x128 out=e4m3:1x128@k_major",
      "convert.masked g8 m300 c2048 a=e4m3:1x128@k_major out=e4m3:1x128",
      "convert.uniform g8 n576 k2880 a=e4m3:128x128 out=e4m3:128x128@block2d_t dir=col",
      "convert.packed g8 c2048 a=e4m3:1x128 out=e4m3:1x128 dir=col from=deepgemm splits=i64/starts",
      "convert.packed g1024 c2880 a=e4m3:1x128 out=e4m3:1x128 dir=col to=deepgemm",
      "convert.packed g8 c2048 a=e5m2:1x32 out=e5m2:1x32 dir=col from=te",
      "convert.uniform g8 n576 k2880 a=e4m3:1x32 out=e4m3:1x32@swizzled dir=col to=te",
  });
  return problems;
}

std::string splits_text(const Problem& problem) {
  static const char* const forms[] = {"sizes", "ends", "starts"};
  return std::string(problem.splits.is_i64 ? "i64/" : "i32/") + forms[static_cast<int>(problem.splits.form)];
}

const std::set<std::string>& all_splits() {
  static const std::set<std::string> all = {"i32/sizes", "i32/ends", "i32/starts",
                                            "i64/sizes", "i64/ends", "i64/starts"};
  return all;
}

std::vector<Spec> legal_specs(const Problem& problem, const DeviceFacts& device) {
  std::vector<Spec> specs;
  for (const Candidate& candidate : explain(problem, device).candidates) {
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
