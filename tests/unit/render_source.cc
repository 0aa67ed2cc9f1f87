// The generated source of every legal candidate of problems of every kind: what is in it, and what is not.
#include <algorithm>
#include <cctype>
#include <functional>
#include <locale>
#include <string>
#include <vector>

#include "octet/explain.h"
#include "runtime/render.h"
#include "tests/support/catch.h"

namespace {

using octet::GemmConfig;
using octet::Layout;
using octet::Operation;
using octet::Problem;
using octet::Spec;
using octet::SplitsForm;

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
};

const std::vector<Spec>& specs() {
  static const std::vector<Spec> all = [] {
    std::vector<Spec> legal;
    for (const char* text : kProblems) {
      for (const octet::Candidate& candidate : octet::explain(Problem::parse(text)).candidates) {
        if (!candidate.refused) legal.push_back(candidate.spec);
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

std::string without_comments(const std::string& source) {
  std::string code;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source.compare(i, 2, "//") == 0) i = source.find('\n', i);
    code += source[i];
  }
  return code;
}

bool is_gemm(const Spec& spec) { return spec.problem.op == Operation::gemm; }
bool is_uniform(const Spec& spec) { return spec.problem.layout == Layout::uniform; }
bool is_padded(const Spec& spec) { return spec.problem.layout == Layout::padded; }
bool has_splits(const Spec& spec) { return !is_uniform(spec); }
const GemmConfig& gemm(const Spec& spec) { return std::get<GemmConfig>(spec.config); }
bool is_cluster(const Spec& spec) { return is_gemm(spec) && gemm(spec).cluster_m * gemm(spec).cluster_n > 1; }

// Text of a part, and the specs that use it.
struct Part {
  const char* text;
  bool (*used)(const Spec&);
};
const Part kParts[] = {
    {"static_cast<const i64*>(splits)", [](const Spec& s) { return has_splits(s) && s.problem.splits.is_i64; }},
    {"static_cast<const i32*>(splits)", [](const Spec& s) { return has_splits(s) && !s.problem.splits.is_i64; }},
    {"split_at(", has_splits},
    {"kGroups - 1)",
     [](const Spec& s) {
       return s.problem.op == Operation::quantize && s.problem.layout == Layout::packed &&
              s.problem.splits.form == SplitsForm::ends;
     }},
    {"align_rows(", is_padded},
    {"kAlignment", is_padded},
    {"struct GroupTable", [](const Spec& s) { return is_gemm(s) || is_padded(s); }},
    {"struct RowRange", [](const Spec& s) { return !is_gemm(s) && s.problem.layout == Layout::packed; }},
    {"warp_exclusive_sum(",
     [](const Spec& s) {
       return is_gemm(s) || is_padded(s) || (has_splits(s) && s.problem.splits.form == SplitsForm::sizes);
     }},
    {"GemmParams", is_gemm},
    {"wgmma", is_gemm},
    {"mbarrier", is_gemm},
    {"cp.async.bulk.tensor", is_gemm},
    {"class TileWalk", is_gemm},
    {"QuantizeParams", [](const Spec& s) { return !is_gemm(s); }},
    {"e4m3x2", [](const Spec& s) { return !is_gemm(s); }},
    {"barrier.cluster.arrive", is_cluster},
    {"multicast::cluster", is_cluster},
    {"%cluster_ctarank", is_cluster},
    {"shares_columns_", [](const Spec& s) { return is_gemm(s) && gemm(s).cluster_m > 1; }},
    {"kColumnUnits", [](const Spec& s) { return is_gemm(s) && gemm(s).cluster_m == 1; }},
    {"staging[kMathWarpgroups][kSlabs * kChunks]",
     [](const Spec& s) { return is_gemm(s) && gemm(s).whole_tile_store; }},
    {"staging[kMathWarpgroups][1]", [](const Spec& s) { return is_gemm(s) && !gemm(s).whole_tile_store; }},
};

std::string constant(const char* name, std::int64_t value) {
  return "constexpr int " + std::string(name) + " = " + std::to_string(value) + ";";
}

// Digits in threes with commas, and a comma for the point.
struct CommaLocale : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return ','; }
  std::string do_grouping() const override { return "\3"; }
};

}  // namespace

TEST_CASE("render: a source holds the parts that its spec uses and no other") {
  for (const Part& part : kParts) {
    int users = 0;
    for (const Spec& spec : specs()) {
      INFO(part.text << " in " << spec.name());
      CHECK(contains(source_of(spec), part.text) == part.used(spec));
      users += part.used(spec) ? 1 : 0;
    }
    INFO(part.text);
    CHECK(users > 0);
    CHECK(users < static_cast<int>(specs().size()));
  }
}

