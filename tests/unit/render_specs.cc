#include "tests/unit/render_specs.h"

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

}  // namespace

const std::vector<Spec>& specs() {
  static const std::vector<Spec> all = [] {
    std::vector<Spec> legal;
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
  if (op == Operation::gemm) return false;
  const QuantizeTraits traits(spec.problem);
  return traits.by_tiles || traits.amax_pass || traits.current;
}

}  // namespace octet::test
