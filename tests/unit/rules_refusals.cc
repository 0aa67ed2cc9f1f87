// Each rule of problems refuses what it is there for, by name, with what to do next. What passes: rules_accepted.cc.
#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "octet/explain.h"
#include "runtime/rules.h"
#include "tests/support/catch.h"

namespace {

using octet::ErrorCode;
using octet::Problem;

struct Case {
  std::string problem, rule;
  ErrorCode code;
  std::string message;
};

constexpr ErrorCode illegal = ErrorCode::invalid_problem, unsupported = ErrorCode::no_kernel;
const std::string kPair = " a=e4m3:1x128 b=e4m3:128x128 d=bf16";
const std::string kColumns = " a=e4m3:1x128 b=e4m3:1x128 d=f32";
const std::string kTokens = " in=bf16 out=e4m3:1x128";
const std::string kBlocks = " in=bf16 out=e4m3:128x128";

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"gemm.uniform g2 n4096 k7168" + kPair, "layout.implemented", unsupported,
       "gemm.uniform: no kernel for this layout yet (rule layout.implemented); use packed or padded or masked or "
       "dense"},
      {"wgrad.uniform g2 n4096 k7168" + kColumns, "layout.implemented", unsupported,
       "use packed or padded or masked or dense"},
      {"convert.dense c64", "layout.implemented", unsupported, "use packed or padded or masked or uniform"},
      {"gemm.packed g8 n64 k64 act=relu" + kPair, "activation.implemented", unsupported, "act=relu"},
      {"gemm.packed g8 n64 k64 out=e4m3:1x128" + kPair, "epilogue.implemented", unsupported, "out=e4m3:1x128"},
      {"wgrad.packed g8 n64 k64 act=relu" + kColumns, "activation.implemented", unsupported, "act=relu"},
      {"wgrad.packed g8 n64 k64 out=e4m3:1x128" + kColumns, "epilogue.implemented", unsupported, "wgrad.packed"},

      {"gemm.packed n64 k64" + kPair, "problem.missing-item", illegal, "add g<number>"},
      {"gemm.packed g8 k64" + kPair, "problem.missing-item", illegal, "add n<number>"},
      {"gemm.packed g8 n64" + kPair, "problem.missing-item", illegal, "add k<number>"},
      {"gemm.packed g8 n64 k64 b=e4m3:128x128 d=bf16", "problem.missing-item", illegal, "add a=<type>:<recipe>"},
      {"gemm.packed g8 n64 k64 a=e4m3:1x128 d=bf16", "problem.missing-item", illegal, "add b=<type>:<recipe>"},
      {"gemm.packed g8 n64 k64 a=e4m3:1x128 b=e4m3:128x128", "problem.missing-item", illegal, "add d=<type>"},
      {"gemm.packed g8 n64", "problem.missing-item", illegal,
       "add k<number> and a=<type>:<recipe> and b=<type>:<recipe> and d=<type>"},
      {"gemm.padded g8 n64 k64" + kPair, "problem.missing-item", illegal, "add al<number>"},
      {"gemm.masked g8 n64 k64" + kPair, "problem.missing-item", illegal, "add m<number>"},
      {"gemm.dense n64 k64" + kPair, "problem.missing-item", illegal, "add g<number>"},
      {"wgrad.packed g8 n64 a=e4m3:1x128 b=e4m3:1x128", "problem.missing-item", illegal, "add k<number> and d=<type>"},
      {"quantize.packed g8" + kTokens, "problem.missing-item", illegal, "add c<number>"},
      {"quantize.dense c64" + kTokens, "problem.missing-item", illegal, "add g<number>"},
      {"quantize.dense g1 c64 splits=i64" + kTokens, "problem.unused-item", illegal, "does not take splits="},
      {"quantize.packed g8 c64 out=e4m3:1x128", "problem.missing-item", illegal, "add in=<type>"},
      {"quantize.packed g8 c64 in=bf16", "problem.missing-item", illegal, "add out=<type>:<recipe>"},
      {"quantize.padded g8 c64" + kTokens, "problem.missing-item", illegal, "add al<number>"},
      {"quantize.uniform g8 k64" + kBlocks, "problem.missing-item", illegal, "add n<number>"},
      {"quantize.masked g8 c64" + kTokens, "problem.missing-item", illegal, "add m<number>"},
      {"activation.packed g8 c64 in=bf16 d=bf16", "problem.missing-item", illegal, "add act=<name>"},
      {"activation.packed g8 c64 in=bf16 act=silu", "problem.missing-item", illegal, "add d=<type>"},
      {"dequantize.packed g8 c64 d=bf16", "problem.missing-item", illegal, "add a=<type>:<recipe>"},
      {"dequantize.packed g8 c64 a=e4m3:1x128", "problem.missing-item", illegal, "add d=<type>"},
      {"convert.packed g8 c64 a=e4m3:1x32", "problem.missing-item", illegal, "add out=<type>:<recipe>"},
      {"gemm.packed g8 n64 k64 c64" + kPair, "problem.unused-item", illegal, "does not take c<number>"},
      {"gemm.packed g8 n64 k64 m64" + kPair, "problem.unused-item", illegal, "does not take m<number>"},
      {"gemm.packed g8 n64 k64 al64" + kPair, "problem.unused-item", illegal, "does not take al<number>"},
      {"gemm.packed g8 n64 k64 in=bf16" + kPair, "problem.unused-item", illegal, "does not take in=<type>"},
      {"gemm.packed g8 n64 k64 gate=second" + kPair, "problem.unused-item", illegal, "does not take gate="},
      {"gemm.packed g8 n64 k64 il=8" + kPair, "problem.unused-item", illegal, "does not take il="},
      {"gemm.packed g8 n64 k64 +probs" + kPair, "problem.unused-item", illegal, "does not take +probs"},
      {"gemm.dense g1 n64 k64 splits=i64" + kPair, "problem.unused-item", illegal, "does not take splits="},
      {"gemm.dense g1 n64 k64 +checked" + kPair, "problem.unused-item", illegal, "does not take +checked"},
      {"gemm.masked g8 n64 k64" + kPair, "problem.missing-item", illegal, "add m<number>"},
      {"gemm.dense n64 k64" + kPair, "problem.missing-item", illegal, "add g<number>"},
      {"wgrad.packed g8 n64 k64 dir=col" + kColumns, "problem.unused-item", illegal, "does not take dir="},
      {"wgrad.packed g8 n64 k64 +bias" + kColumns, "problem.unused-item", illegal, "does not take +bias"},
      {"wgrad.packed g8 n64 k64 m64" + kColumns, "problem.unused-item", illegal, "does not take m<number>"},
      {"wgrad.masked g8 n64 k64" + kColumns, "problem.missing-item", illegal, "add m<number>"},
      {"wgrad.padded g8 n64 k64" + kColumns, "problem.missing-item", illegal, "add al<number>"},
      {"wgrad.dense g1 n64 k64 splits=i64" + kColumns, "problem.unused-item", illegal, "does not take splits="},
      {"quantize.packed g8 n64 c64" + kTokens, "problem.unused-item", illegal, "does not take n<number>"},
      {"quantize.packed g8 c64 a=e4m3:1x128" + kTokens, "problem.unused-item", illegal, "does not take a="},
      {"quantize.packed g8 c64 w=pointers" + kTokens, "problem.unused-item", illegal, "does not take w="},
      {"quantize.packed g8 c64 to=te" + kTokens, "problem.unused-item", illegal, "does not take to="},
      {"quantize.packed g8 c64 +acc" + kTokens, "problem.unused-item", illegal, "does not take +acc"},
      {"quantize.packed g8 c64 d=bf16" + kTokens, "problem.unused-item", illegal, "does not take d="},
      {"activation.packed g8 c64 in=bf16 act=silu d=bf16 out=e4m3:1x128", "problem.unused-item", illegal,
       "does not take out="},
      {"activation.packed g8 c64 in=bf16 act=silu d=bf16 +amax", "problem.unused-item", illegal, "does not take +amax"},
      {"activation.packed g8 c64 in=bf16 act=silu d=bf16 dir=col", "problem.unused-item", illegal,
       "does not take dir="},
      {"dequantize.packed g8 c64 a=e4m3:1x128 d=bf16 +noop", "problem.unused-item", illegal, "does not take +noop"},
      {"dequantize.packed g8 c64 a=e4m3:1x128 d=bf16 from=te", "problem.unused-item", illegal, "does not take from="},
      {"dequantize.uniform g8 n64 k64 a=e4m3:1x128 d=bf16 splits=i64", "problem.unused-item", illegal,
       "does not take splits="},
      {"convert.packed g8 c64 a=e4m3:1x32 out=e4m3:1x32@swizzled in=bf16", "problem.unused-item", illegal,
       "does not take in="},

      {"gemm.packed g8 n64 k64 a=e4m3:tensor b=e4m3:row d=bf16", "recipe.pair", unsupported, "b=e4m3:row"},
      {"gemm.packed g8 n64 k64 a=e4m3:128x128 b=e4m3:1x128 d=bf16", "recipe.pair", unsupported, "a=e4m3:128x128"},
      {"gemm.packed g8 n64 k64 a=e4m3:128x128 b=e4m3:128x128 d=bf16", "recipe.pair", unsupported,
       "use e4m3 or e5m2 of tensor and tensor, row and row, 1x128 and 128x128, 1x128 and 1x128, 1x32 and 1x32, 1x32 "
       "and 32x32"},
      {"gemm.packed g8 n64 k64 a=bf16:1x128 b=e4m3:128x128 d=bf16", "recipe.pair", unsupported, "a=bf16:1x128"},
      {"gemm.packed g8 n64 k64 a=e4m3:1x32 b=e4m3:1x128 d=bf16", "recipe.pair", unsupported, "a=e4m3:1x32"},
      {"wgrad.packed g8 n64 k64 a=e4m3:1x32 b=e4m3:32x32 d=bf16", "recipe.pair", unsupported, "1x128 and 1x128, 1x32"},
      {"gemm.packed g8 n64 k64 a=e4m3:1x32:pow2 b=e4m3:32x32 d=bf16", "recipe.power-of-two", illegal, "leave :pow2"},
      {"gemm.packed g8 n64 k64 a=e4m3:tensor b=e4m3:tensor:pow2 d=bf16", "recipe.power-of-two", illegal,
       "b=e4m3:tensor:pow2"},
      {"gemm.packed g8 n64 k64 a=e4m3:1x128@block2d b=e4m3:128x128 d=bf16", "scale-layout.of-operand", illegal,
       "@block2d of 1x128 as a of gemm.packed: no such scales (rule scale-layout.of-operand); use @mn_major or "
       "@k_major"},
      {"gemm.packed g8 n64 k64 a=e4m3:1x128 b=e4m3:128x128@mn_major d=bf16", "scale-layout.of-operand", illegal,
       "use @block2d or @block2d_t"},
      {"gemm.packed g8 n64 k64 dir=col a=e4m3:1x128 b=e4m3:1x128@k_major d=bf16", "scale-layout.of-operand", illegal,
       "use @mn_major"},
      {"wgrad.packed g8 n64 k64 a=e4m3:1x128@k_major b=e4m3:1x128 d=bf16", "scale-layout.of-operand", illegal,
       "@k_major of 1x128 as a of wgrad.packed"},
      {"wgrad.packed g8 n64 k64 a=e4m3:1x128 b=e4m3:128x128@block2d_t d=bf16", "scale-layout.of-operand", illegal,
       "use @block2d"},
      {"gemm.packed g8 n64 k64 a=e4m3:1x128 b=e4m3:128x128 d=e4m3", "type.of-output", illegal,
       "use d=bf16, fp16 or f32"},
      {"gemm.packed g8 n64 k64 +fastacc" + kPair, "flag.fastacc-of-whole-scales", illegal,
       "+fastacc with a=e4m3:1x128 (rule flag.fastacc-of-whole-scales); use recipes tensor or row, or leave it out"},
      {"wgrad.packed g8 n64 k64 +fastacc a=e4m3:1x32 b=e4m3:1x32 d=f32", "flag.fastacc-of-whole-scales", illegal,
       "+fastacc with a=e4m3:1x32"},
      {"gemm.packed g8 n64 k64 dir=row,col" + kPair, "gemm.one-direction", illegal, "use dir=row, the default, or"},
      {"wgrad.packed g8 n64 k64 from=te" + kColumns, "wgrad.deepgemm-packing", illegal, "from=te with wgrad.packed"},
      {"wgrad.masked g8 m64 n64 k64 from=deepgemm" + kColumns, "wgrad.deepgemm-packing", illegal,
       "use from=deepgemm with packed groups and 1x128 scales, or convert the operands"},
      {"wgrad.packed g8 n64 k64 from=deepgemm a=e4m3:row b=e4m3:row d=f32", "wgrad.deepgemm-packing", illegal,
       "a=e4m3:row b=e4m3:row"},
      {"wgrad.packed g8 n64 k64 from=deepgemm a=e4m3:1x128 b=e4m3:128x128 d=f32", "wgrad.deepgemm-packing", illegal,
       "a=e4m3:1x128 b=e4m3:128x128"},
      {"wgrad.padded g8 n64 k64 al128 from=deepgemm" + kColumns, "wgrad.deepgemm-packing", illegal,
       "from=deepgemm with wgrad.padded"},
      {"gemm.dense g2 n64 k64" + kPair, "dense.one-group", illegal, "G=2 of gemm.dense"},
      {"quantize.dense g2 c64" + kTokens, "dense.one-group", illegal, "G=2 of quantize.dense"},
      {"dequantize.dense g2 c64 a=e4m3:1x128 d=bf16", "dense.one-group", illegal, "G=2 of dequantize.dense"},
      {"wgrad.dense g8 n64 k64" + kColumns, "dense.one-group", illegal, "use g1, or packed groups"},
      {"quantize.packed g8 c64 in=e4m3 out=e4m3:1x128", "type.of-input", illegal, "use in=bf16, fp16 or f32"},
      {"activation.packed g8 c64 act=silu in=e5m2 d=e5m2", "type.of-input", illegal, "in=e5m2: not a type to quantize"},
      {"activation.packed g8 c64 act=silu in=bf16 d=f32", "type.of-unquantized", illegal, "use d=bf16"},
      {"dequantize.packed g8 c64 a=e4m3:1x128 d=e4m3", "type.of-unquantized", illegal, "use d=bf16, fp16 or f32"},
      {"quantize.packed g8 c64 in=bf16 out=bf16:1x128", "recipe.fp8", illegal, "bf16:1x128: not an FP8 type"},
      {"dequantize.packed g8 c64 a=f32:row d=bf16", "recipe.fp8", illegal, "use e4m3 or e5m2"},
      {"quantize.packed g8 c64 in=bf16 out=e4m3:tensor:pow2", "recipe.power-of-two-of-blocks", illegal,
       ":pow2 with e4m3:tensor:pow2"},
      {"quantize.packed g8 c64 in=bf16 out=e4m3:row:pow2", "recipe.power-of-two-of-blocks", illegal, "leave :pow2 out"},
      {"dequantize.packed g8 c64 a=e4m3:1x32:pow2 d=bf16", "recipe.power-of-two-of-blocks", illegal, "leave :pow2 out"},
      {"quantize.packed g8 c64 in=bf16 out=e4m3:32x32", "recipe.32x32-of-weights", illegal, "use 1x32"},
      {"convert.masked g8 m64 c64 a=e4m3:32x32 out=e4m3:32x32", "recipe.32x32-of-weights", illegal,
       "32x32 with convert.masked"},
      {"quantize.packed g8 c64 in=bf16 out=e4m3:1x128@block2d", "recipe.scale-layout", illegal,
       "use @mn_major or @k_major"},
      {"quantize.packed g8 c64 in=bf16 out=e4m3:128x128@block2d_t", "recipe.scale-layout", illegal, "use @block2d"},
      {"quantize.packed g8 c64 in=bf16 out=e4m3:1x32@mn_major", "recipe.scale-layout", illegal,
       "use @mx_compact or @swizzled"},
      {"quantize.packed g8 c64 in=bf16 out=e4m3:tensor@per_row", "recipe.scale-layout", illegal, "use @per_group"},
      {"quantize.packed g8 c64 in=bf16 out=e4m3:row@mn_major", "recipe.scale-layout", illegal, "use @per_row"},
      {"quantize.uniform g8 n64 k64 in=bf16 out=e4m3:32x32@swizzled", "recipe.scale-layout", illegal, "use @mx_32x32"},
      {"quantize.uniform g8 n64 k64 in=bf16 out=e4m3:128x128@k_major", "recipe.scale-layout", illegal,
       "use @block2d or @block2d_t"},
      {"dequantize.packed g8 c64 a=e4m3:1x128@col_mn_major d=bf16 dir=col", "recipe.scale-layout", illegal,
       "@col_mn_major of 1x128 in dequantize.packed"},
      {"convert.packed g8 c64 a=e4m3:1x32 out=e4m3:1x32@k_major", "recipe.scale-layout", illegal, "@k_major of 1x32"},
      {"quantize.packed g8 c64 in=bf16 out=e4m3:1x128@k_major dir=col", "recipe.k-major-of-rows", illegal,
       "@k_major with dir=col"},

      {"quantize.packed g8 c64 +given" + kTokens, "quantize.given-of-tensor", illegal, "+given with out=e4m3:1x128"},
      {"quantize.packed g8 c64 in=bf16 out=e4m3:row +amax", "quantize.amax-of-tensor", unsupported,
       "use out=e4m3:tensor"},
      {"quantize.packed g8 c64 gate=second" + kTokens, "activation.gate-of-gated", illegal,
       "gate=second with act=none"},
      {"quantize.packed g8 c64 act=relu il=8" + kTokens, "activation.gate-of-gated", illegal, "il= with act=relu"},
      {"quantize.packed g8 c64 act=swiglu il=4" + kTokens, "activation.interleave", illegal, "use 1, 8, 16, 32 or 64"},
      {"activation.packed g8 c256 act=glu il=128 in=bf16 d=bf16", "activation.interleave", illegal, "il=128"},
      {"quantize.packed g8 c64 +bias" + kTokens, "activation.flags-of-activation", illegal, "+bias without"},
      {"quantize.packed g8 c64 +probs" + kTokens, "activation.flags-of-activation", illegal, "add act=<name>"},
      {"quantize.packed g8 c64 act=relu +dbias" + kTokens, "activation.dbias-of-gradient", illegal, "add +grad"},
      {"quantize.packed g8 c64 +grad" + kTokens, "activation.grad-of-something", illegal, "+grad without"},
      {"dequantize.packed g8 c64 a=e4m3:1x128 d=bf16 dir=row,col", "convert.one-direction", illegal,
       "make one call for each direction"},
      {"convert.packed g8 c64 a=e4m3:1x32 out=e4m3:1x32@swizzled dir=row,col", "convert.one-direction", illegal,
       "dir=row,col"},
      {"convert.packed g8 c64 a=e4m3:1x128 out=e4m3:1x32", "convert.same-scheme", illegal, "dequantize and quantize"},
      {"convert.packed g8 c64 a=e4m3:1x32 out=e5m2:1x32@swizzled", "convert.same-scheme", illegal, "a=e4m3:1x32"},
      {"convert.packed g8 c64 a=e4m3:1x128 out=e4m3:1x128:pow2@k_major", "convert.same-scheme", illegal, "pow2"},
      {"convert.packed g8 c64 a=e4m3:1x32 out=e4m3:1x32", "convert.something", illegal, "alike"},
      {"convert.packed g8 c64 a=e4m3:1x32 out=e4m3:1x32 from=te to=te dir=col", "convert.something", illegal,
       "name the scale layout or the packing"},
      {"convert.packed g8 c64 a=e4m3:1x32 out=e4m3:1x32 from=te", "convert.packing-of-columns", illegal, "add dir=col"},
      {"convert.packed g8 c64 a=e4m3:1x128 out=e4m3:1x128 to=te dir=col", "convert.packing-of-recipe", illegal,
       "te with 1x32"},
      {"convert.packed g8 c64 a=e4m3:1x32 out=e4m3:1x32 from=deepgemm dir=col", "convert.packing-of-recipe", illegal,
       "deepgemm with 1x128"},
      {"convert.packed g8 c64 a=e4m3:tensor out=e4m3:tensor from=te dir=col", "convert.packing-of-recipe", illegal,
       "a=e4m3:tensor"},
      {"convert.padded g8 c64 al64 a=e4m3:1x128 out=e4m3:1x128 from=deepgemm dir=col", "convert.deepgemm-of-packed",
       illegal, "deepgemm with convert.padded"},
      {"convert.uniform g8 n64 k64 a=e4m3:1x128 out=e4m3:1x128 to=deepgemm dir=col", "convert.deepgemm-of-packed",
       illegal, "use packed groups"},
      {"quantize.masked g8 m64 c64 splits=i32/ends" + kTokens, "splits.counts-of-masked", illegal,
       "pass counts (splits=i32)"},
      {"dequantize.masked g8 m64 c64 a=e4m3:1x128 d=bf16 splits=i64/starts", "splits.counts-of-masked", illegal,
       "pass counts (splits=i64)"},
      {"gemm.padded g8 n64 k64 al64 splits=i64/starts" + kPair, "splits.starts-of-padded", illegal, "splits=i64/ends"},
      {"quantize.padded g8 c64 al64 splits=i32/starts" + kTokens, "splits.starts-of-padded", illegal,
       "splits=i32/ends"},

      {"gemm.packed g1025 n64 k64" + kPair, "groups.at-most-1024", illegal, "G=1025: more than 1024"},
      {"quantize.uniform g2000 n64 k64" + kBlocks, "groups.at-most-1024", illegal, "G=2000"},
      {"gemm.padded g8 n64 k64 al1048577" + kPair, "padded.alignment-at-most-1048576", illegal, "al=1048577"},
      {"gemm.packed g8 n7164 k64" + kPair, "gemm.n-multiple-of-8", illegal, "pad N to 7168"},
      {"gemm.packed g8 n7168 k7100" + kPair, "gemm.k-multiple-of-16", illegal,
       "K=7100: not a multiple of 16 (rule gemm.k-multiple-of-16); pad K to 7104"},
      {"gemm.packed g8 n64 k8" + kPair, "gemm.k-multiple-of-16", illegal, "pad K to 16"},
      {"gemm.packed g8 n64 k262160" + kPair, "gemm.k-at-most-262144", illegal, "K=262160"},
      {"gemm.packed g8 n72 k64 dir=col" + kPair, "gemm.dir-col-n-multiple-of-16", illegal, "pad N to 80"},
      {"wgrad.packed g8 n72 k64" + kColumns, "wgrad.n-multiple-of-16", illegal, "pad N to 80"},
      {"wgrad.packed g8 n64 k72" + kColumns, "gemm.k-multiple-of-16", illegal, "pad K to 80"},
      {"gemm.masked g8 m64 n64 k64 splits=i32/ends" + kPair, "splits.counts-of-masked", illegal, "splits=i32)"},
      {"wgrad.padded g8 n64 k64 al64 splits=i32/starts" + kColumns, "splits.starts-of-padded", illegal, "i32/ends"},
      {"gemm.masked g1024 m2097152 n64 k64" + kPair, "masked.rows-fit-32-bit", illegal, "G=1024 m=2097152"},
      {"quantize.packed g8 c2056" + kTokens, "quantize.columns-multiple-of-16", illegal, "pad C to 2064"},
      {"quantize.uniform g8 n64 k2056" + kBlocks, "quantize.columns-multiple-of-16", illegal, "pad K to 2064"},
      {"dequantize.packed g8 c24 a=e4m3:1x128 d=bf16", "quantize.columns-multiple-of-16", illegal, "pad C to 32"},
      {"quantize.packed g8 c16777232" + kTokens, "quantize.columns-at-most-16777216", illegal, "C=16777232"},
      {"convert.packed g8 c16777232 a=e4m3:1x32 out=e4m3:1x32@swizzled", "quantize.columns-at-most-16777216", illegal,
       "split the columns"},
      {"quantize.packed g8 c80 act=swiglu il=32" + kTokens, "quantize.columns-multiple-of-interleave", illegal,
       "pad C to 96"},
      {"activation.uniform g8 n64 k80 act=swiglu il=64 in=bf16 d=bf16", "quantize.columns-multiple-of-interleave",
       illegal, "pad K to 128"},
      {"quantize.uniform g8 n24 k64 dir=col" + kBlocks, "quantize.weight-rows-multiple-of-16", illegal, "pad N to 32"},
      {"dequantize.uniform g8 n24 k64 a=e4m3:tensor d=bf16 dir=col", "quantize.weight-rows-multiple-of-16", illegal,
       "N=24"},
      {"quantize.masked g1024 m2097152 c64" + kTokens, "masked.rows-fit-32-bit", illegal, "G=1024 m=2097152"},
      {"gemm.packed g1024 n2097152 k64" + kPair, "weights.rows-fit-32-bit", illegal, "G=1024 N=2097152"},
      {"wgrad.masked g1023 m2099201 n16 k16 a=e4m3:tensor b=e4m3:tensor d=bf16", "wgrad.rows-fit-32-bit", illegal,
       "G=1023 m=2099201"},
      {"quantize.uniform g1024 n2000000 k16777216" + kBlocks, "weights.scales-fit-32-bit", illegal, "scales"},
  };
  return all;
}

}  // namespace

