// What the rules of problems accept, up to its limits, and what then has a kernel.
#include <string>

#include "octet/explain.h"
#include "tests/support/catch.h"

namespace {

using octet::Problem;

const std::string kPair = " a=e4m3:1x128 b=e4m3:128x128 d=bf16";
const std::string kTokens = " in=bf16 out=e4m3:1x128";
const std::string kBlocks = " in=bf16 out=e4m3:128x128";

void check_accepted(const std::string& text) {
  INFO(text);
  const Problem problem = Problem::parse(text);
  CHECK_FALSE(octet::explain(problem).refused);
  CHECK_NOTHROW(octet::select(problem));
  CHECK_FALSE(octet::variants(problem, 16384).empty());
}

}  // namespace

TEST_CASE("B13 B14: what is implemented is accepted up to its limits, and then has a kernel") {
  for (const std::string& text : {
           "gemm.packed g1 n8 k16" + kPair,
           "gemm.packed g1024 n8 k262144" + kPair,
           "gemm.packed g1024 n2097144 k16" + kPair,
           "gemm.packed g1 n2147483128 k64" + kPair,
           "gemm.packed g257 n160 k208" + kPair,
           "gemm.packed g32 n2880 k2880 splits=i64/starts" + kPair,
           "gemm.packed g8 n200 k160 splits=i32/ends" + kPair,
           "gemm.padded g8 n64 k64 al1" + kPair,
           "gemm.padded g8 n64 k64 al1048576 splits=i64/ends" + kPair,
           "quantize.packed g1024 c16777216" + kTokens,
           "quantize.packed g1 c16 splits=i64/starts" + kTokens,
           "quantize.padded g8 c2880 al128" + kTokens,
           "quantize.masked g1024 m2097151 c64 splits=i64" + kTokens,
           "quantize.uniform g1 n1 k16" + kBlocks,
           "quantize.uniform g384 n4096 k7168" + kBlocks,
           "quantize.uniform g8 n16 k64 dir=row,col" + kBlocks,
           "quantize.uniform g8 n24 k64" + kBlocks,
           "quantize.packed g8 c64 act=swiglu il=64" + kTokens,
           "quantize.packed g8 c80 act=swiglu il=16" + kTokens,
       }) {
    check_accepted(text);
  }
}

TEST_CASE("GEMMs take every pair of recipes in every layout of groups, in both operations") {
  for (const std::string groups : {"packed g8", "padded g8 al16", "masked g8 m48", "dense g1"}) {
    const std::string checked = groups.front() == 'd' ? "" : " +checked";
    for (const std::string types : {"a=e4m3:{} b=e4m3:{}", "a=e5m2:{} b=e4m3:{}", "a=e4m3:{} b=e5m2:{}"}) {
      for (const auto& [a, b] : {std::pair<std::string, std::string>{"tensor", "tensor"},
                                 {"row", "row"},
                                 {"1x128", "128x128"},
                                 {"1x128:pow2", "1x128"},
                                 {"1x32", "1x32@swizzled"},
                                 {"1x32@swizzled", "32x32"}}) {
        std::string pair = types;
        pair.replace(pair.find("{}"), 2, a);
        pair.replace(pair.find("{}"), 2, b);
        const std::string fast = a == "tensor" || a == "row" ? " +fastacc" : "";
        for (const std::string d : {" d=bf16", " d=fp16", " d=f32"}) {
          check_accepted("gemm." + groups + " n64 k64 " + pair + d + " +bias +acc" + fast + checked);
          check_accepted("gemm." + groups + " n64 k64 " + pair + d + " dir=col w=pointers");
          if (b != "32x32") check_accepted("wgrad." + groups + " n64 k64 " + pair + d + " w=pointers +acc" + checked);
        }
      }
    }
  }
}

TEST_CASE("every recipe is quantized, dequantized and rearranged in every direction and layout of groups") {
  for (const std::string layout : {"packed g8 c64", "padded g8 c64 al16", "masked g8 m48 c64", "uniform g8 n48 k64"}) {
    const bool uniform = layout.front() == 'u';
    for (const std::string recipe : {"tensor", "row", "1x128", "1x128:pow2", "128x128", "128x128:pow2", "1x32",
                                     "1x32@swizzled", "1x128@k_major", "32x32", "128x128@block2d_t"}) {
      if (!uniform && (recipe == "32x32" || recipe == "128x128@block2d_t")) continue;
      for (const std::string type : {"e4m3:", "e5m2:"}) {
        for (const std::string dir : {"", " dir=col", " dir=row,col"}) {
          if (dir == " dir=col" && recipe == "1x128@k_major") continue;
          check_accepted("quantize." + layout + " in=fp16 out=" + type + recipe + dir);
          check_accepted("quantize." + layout + " in=f32 act=swiglu out=" + type + recipe + dir +
                         " +grad +dbias +probs");
          if (dir != " dir=row,col") check_accepted("dequantize." + layout + " a=" + type + recipe + " d=fp16" + dir);
        }
      }
    }
    check_accepted("convert." + layout + " a=e4m3:1x32 out=e4m3:1x32@swizzled");
    check_accepted("convert." + layout + " a=e4m3:1x32@swizzled out=e4m3:1x32 dir=col");
    check_accepted("convert." + layout + " a=e4m3:1x128 out=e4m3:1x128@k_major");
    check_accepted("convert." + layout + " a=e5m2:1x32 out=e5m2:1x32@swizzled from=te dir=col");
  }
  check_accepted("convert.uniform g8 n48 k64 a=e4m3:128x128 out=e4m3:128x128@block2d_t");
  check_accepted("convert.packed g8 c64 a=e4m3:1x128 out=e4m3:1x128 from=deepgemm dir=col splits=i64/ends");
  check_accepted("convert.packed g8 c64 a=e4m3:1x128 out=e4m3:1x128 to=deepgemm dir=col");
  check_accepted("quantize.dense g1 c64 in=bf16 out=e4m3:1x128 dir=row,col");
  check_accepted("activation.dense g1 c64 d=bf16 in=bf16 act=silu");
  check_accepted("dequantize.dense g1 c64 a=e4m3:1x32 d=bf16 dir=col");
}

TEST_CASE("every activation is computed, forward and backward, with its options") {
  for (const std::string act : {"relu", "srelu", "gelu", "qgelu", "silu", "swiglu", "geglu", "qgeglu", "reglu",
                                "sreglu", "glu", "clamped_swiglu", "situ_glu"}) {
    for (const std::string flags : {"", " +bias +probs +noop", " +bias +probs +grad +dbias +noop"}) {
      check_accepted("quantize.packed g8 c64 in=bf16 out=e4m3:1x128 act=" + act + flags);
      check_accepted("activation.masked g8 m48 c64 in=f32 d=f32 act=" + act + flags);
    }
  }
  for (const std::string il : {"", " il=1", " il=8", " il=16", " il=32", " il=64"}) {
    check_accepted("activation.padded g8 c64 al16 in=fp16 d=fp16 act=swiglu gate=second splits=i64/ends" + il);
    check_accepted("quantize.uniform g8 n48 k64 in=bf16 out=e5m2:row dir=row,col act=geglu +grad" + il);
  }
  check_accepted("quantize.packed g8 c64 in=bf16 out=e4m3:1x128 +grad +dbias");
  check_accepted("quantize.packed g8 c64 in=bf16 out=e4m3:tensor +given +amax");
  check_accepted("quantize.packed g8 c64 in=bf16 out=e4m3:tensor +amax");
}