TEST_CASE("render: a source is one file, whole, for NVRTC alone") {
  for (const Spec& spec : specs()) {
    const std::string source = source_of(spec);
    INFO(spec.name());
    CHECK_FALSE(contains(source, "#include"));
    CHECK_FALSE(contains(source, "#if"));
    CHECK_FALSE(contains(source, "#endif"));
    CHECK_FALSE(contains(source, "#pragma once"));
    CHECK_FALSE(contains(source, "sample"));
    CHECK_FALSE(contains(source, "\r"));
    CHECK_FALSE(contains(source, "\t"));
    CHECK(source.back() == '\n');
    CHECK(std::all_of(source.begin(), source.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  }
}

TEST_CASE("render: brackets of every kind are balanced") {
  for (const Spec& spec : specs()) {
    const std::string source = without_comments(source_of(spec));
    INFO(spec.name());
    for (const char* pair : {"{}", "()", "[]"}) {
      int depth = 0, lowest = 0;
      for (const char c : source) {
        depth += c == pair[0] ? 1 : c == pair[1] ? -1 : 0;
        lowest = std::min(lowest, depth);
      }
      INFO(pair);
      CHECK(depth == 0);
      CHECK(lowest == 0);
    }
  }
}

TEST_CASE("render: the kernel is the only one, under the spec's name") {
  for (const Spec& spec : specs()) {
    const std::string source = source_of(spec);
    INFO(spec.name());
    CHECK(count(source, "__global__") == 1);
    CHECK(count(source, "extern \"C\" __global__") == 1);
    CHECK(count(source, "#define OCTET_ENTRY " + spec.name() + "\n") == 1);
    CHECK(count(source, spec.name()) == 1);
    CHECK(count(source, " OCTET_ENTRY(") == 1);
  }
}

TEST_CASE("render: the header says what the source is and how to get it again") {
  for (const Spec& spec : specs()) {
    const std::string source = source_of(spec);
    const std::string problem = spec.problem.to_string(), config = to_string(spec.config);
    INFO(source.substr(0, 600));
    CHECK(source.rfind("// Generated by octet", 0) == 0);
    CHECK(contains(source, "//   problem   " + problem + "\n"));
    CHECK(contains(source, "//   config    " + config + "\n"));
    CHECK(contains(source, "//   arch      sm_90a\n"));
    CHECK(contains(source, "octet show '" + problem + "' --config '" + config + "' --arch sm_90a --source\n"));
  }
}

TEST_CASE("render: the config has the numbers of the spec, each with its reason") {
  Spec spec;
  spec.problem = Problem::parse("gemm.padded g5 n7168 k2880 al64 a=e4m3:1x128 b=e4m3:128x128 d=bf16");
  spec.config = GemmConfig{192, 128, 3, 1, 4, 1, 2, true};
  const std::string source = source_of(spec);
  INFO(source.substr(0, 3000));
  CHECK(contains(source, constant("kGroups", 5)));
  CHECK(contains(source, constant("kN", 7168)));
  CHECK(contains(source, constant("kK", 2880)));
  CHECK(contains(source, constant("kAlignment", 64)));
  CHECK(contains(source, constant("kBlockM", 192)));
  CHECK(contains(source, constant("kBlockN", 128)));
  CHECK(contains(source, constant("kWarpgroupsM", 3)));
  CHECK(contains(source, constant("kWarpgroupsN", 1)));
  CHECK(contains(source, constant("kStages", 4)));
  CHECK(contains(source, constant("kClusterM", 1)));
  CHECK(contains(source, constant("kClusterN", 2)));
  CHECK(contains(source, constant("kBlocksPerSm", 1)));
  for (const Spec& each : specs()) {
    const std::string text = source_of(each);
    const auto begin = text.find("namespace octet::config {\n"), end = text.find("}  // namespace octet::config");
    REQUIRE(begin != std::string::npos);
    const std::string config = text.substr(begin, end - begin);
    CHECK(count(config, "constexpr int ") == count(config, ";  // "));
    CHECK(count(config, "constexpr int ") == count(config, "\n") - 1);
  }
}

TEST_CASE("D22: the same spec renders to the same bytes, whatever was rendered before") {
  std::vector<std::string> first;
  for (const Spec& spec : specs()) first.push_back(source_of(spec));
  for (std::size_t i = specs().size(); i-- > 0;) CHECK(source_of(specs()[i]) == first[i]);
  std::sort(first.begin(), first.end());
  CHECK(std::adjacent_find(first.begin(), first.end()) == first.end());
}

TEST_CASE("render: numbers do not follow the locale") {
  std::vector<std::string> plain;
  for (const Spec& spec : specs()) plain.push_back(source_of(spec));
  const std::locale before = std::locale::global(std::locale(std::locale(), new CommaLocale));
  std::vector<std::string> with_commas;
  for (const Spec& spec : specs()) with_commas.push_back(source_of(spec));
  std::locale::global(before);
  CHECK(with_commas == plain);
}

TEST_CASE("render: a person can read a source from end to end") {
  for (const Spec& spec : specs()) {
    const std::string source = source_of(spec);
    const int lines = count(source, "\n");
    INFO(spec.name() << ": " << lines << " lines");
    CHECK(lines > 100);  // more than a header
    CHECK(lines < (is_gemm(spec) ? 1000 : 450));
    CHECK_FALSE(contains(source, "\n\n\n"));
  }
}