TEST_CASE("every refusal names its rule, says what was got and what to do") {
  for (const Case& c : cases()) {
    INFO(c.problem);
    const octet::Explanation explanation = octet::explain(Problem::parse(c.problem));
    REQUIRE(explanation.refused.has_value());
    CHECK(explanation.refused->rule == c.rule);
    CHECK(explanation.refused->code == c.code);
    CHECK(explanation.refused->message.find("(rule " + c.rule + "); ") != std::string::npos);
    INFO(explanation.refused->message);
    CHECK(explanation.refused->message.find(c.message) != std::string::npos);
    CHECK(explanation.candidates.empty());
    CHECK(explanation.breakpoints.empty());
    CHECK(explanation.chosen == -1);
  }
}

TEST_CASE("select and variants refuse with the rule's message and the command that explains it") {
  for (const Case& c : cases()) {
    INFO(c.problem);
    const Problem problem = Problem::parse(c.problem);
    const std::string expected =
        octet::explain(problem).refused->message + ", or run: octet explain '" + problem.to_string() + "'";
    try {
      octet::select(problem);
      FAIL("accepted");
    } catch (const octet::Error& error) {
      CHECK(error.code() == c.code);
      CHECK(error.what() == expected);
    }
    CHECK_THROWS_WITH(octet::variants(problem, 128), expected);
  }
}

