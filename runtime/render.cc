#include "runtime/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "octet/error.h"
#include "runtime/quantize_traits.h"
#include "runtime/render_parts.h"
#include "runtime/shared_memory.h"
#include "runtime/template_parts.h"

namespace octet {
namespace {

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
  Parts parts{"gemm.cu", {"rendered", "gemm", "visit_groups", "group_table"}, {}};
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

Parts parts_of(const Spec& spec) {
  if (const auto* gemm = std::get_if<GemmConfig>(&spec.config)) return gemm_parts(spec, *gemm);
  if (const auto* portable = std::get_if<PortableConfig>(&spec.config)) return portable_parts(spec, *portable);
  const auto& config = std::get<QuantizeConfig>(spec.config);
  const bool converts = spec.problem.op == Operation::dequantize || spec.problem.op == Operation::convert;
  return converts ? convert_parts(spec, config) : quantize_parts(spec, config);
}

std::string entry_names(const Spec& spec) {
  static constexpr std::pair<Pass, const char*> kMacros[] = {{Pass::main, "OCTET_ENTRY"},
                                                             {Pass::amax, "OCTET_AMAX_ENTRY"},
                                                             {Pass::scales, "OCTET_SCALES_ENTRY"},
                                                             {Pass::pointers, "OCTET_POINTERS_ENTRY"},
                                                             {Pass::finish, "OCTET_FINISH_ENTRY"}};
  const std::vector<Pass> passes = passes_of(spec.problem);
  std::string text;
  for (const auto& [pass, macro] : kMacros) {
    if (std::find(passes.begin(), passes.end(), pass) == passes.end()) continue;
    text += fmt::format("#define {} {}{}\n", macro, spec.name(), suffix(pass));
  }
  return text + "\n";
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
  const Parts parts = parts_of(spec);
  return header_comment(spec) + parts.config.text() + entry_names(spec) +
         assemble_parts(templates, parts.root, parts.facts, known_facts());
}

}  // namespace octet
