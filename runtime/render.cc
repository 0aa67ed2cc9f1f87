#include "runtime/render.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "octet/error.h"
#include "runtime/shared_memory.h"
#include "runtime/template_parts.h"

namespace octet {
namespace {

// Every fact that a template may ask for.
const std::set<std::string>& known_facts() {
  static const std::set<std::string> facts = {
      "gemm",          "quantize",    "packed",    "padded",  "splits_i32", "splits_i64", "splits_sizes", "splits_ends",
      "splits_starts", "group_table", "row_range", "cluster", "cluster_m",  "whole_tile", "split_narrow", "rendered"};
  return facts;
}

// The rendered Config: named constants with their reasons.
class ConfigText {
 public:
  void add(const char* name, std::int64_t value, const char* reason) {
    text_ += fmt::format("constexpr int {} = {};  // {}\n", name, value, reason);
  }
  std::string text() const { return "namespace octet::config {\n" + text_ + "}  // namespace octet::config\n"; }

 private:
  std::string text_;
};

struct Parts {
  std::string root;             // template file
  std::set<std::string> facts;  // that hold for the spec
  ConfigText config;
};

void add_splits_facts(const Problem& problem, std::set<std::string>& facts) {
  facts.insert(problem.splits.is_i64 ? "splits_i64" : "splits_i32");
  switch (problem.splits.form) {
    case SplitsForm::sizes:
      facts.insert("splits_sizes");
      break;
    case SplitsForm::ends:
      facts.insert("splits_ends");
      break;
    case SplitsForm::starts:
      facts.insert("splits_starts");
      break;
  }
  facts.insert(problem.layout == Layout::padded ? "padded" : "packed");
}

// Registers per thread of math and producer warpgroups. setmaxnreg moves what the launch allocated, 65536 registers
// shared by all warpgroups of the multiprocessor; more than that hangs.
struct RegisterBudget {
  int math, producer;
};
RegisterBudget register_budget(int math_warpgroups) {
  switch (math_warpgroups) {
    case 1:
      return {208, 40};  // two blocks per multiprocessor, 128 per thread at launch
    case 2:
      return {232, 40};  // 168 at launch; a producer of 24 spills
    default:
      return {152, 56};  // three math warpgroups, 128 at launch
  }
}

// wgmma tiles of 64 x 128 that one warpgroup computes.
int tiles_per_warpgroup(const GemmConfig& config) {
  return config.block_m / config.warpgroups_m / 64 * (config.block_n / config.warpgroups_n / 128);
}

Parts gemm_parts(const Spec& spec, const GemmConfig& config) {
  const Problem& problem = spec.problem;
  const int warpgroups = config.warpgroups_m * config.warpgroups_n;
  const RegisterBudget registers = register_budget(warpgroups);
  Parts parts{"gemm.cu", {"rendered", "gemm", "group_table"}, {}};
  add_splits_facts(problem, parts.facts);
  if (config.cluster_m * config.cluster_n > 1) parts.facts.insert("cluster");
  if (config.cluster_m > 1) parts.facts.insert("cluster_m");
  if (config.whole_tile_store) parts.facts.insert("whole_tile");
  if (config.block_m == 128 && config.block_n == 256 && config.warpgroups_m == 2) parts.facts.insert("split_narrow");

  ConfigText& text = parts.config;
  text.add("kGroups", problem.g, "experts; splits on the device say how many rows each has");
  text.add("kN", problem.n, "output features: columns of D");
  text.add("kK", problem.k, "inner size; the last scale block may be partial");
  if (problem.layout == Layout::padded) text.add("kAlignment", problem.al, "rows; every group starts at a multiple");
  text.add("kBlockM", config.block_m, "rows of D per block");
  text.add("kBlockN", config.block_n, "columns of D per block");
  text.add("kWarpgroupsM", config.warpgroups_m, "math warpgroups along M");
  text.add("kWarpgroupsN", config.warpgroups_n, "math warpgroups along N");
  text.add("kStages", config.stages, "depth of the TMA ring, in blocks of 128 along K");
  text.add("kClusterM", config.cluster_m,
           config.cluster_m > 1 ? "blocks of a cluster along M: neighbours that share B by multicast"
                                : "no cluster along M");
  text.add("kClusterN", config.cluster_n,
           config.cluster_n > 1 ? "blocks of a cluster along N: neighbours that share A by multicast"
                                : "no cluster along N");
  text.add("kPanelTiles", std::max(1, 2048 / config.block_m),
           "row tiles that share a weight slab: 2048 rows stay in L2");
  text.add("kUnrollK", 4 / tiles_per_warpgroup(config), "K loop: 1 to 3 % faster than rolled; more costs compile time");
  text.add("kScaleBoxRows", scale_boxes(config).rows, "rows of SFA per TMA box");
  text.add("kMathRegisters", registers.math, "per thread, after setmaxnreg");
  text.add("kProducerRegisters", registers.producer, "per thread, after setmaxnreg");
  text.add("kBlocksPerSm", gemm_blocks_per_sm(config), "blocks that a multiprocessor holds");
  text.add("kSharedBytes", gemm_shared_memory_bytes(problem, config), "dynamic shared memory that the launch asks for");
  return parts;
}

Parts quantize_parts(const Spec& spec, const QuantizeConfig& config) {
  const Problem& problem = spec.problem;
  Parts parts;
  parts.facts = {"rendered", "quantize"};
  ConfigText& text = parts.config;
  text.add("kGroups", problem.g, "experts");
  if (problem.layout == Layout::uniform) {
    parts.root = "quantize_blocks.cu";
    text.add("kN", problem.n, "rows of each group's weights");
    text.add("kK", problem.k, "columns");
  } else {
    parts.root = "quantize_rows.cu";
    add_splits_facts(problem, parts.facts);
    parts.facts.insert(problem.layout == Layout::padded ? "group_table" : "row_range");
    text.add("kColumns", problem.c, "columns");
    if (problem.layout == Layout::padded) text.add("kAlignment", problem.al, "rows; every group starts at a multiple");
  }
  text.add("kThreads", config.threads, "per block");
  text.add("kBlocksPerSm", config.blocks_per_sm, "persistent blocks that a multiprocessor holds");
  return parts;
}

std::string header_comment(const Spec& spec) {
  const std::string problem = spec.problem.to_string(), config = to_string(spec.config);
  return fmt::format(
      "// Generated by octet: one kernel, whole. The same spec always gives these bytes.\n//\n"
      "//   problem   {0}\n//   config    {1}\n//   arch      {2}\n"
      "//   again     octet show '{0}' --config '{1}' --arch {2} --source\n\n",
      problem, config, spec.arch);
}

}  // namespace

TemplateSet load_templates(const std::string& directory) {
  namespace fs = std::filesystem;
  TemplateSet set;
  std::error_code error;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_regular_file()) continue;
    std::ifstream file(it->path(), std::ios::binary);
    set[fs::relative(it->path(), directory).generic_string()] =
        std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (error || set.empty()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("no templates in \"{}\" (OCTET_TEMPLATE_DIR){}{}; unset it to use the built-in ones",
                            directory, error ? ": " : "", error.message()));
  }
  return set;
}

std::string render(const Spec& spec, const TemplateSet& templates) {
  const Parts parts = std::holds_alternative<GemmConfig>(spec.config)
                          ? gemm_parts(spec, std::get<GemmConfig>(spec.config))
                          : quantize_parts(spec, std::get<QuantizeConfig>(spec.config));
  return header_comment(spec) + parts.config.text() + fmt::format("#define OCTET_ENTRY {}\n\n", spec.name()) +
         assemble_parts(templates, parts.root, parts.facts, known_facts());
}

}  // namespace octet