TEST_CASE("an arch without kernels for an operation is refused by rule") {
  octet::DeviceFacts device;
  device.arch = "sm_100a";
  const Problem problem = Problem::parse("quantize.packed g8 c64" + kTokens);
  const auto refused = octet::explain(problem, device).refused;
  REQUIRE(refused);
  CHECK(refused->rule == "arch.implemented");
  CHECK(refused->code == ErrorCode::no_kernel);
  CHECK(refused->message.find("sm_100a") != std::string::npos);
  CHECK(octet::refuse(octet::Spec{problem, octet::QuantizeConfig{}, "sm_100a"}, {})->rule == "arch.implemented");
  CHECK_FALSE(octet::explain(Problem::parse("gemm.packed g8 n64 k64" + kPair), device).refused);
}

TEST_CASE("a GEMM has portable kernels for other archs, and no others") {
  const Problem problem = Problem::parse("gemm.packed g8 n64 k64" + kPair);
  const Problem mx = Problem::parse("gemm.packed g8 n64 k64 a=e4m3:1x32 b=e4m3:1x32 d=bf16");
  for (const char* arch : {"sm_89", "sm_90", "sm_100a", "sm_120a"}) {
    INFO(arch);
    const octet::DeviceFacts device = octet::DeviceFacts::for_arch(arch);
    CHECK(std::holds_alternative<octet::PortableConfig>(octet::select(problem, device).config));
    CHECK(octet::refuse(octet::Spec{problem, octet::GemmConfig{}, arch}, {})->rule == "gemm.wgmma-arch");
    CHECK(octet::refuse(octet::Spec{mx, octet::MxConfig{}, arch}, {})->rule == "mx.wgmma-arch");
  }
}

