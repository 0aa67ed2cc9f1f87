#include "tests/unit/render_specs.h"

#include <set>
#include <string>

#include "octet/explain.h"
#include "runtime/quantize_traits.h"
#include "runtime/render.h"

namespace octet::test {
namespace {

const char* const kProblems[] = {
    "gemm.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
    "gemm.packed g1 n576 k2880 a=e4m3:1x128 b=e4m3:128x128 d=bf16 splits=i64/ends",
    "gemm.packed g1024 n4096 k128 a=e4m3:1x128 b=e4m3:128x128 d=bf16 splits=i32/starts",
    "gemm.padded g8 n7168 k2048 al128 a=e4m3:1x128 b=e4m3:128x128 d=bf16 splits=i64",
    "gemm.padded g8 n7168 k2048 al128 a=e4m3:1x128 b=e4m3:128x128 d=bf16 splits=i32/ends",
    "quantize.packed g8 c2880 in=bf16 out=e4m3:1x128",
    "quantize.packed g8 c2048 in=bf16 out=e4m3:1x128 splits=i64/ends",
    "quantize.packed g8 c2048 in=bf16 out=e4m3:1x128 splits=i64/starts",
    "quantize.padded g8 c2048 al16 in=bf16 out=e4m3:1x128",
    "quantize.uniform g8 n7168 k2880 in=bf16 out=e4m3:128x128",
    "quantize.uniform g8 n7168 k2880 in=bf16 out=e4m3:128x128@block2d_t dir=row,col",
    "quantize.uniform g2 n256 k512 in=fp16 out=e5m2:32x32 dir=row,col",
    "quantize.packed g8 c2048 in=fp16 out=e5m2:1x32@swizzled dir=row,col",
    "quantize.packed g8 c2048 in=bf16 out=e4m3:tensor",
    "quantize.packed g8 c2048 in=bf16 out=e4m3:tensor +given +amax +noop",
    "quantize.packed g8 c2048 in=f32 out=e4m3:tensor +given",
    "quantize.packed g8 c2048 in=f32 act=relu out=e4m3:1x128@k_major",
    "quantize.packed g8 c2048 in=bf16 act=geglu out=e4m3:1x128 +grad",
    "quantize.packed g8 c2048 in=bf16 out=e4m3:1x128 dir=col +grad +dbias",
    "quantize.packed g8 c2048 in=bf16 act=clamped_swiglu gate=second il=1 out=e4m3:1x128:pow2 dir=row,col +bias +probs "
    "+grad +dbias +noop",
    "quantize.packed g8 c2048 in=bf16 act=silu out=e4m3:128x128:pow2 +bias",
    "quantize.padded g8 c2048 al16 in=bf16 out=e4m3:row dir=row,col +noop",
    "quantize.padded g8 c2048 al16 in=bf16 out=e4m3:1x32 dir=col splits=i64/ends",
    "quantize.masked g8 m300 c2048 in=bf16 out=e4m3:1x128",
    "quantize.masked g8 m300 c2048 in=f32 act=swiglu il=32 out=e4m3:1x32 dir=col +bias +probs splits=i64",
    "activation.packed g8 c2048 d=bf16 in=bf16 act=reglu +probs",
    "activation.masked g8 m300 c2048 d=fp16 in=fp16 act=situ_glu +grad +probs +noop",
    "activation.uniform g8 n64 k512 d=f32 in=f32 act=gelu",
    "dequantize.packed g8 c2048 a=e5m2:1x32 d=fp16 dir=col",
    "dequantize.uniform g8 n512 k2048 a=e4m3:128x128 d=f32",
    "dequantize.masked g8 m300 c2048 a=e4m3:row d=bf16",
    "convert.packed g8 c2048 a=e4m3:1x32 out=e4m3:1x32@swizzled",
    "convert.packed g8 c2048 a=e4m3:1x128 out=e4m3:1x128 dir=col from=deepgemm splits=i64/starts",
    "convert.padded g8 c2048 al16 a=e4m3:1x32 out=e4m3:1x32 dir=col to=te",
    "convert.masked g8 m300 c2048 a=e4m3:1x128@k_major out=e4m3:1x128",
};

// Of these the first legal config of each kind.
const char* const kGemmFamily[] = {
    "gemm.masked g8 m300 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128 d=bf16 splits=i64",
    "gemm.dense g1 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
    "gemm.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128@block2d_t d=f32 dir=col +bias +acc +checked",
    "gemm.packed g8 n7168 k2048 a=e5m2:1x128 b=e4m3:1x128 d=fp16 +acc splits=i64/starts",
    "gemm.padded g8 n7168 k2048 al64 a=e4m3:1x128 b=e5m2:1x128 d=bf16 dir=col +bias",
    "gemm.packed g8 n7168 k2048 a=e4m3:tensor b=e5m2:tensor d=bf16 +fastacc +checked",
    "gemm.packed g8 n7168 k2048 a=e4m3:row b=e4m3:row d=fp16 +bias +acc",
    "gemm.masked g8 m300 n7168 k2048 a=e5m2:row b=e5m2:row d=f32",
    "gemm.packed g8 n7168 k2048 a=e4m3:1x128@k_major b=e4m3:1x128@k_major d=bf16 w=pointers",
    "gemm.packed g8 n7168 k2048 a=e4m3:1x32 b=e4m3:32x32 d=bf16",
    "gemm.padded g8 n7168 k2048 al16 a=e4m3:1x32@swizzled b=e4m3:1x32@swizzled d=f32 splits=i32/ends +acc",
    "gemm.masked g8 m300 n7168 k2048 a=e4m3:1x32 b=e4m3:1x32 d=bf16 dir=col",
    "wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc",
    "wgrad.padded g8 n4096 k7168 al128 a=e4m3:1x128 b=e4m3:128x128 d=bf16 +checked",
    "wgrad.masked g8 m300 n4096 k7168 a=e5m2:tensor b=e4m3:tensor d=f32 splits=i64",
    "wgrad.dense g1 n4096 k7168 a=e4m3:row b=e5m2:row d=fp16 +acc +fastacc",
    "wgrad.packed g8 n4096 k7168 a=e4m3:1x32 b=e4m3:1x32 d=f32 splits=i32/ends",
    "wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc w=pointers",
    "wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32 w=pointers",
    "wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32 from=deepgemm w=pointers +acc",
    "gemm.masked g8 m300 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128 d=bf16 w=pointers",
    "gemm.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:1x128 d=bf16 w=pointers",
    "gemm.packed g1024 n7168 k2048 a=e4m3:row b=e4m3:row d=bf16 w=pointers",
};

// "whole", "chunks", "swapped", "split", "mx", "direct" or "portable".
std::string kind_of(const Config& config) {
  const auto* gemm = std::get_if<GemmConfig>(&config);
  const auto* mx = std::get_if<MxConfig>(&config);
  if (mx != nullptr) return mx->direct > 0 ? "direct" : "mx";
  if (gemm == nullptr) return "portable";
  return gemm->split_k > 1 ? "split" : gemm->swapped ? "swapped" : gemm->whole_tile_store ? "whole" : "chunks";
}

void add_kinds(const Problem& problem, std::vector<Spec>& specs) {
  std::set<std::string> kinds;
  for (const Candidate& candidate : explain(problem).candidates) {
    if (!candidate.refused && kinds.insert(kind_of(candidate.spec.config)).second) specs.push_back(candidate.spec);
  }
}

}  // namespace

const std::vector<Spec>& specs() {
  static const std::vector<Spec> all = [] {
    std::vector<Spec> legal;
    for (const char* text : kGemmFamily) add_kinds(Problem::parse(text), legal);
    for (const char* text : kProblems) {
      for (const octet::Candidate& candidate : octet::explain(Problem::parse(text)).candidates) {
        const bool portable = std::holds_alternative<PortableConfig>(candidate.spec.config);  // render_portable.cc
        if (!candidate.refused && !portable) legal.push_back(candidate.spec);
      }
    }
    return legal;
  }();
  return all;
}

std::string source_of(const Spec& spec) { return octet::render(spec, octet::embedded_templates()); }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

bool has_tiles(const Spec& spec) {
  const Operation op = spec.problem.op;
  if (op == Operation::dequantize || op == Operation::convert) return true;
  if (op == Operation::gemm || op == Operation::wgrad) return false;
  const QuantizeTraits traits(spec.problem);
  return traits.by_tiles || traits.amax_pass || traits.current;
}

}  // namespace octet::test
