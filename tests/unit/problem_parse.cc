// The grammar of a problem's text: what it accepts, how it prints, what it refuses and what it then says.
#include "octet/problem.h"

#include <string>

#include "octet/error.h"
#include "tests/support/catch.h"

namespace {

using octet::Error;
using octet::ErrorCode;
using octet::Problem;

std::string refusal(const std::string& text) {
  try {
    Problem::parse(text);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_problem);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.what();
  }
  FAIL("accepted: " << text);
  return {};
}

void check_says(const std::string& text, const std::string& part) {
  const std::string message = refusal(text);
  INFO(message);
  CHECK(message.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("the design's four example lines print as they are written") {
  for (const std::string line : {
           "gemm.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
           "gemm.masked g32 m4096 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
           "wgrad.packed g16 n4096 k7168 a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc",
           "quantize.packed g8 c2048 in=bf16 act=swiglu out=e4m3:1x128 dir=row,col +probs",
       }) {
    CHECK(Problem::parse(line).to_string() == line);
  }
}

TEST_CASE("parsing fills the fields") {
  const Problem p = Problem::parse(
      "gemm.padded g8 n7168 k2048 al64 a=e5m2:row b=e4m3:128x128:pow2@block2d_t d=f32 splits=i64/ends w=pointers +acc");
  CHECK(p.op == octet::Operation::gemm);
  CHECK(p.layout == octet::Layout::padded);
  CHECK(p.g == 8);
  CHECK(p.n == 7168);
  CHECK(p.k == 2048);
  CHECK(p.al == 64);
  CHECK(p.c == 0);
  CHECK(p.m == 0);
  CHECK(p.a == octet::Recipe{octet::DType::e5m2, octet::Granularity::row, false, octet::ScaleLayout::per_row});
  CHECK(p.b ==
        octet::Recipe{octet::DType::e4m3, octet::Granularity::block_128x128, true, octet::ScaleLayout::block2d_t});
  CHECK_FALSE(p.out.has_value());
  CHECK(p.d == octet::DType::f32);
  CHECK(p.splits == octet::Splits{true, octet::SplitsForm::ends});
  CHECK(p.weights_by_pointer);
  CHECK(p.has(octet::Flag::acc));
  CHECK_FALSE(p.has(octet::Flag::bias));

  const Problem q = Problem::parse("activation.dense c64 in=fp16 act=clamped_swiglu gate=second il=1 dir=col +grad");
  CHECK(q.act == octet::Activation::clamped_swiglu);
  CHECK(q.gate_second);
  CHECK(q.il == 1);
  CHECK(q.dir == octet::Direction::col);
  CHECK(q.in == octet::DType::fp16);

  const Problem r =
      Problem::parse("convert.packed g8 c64 a=e4m3:1x32 out=e4m3:1x32@swizzled dir=col from=te to=deepgemm");
  CHECK(r.op == octet::Operation::convert);
  CHECK(r.from == octet::Packing::te);
  CHECK(r.to == octet::Packing::deepgemm);
  CHECK(q.from == octet::Packing::octet);
  CHECK(q.to == octet::Packing::octet);
}

TEST_CASE("items come in any order and with any spaces, and print in one") {
  const std::string canonical = "gemm.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128 d=bf16 splits=i64 +bias +acc";
  CHECK(Problem::parse("gemm.packed +acc d=bf16 k2048\tb=e4m3:128x128 splits=i64 a=e4m3:1x128  g8 +bias n7168")
            .to_string() == canonical);
  CHECK(Problem::parse("convert.packed splits=i64 to=te c64 from=deepgemm out=e4m3:1x32 dir=col g8").to_string() ==
        "convert.packed g8 c64 out=e4m3:1x32 dir=col from=deepgemm to=te splits=i64");
  CHECK(Problem::parse("  \n" + canonical + " \r\n").to_string() == canonical);
}

TEST_CASE("defaults may be written and are not printed") {
  CHECK(Problem::parse("quantize.packed g8 c64 in=bf16 act=none gate=first out=e4m3:1x128@mn_major dir=row from=octet "
                       "to=octet splits=i32 w=single")
            .to_string() == "quantize.packed g8 c64 in=bf16 out=e4m3:1x128");
}

TEST_CASE("the typed problems are the parsed ones") {
  octet::GemmProblem gemm;
  gemm.groups = 8;
  gemm.n = 7168;
  gemm.k = 2048;
  CHECK(gemm.to_problem() == Problem::parse("gemm.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128 d=bf16"));
  gemm.layout = octet::Layout::padded;
  gemm.alignment = 128;
  gemm.splits = {true, octet::SplitsForm::ends};
  CHECK(gemm.to_problem() ==
        Problem::parse("gemm.padded g8 n7168 k2048 al128 a=e4m3:1x128 b=e4m3:128x128 d=bf16 splits=i64/ends"));

  octet::QuantizeProblem tokens;
  tokens.groups = 8;
  tokens.columns = 2048;
  CHECK(tokens.to_problem() == Problem::parse("quantize.packed g8 c2048 in=bf16 out=e4m3:1x128"));
  octet::QuantizeProblem weights;
  weights.layout = octet::Layout::uniform;
  weights.groups = 8;
  weights.rows_per_group = 7168;
  weights.columns = 2048;
  weights.out = octet::e4m3_128x128();
  CHECK(weights.to_problem() == Problem::parse("quantize.uniform g8 n7168 k2048 in=bf16 out=e4m3:128x128"));
  octet::QuantizeProblem masked;
  masked.layout = octet::Layout::masked;
  masked.groups = 8;
  masked.rows_per_group = 512;
  masked.columns = 2048;
  masked.in = octet::DType::f32;
  masked.act = octet::Activation::swiglu;
  masked.dir = octet::Direction::row_col;
  masked.splits.is_i64 = true;
  masked.flags = static_cast<std::uint32_t>(octet::Flag::probs) | static_cast<std::uint32_t>(octet::Flag::noop);
  CHECK(masked.to_problem() == Problem::parse("quantize.masked g8 m512 c2048 in=f32 act=swiglu out=e4m3:1x128 "
                                              "dir=row,col splits=i64 +probs +noop"));
}

TEST_CASE("an unknown word is refused with the nearest known one") {
  check_says("gem.packed g8", "unknown operation 'gem'; did you mean 'gemm'?");
  check_says("gemm.paked g8", "unknown layout 'paked'; did you mean 'packed'?");
  check_says("gemm.packed gg8", "unknown item 'gg8'; did you mean g<number>?");
  check_says("gemm.packed K2048", "unknown item 'K2048'; did you mean k<number>?");
  check_says("gemm.packed acc", "did you mean +acc?");
  check_says("gemm.packed +fast_acc", "did you mean +fastacc?");
  check_says("gemm.packed split=i64", "did you mean splits=");
  check_says("gemm.packed +acc=1", "did you mean +acc?");
  check_says("gemm.packed k=2048", "unknown item 'k=2048'");
  check_says("gemm.packed a=e4m:1x128", "item 'a=e4m:1x128': unknown type 'e4m'; did you mean 'e4m3'?");
  check_says("gemm.packed a=e4m3:1x12", "unknown recipe '1x12'; did you mean '1x128'?");
  check_says("gemm.packed a=e4m3:1x128:pow", "did you mean 'pow2'?");
  check_says("gemm.packed a=e4m3:1x128@kmajor", "unknown scale layout 'kmajor'; did you mean 'k_major'?");
  check_says("gemm.packed d=bf1", "unknown type 'bf1'; did you mean 'bf16'?");
  check_says("gemm.packed act=swglu", "did you mean 'swiglu'?");
  check_says("gemm.packed splits=i32/end", "did you mean 'i32/ends'?");
  check_says("gemm.packed dir=row,cool", "did you mean 'row,col'?");
  check_says("convert.packed from=deepgem", "did you mean 'deepgemm'?");
  check_says("convert.packed to=tee", "did you mean 'te'?");
  check_says("convert.packed form=te", "did you mean from=octet|deepgemm|te?");
}

TEST_CASE("an item given twice is refused, whatever its values") {
  check_says("gemm.packed g8 n64 g8", "item 'g8': g<number> is given twice");
  check_says("gemm.packed d=bf16 d=f32", "d=<type> is given twice");
  check_says("gemm.packed +acc +bias +acc", "+acc is given twice");
}

TEST_CASE("numbers are positive, bounded and plain") {
  CHECK(Problem::parse("gemm.packed k2147483647").k == 2147483647);
  for (const char* text :
       {"k0", "k", "k-5", "k+5", "k2147483648", "k99999999999999999999", "k08", "k1.5", "k1e3", "k1_"}) {
    INFO(text);
    const std::string message = refusal(std::string("gemm.packed ") + text);
    CHECK(message.find(text) != std::string::npos);
  }
  check_says("gemm.packed k0", "item 'k0': '0' is not a number from 1 to 2147483647");
  check_says("gemm.packed il=0", "not a number from 1");
}

TEST_CASE("text that is no problem at all gets one clear line") {
  check_says("", "empty problem");
  check_says("  \n ", "empty problem");
  check_says("gemm", "'gemm' has no layout");
  check_says("gemm.", "unknown layout ''");
  check_says(".packed", "unknown operation ''");
  check_says("gemm.packed a=e4m3", "has no recipe");
  check_says("gemm.packed a=", "unknown type ''");
  check_says("gemm.packed =", "unknown item '='");
  check_says("gemm.packed 8", "unknown item '8'");
  check_says("gemm.packed \x01\x02", "unknown item '\?\?'");
  CHECK(refusal("gemm.packed " + std::string(100000, 'x')).size() < 1000);
}

TEST_CASE("comparing and hashing see every field") {
  const Problem base = Problem::parse("gemm.packed g8 n64 k64");
  for (const char* text : {"wgrad.packed g8 n64 k64",
                           "gemm.padded g8 n64 k64",
                           "gemm.packed g9 n64 k64",
                           "gemm.packed g8 n65 k64",
                           "gemm.packed g8 n64 k65",
                           "gemm.packed g8 n64 k64 c1",
                           "gemm.packed g8 n64 k64 m1",
                           "gemm.packed g8 n64 k64 al1",
                           "gemm.packed g8 n64 k64 a=e4m3:1x128",
                           "gemm.packed g8 n64 k64 b=e4m3:1x128",
                           "gemm.packed g8 n64 k64 out=e4m3:1x128",
                           "gemm.packed g8 n64 k64 a=e5m2:1x128",
                           "gemm.packed g8 n64 k64 a=e4m3:row",
                           "gemm.packed g8 n64 k64 a=e4m3:1x128:pow2",
                           "gemm.packed g8 n64 k64 a=e4m3:1x128@k_major",
                           "gemm.packed g8 n64 k64 d=bf16",
                           "gemm.packed g8 n64 k64 d=f32",
                           "gemm.packed g8 n64 k64 in=bf16",
                           "gemm.packed g8 n64 k64 act=relu",
                           "gemm.packed g8 n64 k64 gate=second",
                           "gemm.packed g8 n64 k64 il=1",
                           "gemm.packed g8 n64 k64 dir=col",
                           "gemm.packed g8 n64 k64 from=te",
                           "gemm.packed g8 n64 k64 from=deepgemm",
                           "gemm.packed g8 n64 k64 to=te",
                           "gemm.packed g8 n64 k64 splits=i64",
                           "gemm.packed g8 n64 k64 splits=i32/ends",
                           "gemm.packed g8 n64 k64 w=pointers",
                           "gemm.packed g8 n64 k64 +acc"}) {
    INFO(text);
    const Problem other = Problem::parse(text);
    CHECK(other != base);
    CHECK(hash_value(other) != hash_value(base));
    CHECK(other == Problem::parse(text));
    CHECK(hash_value(other) == hash_value(Problem::parse(text)));
  }
}