TEST_CASE("sizes of a problem that was filled by hand are checked too") {
  octet::GemmProblem gemm;
  gemm.groups = 8;
  gemm.n = 64;
  gemm.k = 64;
  CHECK_FALSE(octet::explain(gemm.to_problem()).refused);
  for (std::int64_t octet::GemmProblem::*size :
       {&octet::GemmProblem::groups, &octet::GemmProblem::n, &octet::GemmProblem::k}) {
    octet::GemmProblem bad = gemm;
    bad.*size = 0;
    CHECK(octet::explain(bad.to_problem()).refused->rule == "problem.missing-item");
    bad.*size = -16;
    CHECK(octet::explain(bad.to_problem()).refused->rule == "problem.size-positive");
    bad.*size = std::int64_t{1} << 62;
    CHECK(octet::explain(bad.to_problem()).refused.has_value());
  }
  gemm.layout = octet::Layout::padded;
  gemm.alignment = -1;
  CHECK(octet::explain(gemm.to_problem()).refused->rule == "problem.size-positive");

  octet::QuantizeProblem tokens;
  tokens.groups = 8;
  tokens.columns = 64;
  tokens.rows_per_group = 5;
  CHECK(octet::explain(tokens.to_problem()).refused->rule == "problem.unused-item");
}

TEST_CASE("no rule of problems is without a case above") {
  std::set<std::string> covered = {"arch.implemented", "problem.size-positive"};
  for (const Case& c : cases()) covered.insert(c.rule);
  std::set<std::string> listed;
  for (const octet::RuleDescription& rule : octet::rule_descriptions()) {
    CHECK_FALSE(rule.why.empty());
    if (rule.scope == "problem") listed.insert(rule.id);
  }
  CHECK(listed == covered);
}

TEST_CASE("rule ids are unique words") {
  std::set<std::string> ids;
  for (const octet::RuleDescription& rule : octet::rule_descriptions()) {
    INFO(rule.id);
    CHECK(ids.insert(rule.id).second);
    CHECK(rule.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") == std::string::npos);
    CHECK((rule.scope == "problem" || rule.scope == "config" || rule.scope == "plan"));
  }
}

TEST_CASE("B22: a row stride that the copy engine cannot take is refused by name") {
  // Rows have no gaps, so the stride of A and B is K bytes and that of D is 2 N bytes.
  const Problem wide = Problem::parse("gemm.packed g8 n7168 k2064" + kPair);
  CHECK_FALSE(octet::refuse(wide, {}));
  CHECK(octet::refuse(Problem::parse("gemm.packed g8 n7168 k2056" + kPair), {})->rule == "gemm.k-multiple-of-16");
  CHECK(octet::refuse(Problem::parse("gemm.packed g8 n7164 k2048" + kPair), {})->rule == "gemm.n-multiple-of-8");
}
