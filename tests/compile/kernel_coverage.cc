// The problems that are compiled leave out nothing that the rules accept, one word at a time.
#include <set>
#include <sstream>
#include <string>

#include "tests/compile/kernels.h"
#include "tests/support/catch.h"

namespace {

using octet::Problem;
using octet::test::all_splits;
using octet::test::convert_problems;
using octet::test::quantize_problems;
using octet::test::splits_text;

// What a problem says, word by word: "in=bf16", "out=e4m3:1x128 dir=col", "+bias".
void add_words(const Problem& problem, std::set<std::string>& words) {
  std::istringstream text(problem.to_string());
  std::string dir = " dir=row";
  if (problem.dir != octet::Direction::row) dir = problem.dir == octet::Direction::col ? " dir=col" : " dir=row,col";
  for (std::string word; text >> word;) {
    const bool is_size = word.find_first_of(".=+") == std::string::npos;
    if (!is_size) words.insert(word);
    if (word.rfind("out=", 0) == 0) words.insert(to_string(problem.out->granularity) + dir);
    if (word.rfind("a=", 0) == 0) words.insert("a=" + (to_string(problem.a->scale_layout) + dir));
  }
  if (problem.layout != octet::Layout::uniform && problem.layout != octet::Layout::masked) {
    words.insert(splits_text(problem));
  }
}

void check_words(const std::vector<Problem>& problems, const std::set<std::string>& wanted) {
  std::set<std::string> words;
  for (const Problem& problem : problems) add_words(problem, words);
  for (const std::string& word : wanted) {
    INFO(word);
    CHECK(words.count(word) == 1);
  }
}

}  // namespace

TEST_CASE("kernels: the problems of the GEMM's family have every operation, layout, recipe, type, direction and flag") {
  std::set<std::string> wanted = {"d=bf16", "d=fp16", "d=f32", "dir=col", "+bias", "+acc", "+fastacc", "+checked"};
  for (const char* op : {"gemm", "wgrad"}) {
    for (const char* layout : {"packed", "padded", "masked", "dense"}) wanted.insert(op + std::string(".") + layout);
  }
  for (const char* recipe : {"tensor", "row", "1x128"}) {
    for (const char* type : {"e4m3:", "e5m2:"}) wanted.insert("a=" + std::string(type) + recipe);
    wanted.insert("b=e4m3:" + std::string(recipe));
  }
  wanted.insert({"b=e4m3:128x128", "b=e5m2:128x128:pow2", "b=e4m3:128x128@block2d_t"});
  std::set<std::string> words;
  for (const Problem& problem : octet::test::gemm_family_problems()) {
    std::istringstream text(problem.to_string());
    for (std::string word; text >> word;) words.insert(word);
  }
  for (const std::string& word : wanted) {
    INFO(word);
    CHECK(words.count(word) == 1);
  }
}

TEST_CASE(
    "kernels: the problems of quantizers and converters have every recipe, direction, type, activation, layout and "
    "flag") {
  std::set<std::string> wanted = {"in=bf16", "in=fp16", "in=f32", "gate=second", "il=1",
                                  "il=8",    "il=16",   "il=32",  "il=64"};
  for (const char* layout : {"packed", "padded", "masked", "uniform"}) {
    wanted.insert(std::string("quantize.") + layout);
    wanted.insert(std::string("activation.") + layout);
  }
  for (const char* recipe : {"tensor", "row", "1x128", "128x128", "1x32", "32x32"}) {
    for (const char* dir : {"row", "col", "row,col"}) wanted.insert(recipe + std::string(" dir=") + dir);
  }
  for (const char* act : {"relu", "srelu", "gelu", "qgelu", "silu", "swiglu", "geglu", "qgeglu", "reglu", "sreglu",
                          "glu", "clamped_swiglu", "situ_glu"}) {
    wanted.insert(std::string("act=") + act);
  }
  for (const char* flag : {"+bias", "+probs", "+grad", "+dbias", "+noop", "+amax", "+given"}) wanted.insert(flag);
  for (const char* out : {"e5m2:1x128@k_major", "e4m3:128x128:pow2", "e4m3:128x128@block2d_t", "e4m3:1x32@swizzled"}) {
    wanted.insert(std::string("out=") + out);
  }
  wanted.insert(all_splits().begin(), all_splits().end());
  check_words(quantize_problems(), wanted);

  wanted = {"d=bf16", "d=fp16", "d=f32", "from=deepgemm", "to=deepgemm", "from=te", "to=te", "a=k_major dir=row"};
  for (const char* layout : {"packed", "padded", "masked", "uniform"}) {
    wanted.insert(std::string("dequantize.") + layout);
    wanted.insert(std::string("convert.") + layout);
  }
  for (const char* scales : {"per_group", "per_row", "mn_major", "block2d", "mx_compact", "swizzled", "mx_32x32"}) {
    for (const char* dir : {"row", "col"}) wanted.insert("a=" + (scales + std::string(" dir=") + dir));
  }
  wanted.insert(all_splits().begin(), all_splits().end());
  check_words(convert_problems(), wanted);
}
