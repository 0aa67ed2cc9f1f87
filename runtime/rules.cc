// Rows of data: id, what it applies to, what a refusal means, why, the predicate, and what to tell the user. Adding a
// limit is adding a row. Rows are tried in order, and a row may rely on the rows above it: a limit on K does not ask
// again whether K is there.
#include "runtime/rules.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "octet/layout.h"
#include "runtime/gemm_traits.h"
#include "runtime/integers.h"
#include "runtime/plan_rules.h"
#include "runtime/problem_items.h"
#include "runtime/quantize_traits.h"
#include "runtime/shared_memory.h"
#include "runtime/workspace.h"

namespace octet {
namespace {

// What a predicate may look at.
struct Facts {
  const Problem& problem;
  const DeviceFacts& device;
  const Config* config = nullptr;  // set for config rules
  bool no_workspace = false;       // of config rules: the caller has none to give

  const GemmConfig& gemm() const { return std::get<GemmConfig>(*config); }
  const PortableConfig& portable() const { return std::get<PortableConfig>(*config); }
  const MxConfig& mx() const { return std::get<MxConfig>(*config); }
  const QuantizeConfig& quantize() const { return std::get<QuantizeConfig>(*config); }
};

// "<got> (rule <id>); <next>"
struct Advice {
  std::string got, next;
};

enum class Scope { problem, config };
enum class Subject {
  any,
  gemm,
  quantize,
  convert,
  rows,
  portable,
  mx
};  // gemm: and wgrad; quantize: and activation; convert: and dequantize; rows: those four; portable, mx: their configs
// What a refusal means: it can never be, or no kernel of this build does it yet.
enum class Verdict { illegal, unsupported };

struct Rule {
  const char* id;
  Scope scope;
  Subject subject;
  Verdict verdict;
  const char* why;
  bool (*holds)(const Facts&);
  Advice (*says)(const Facts&);
};

// Each limit stands here once; predicates, messages and `why` agree by construction or by a test.
constexpr std::int64_t kMaxGemmK = 262144;           // 2048 scale blocks: B's scale row stays in shared memory
constexpr std::int64_t kMaxColumns = 16777216;       // 2^24
constexpr std::int64_t kMaxAlignment = 1048576;      // 2^20 rows
constexpr std::int64_t kMaxWeightRows = 2147483135;  // 2^31 - 513: TMA coordinates, with room for one block more
constexpr std::int64_t kMaxScales = 2147483647;      // 2^31 - 1
constexpr std::int64_t kNarrowestTile = 128;
constexpr int kThreadsPerSm = 2048;

// ---- The operations and layouts that have kernels, and the items that each takes.

using Keys = std::array<std::string_view, 14>;  // of problem_items.h; the rest is empty
struct Family {
  Operation op;
  Layout layout;
  Keys needs, takes;
};
constexpr Keys kQuantizeTakes = {
    {"act=", "gate=", "il=", "dir=", "splits=", "+bias", "+probs", "+grad", "+dbias", "+noop", "+amax", "+given"}};
constexpr Keys kQuantizeWeightsTakes = {
    {"act=", "gate=", "il=", "dir=", "+bias", "+probs", "+grad", "+dbias", "+noop", "+amax", "+given"}};
constexpr Keys kDenseQuantizeTakes = kQuantizeWeightsTakes;
constexpr Keys kActivateWeightsTakes = {{"gate=", "il=", "+bias", "+probs", "+grad", "+dbias", "+noop"}};
constexpr Keys kActivationTakes = {{"gate=", "il=", "splits=", "+bias", "+probs", "+grad", "+dbias", "+noop"}};
constexpr Keys kGemmTakes = {{"dir=", "splits=", "w=", "+bias", "+acc", "+fastacc", "+checked"}};
constexpr Keys kDenseGemmTakes = {{"dir=", "w=", "+bias", "+acc", "+fastacc"}};
constexpr Keys kWgradTakes = {{"from=", "splits=", "w=", "+acc", "+fastacc", "+checked"}};
constexpr Keys kDenseWgradTakes = {{"w=", "+acc", "+fastacc"}};
constexpr Family kFamilies[] = {
    {Operation::gemm, Layout::packed, {{"g", "n", "k", "a=", "b=", "d="}}, kGemmTakes},
    {Operation::gemm, Layout::padded, {{"g", "n", "k", "al", "a=", "b=", "d="}}, kGemmTakes},
    {Operation::gemm, Layout::masked, {{"g", "m", "n", "k", "a=", "b=", "d="}}, kGemmTakes},
    {Operation::gemm, Layout::dense, {{"g", "n", "k", "a=", "b=", "d="}}, kDenseGemmTakes},
    {Operation::wgrad, Layout::packed, {{"g", "n", "k", "a=", "b=", "d="}}, kWgradTakes},
    {Operation::wgrad, Layout::padded, {{"g", "n", "k", "al", "a=", "b=", "d="}}, kWgradTakes},
    {Operation::wgrad, Layout::masked, {{"g", "m", "n", "k", "a=", "b=", "d="}}, kWgradTakes},
    {Operation::wgrad, Layout::dense, {{"g", "n", "k", "a=", "b=", "d="}}, kDenseWgradTakes},
    {Operation::quantize, Layout::packed, {{"g", "c", "in=", "out="}}, kQuantizeTakes},
    {Operation::quantize, Layout::padded, {{"g", "c", "al", "in=", "out="}}, kQuantizeTakes},
    {Operation::quantize, Layout::masked, {{"g", "m", "c", "in=", "out="}}, kQuantizeTakes},
    {Operation::quantize, Layout::dense, {{"g", "c", "in=", "out="}}, kDenseQuantizeTakes},
    {Operation::quantize, Layout::uniform, {{"g", "n", "k", "in=", "out="}}, kQuantizeWeightsTakes},
    {Operation::activation, Layout::packed, {{"g", "c", "d=", "in=", "act="}}, kActivationTakes},
    {Operation::activation, Layout::padded, {{"g", "c", "al", "d=", "in=", "act="}}, kActivationTakes},
    {Operation::activation, Layout::masked, {{"g", "m", "c", "d=", "in=", "act="}}, kActivationTakes},
    {Operation::activation, Layout::dense, {{"g", "c", "d=", "in=", "act="}}, kActivateWeightsTakes},
    {Operation::activation, Layout::uniform, {{"g", "n", "k", "d=", "in=", "act="}}, kActivateWeightsTakes},
    {Operation::dequantize, Layout::packed, {{"g", "c", "a=", "d="}}, {{"dir=", "splits="}}},
    {Operation::dequantize, Layout::padded, {{"g", "c", "al", "a=", "d="}}, {{"dir=", "splits="}}},
    {Operation::dequantize, Layout::masked, {{"g", "m", "c", "a=", "d="}}, {{"dir=", "splits="}}},
    {Operation::dequantize, Layout::dense, {{"g", "c", "a=", "d="}}, {{"dir="}}},
    {Operation::dequantize, Layout::uniform, {{"g", "n", "k", "a=", "d="}}, {{"dir="}}},
    {Operation::convert, Layout::packed, {{"g", "c", "a=", "out="}}, {{"dir=", "from=", "to=", "splits="}}},
    {Operation::convert, Layout::padded, {{"g", "c", "al", "a=", "out="}}, {{"dir=", "from=", "to=", "splits="}}},
    {Operation::convert, Layout::masked, {{"g", "m", "c", "a=", "out="}}, {{"dir=", "from=", "to=", "splits="}}},
    {Operation::convert, Layout::uniform, {{"g", "n", "k", "a=", "out="}}, {{"dir=", "from=", "to="}}},
};

const Family* find_family(const Problem& problem) {
  const auto found = std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const Family& family) {
    return family.op == problem.op && family.layout == problem.layout;
  });
  return found == std::end(kFamilies) ? nullptr : found;
}

template <typename Words, typename Word>
bool contains(const Words& words, const Word& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string_view> missing_items(const Problem& problem) {
  const std::vector<std::string_view> given = given_items(problem);
  std::vector<std::string_view> missing;
  for (const std::string_view key : find_family(problem)->needs) {
    if (!key.empty() && !contains(given, key)) missing.push_back(form_of(key));
  }
  return missing;
}

std::vector<std::string_view> unused_items(const Problem& problem) {
  const Family& family = *find_family(problem);
  std::vector<std::string_view> unused;
  for (const std::string_view key : given_items(problem)) {
    if (!contains(family.needs, key) && !contains(family.takes, key)) unused.push_back(key);
  }
  return unused;
}

std::vector<std::string_view> implemented_layouts(Operation op) {
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) {
    if (family.op == op) names.emplace_back(to_string(family.layout));
  }
  return names;
}

std::string kind_of(const Problem& problem) {
  return fmt::format("{}.{}", to_string(problem.op), to_string(problem.layout));
}

// ---- Pieces of predicates and messages.

// Whether a GEMM multiplies operands of these granularities. Of wgrad both lie along the tokens.
bool is_pair(Operation op, Granularity a, Granularity b) {
  switch (a) {
    case Granularity::tensor:
    case Granularity::row:
      return b == a;
    case Granularity::block_1x128:
      return b == a || b == Granularity::block_128x128;
    case Granularity::mx_1x32:
      return b == a || (b == Granularity::mx_32x32 && op == Operation::gemm);
    default:
      return false;
  }
}

// Scale layouts of A and B of a GEMM: those that the quantizers of both write.
std::vector<ScaleLayout> scale_layouts_of(Granularity granularity, Layout layout);
std::vector<ScaleLayout> scale_layouts_of_operand(const Problem& problem, bool is_b) {
  const bool weights = is_b && problem.op == Operation::gemm;
  const bool columnwise = problem.op == Operation::wgrad || (weights && problem.dir == Direction::col);
  const Granularity granularity = is_b ? problem.b->granularity : problem.a->granularity;
  if (columnwise && granularity == Granularity::block_1x128) return {ScaleLayout::mn_major};  // as col_mn_major
  return scale_layouts_of(granularity, weights ? Layout::uniform : problem.layout);
}
bool has_scale_layout(const Problem& problem, bool is_b) {
  const std::vector<ScaleLayout> layouts = scale_layouts_of_operand(problem, is_b);
  return std::find(layouts.begin(), layouts.end(), is_b ? problem.b->scale_layout : problem.a->scale_layout) !=
         layouts.end();
}

// Scales that the kernel made for sm_90a reads: along rows through tensor maps, of blocks a tile ahead, of groups and
// rows at the end.
bool wgmma_reads(const Recipe& recipe) {
  switch (recipe.scale_layout) {
    case ScaleLayout::mn_major:
    case ScaleLayout::block2d:
    case ScaleLayout::block2d_t:
    case ScaleLayout::per_group:
    case ScaleLayout::per_row:
      return true;
    default:
      return false;
  }
}

bool is_fp8(const Recipe& recipe) { return recipe.type == DType::e4m3 || recipe.type == DType::e5m2; }

bool is_tensor(const Problem& problem) { return problem.out && problem.out->granularity == Granularity::tensor; }

bool misplaces_power_of_two(const Recipe& recipe) {
  return recipe.power_of_two && recipe.granularity != Granularity::block_1x128 &&
         recipe.granularity != Granularity::block_128x128;
}

// Which scale layouts a granularity can have, the default first.
std::vector<ScaleLayout> scale_layouts_of(Granularity granularity, Layout layout) {
  switch (granularity) {
    case Granularity::tensor:
      return {ScaleLayout::per_group};
    case Granularity::row:
      return {ScaleLayout::per_row};
    case Granularity::block_1x128:
      return {ScaleLayout::mn_major, ScaleLayout::k_major};
    case Granularity::block_128x128:
      if (layout == Layout::uniform) return {ScaleLayout::block2d, ScaleLayout::block2d_t};
      return {ScaleLayout::block2d};
    case Granularity::mx_1x32:
      return {ScaleLayout::mx_compact, ScaleLayout::swizzled};
    case Granularity::mx_32x32:
      return {ScaleLayout::mx_32x32};
  }
  return {};
}

std::vector<std::string> names_of(const std::vector<ScaleLayout>& layouts) {
  std::vector<std::string> names;
  for (const ScaleLayout layout : layouts) names.push_back(fmt::format("@{}", to_string(layout)));
  return names;
}

bool is_input_type(DType type) { return type == DType::bf16 || type == DType::fp16 || type == DType::f32; }

const char* direction_text(Direction dir) {
  return dir == Direction::row ? "row" : dir == Direction::col ? "col" : "row,col";
}

std::vector<Recipe> recipes_of(const Problem& problem) {
  std::vector<Recipe> recipes;
  for (const std::optional<Recipe>& recipe : {problem.a, problem.b, problem.out}) {
    if (recipe) recipes.push_back(*recipe);
  }
  return recipes;
}

const char* columns_name(const Problem& problem) { return problem.layout == Layout::uniform ? "K" : "C"; }

std::int64_t weight_scales(const Problem& problem) {
  return problem.g * ceil_div(problem.n, 128) * ceil_div(problem.k, 128);
}

// Converters, and quantizers that look at more than rows.
bool works_on_tiles(const Problem& problem) {
  const bool quantizes = problem.op == Operation::quantize || problem.op == Operation::activation;
  return !quantizes || QuantizeTraits(problem).by_tiles || QuantizeTraits(problem).current;
}

// Tiles, and the pass that finds the largest magnitudes of tiles.
bool needs_256_threads(const Problem& problem) {
  const bool quantizes = problem.op == Operation::quantize || problem.op == Operation::activation;
  if (!quantizes) return true;
  const QuantizeTraits traits(problem);
  return traits.by_tiles || traits.amax_pass;
}

Advice not_a_multiple(const char* name, std::int64_t value, std::int64_t of) {
  return {fmt::format("{}={}: not a multiple of {}", name, value, of),
          fmt::format("pad {} to {}", name, round_up(value, of))};
}

Advice too_large(const char* name, std::int64_t value, std::int64_t limit, const char* next) {
  return {fmt::format("{}={}: more than {}", name, value, limit), next};
}

std::int64_t columns_of_d(const Problem& problem) { return problem.op == Operation::wgrad ? problem.k : problem.n; }

// Columns of D that a grid of this config covers.
std::int64_t covered_columns(const Facts& f) {
  return round_up(columns_of_d(f.problem), std::int64_t{f.gemm().block_n} * f.gemm().cluster_n);
}

std::int64_t accumulators_per_thread(const GemmConfig& config) {
  return std::int64_t{config.block_m / config.warpgroups_m} * (config.block_n / config.warpgroups_n) / 128;
}

// What a thread has for accumulators, beside one partial sum and the scales of its columns. With two math warpgroups
// a thread has 232 registers or more, with three of them 152; one shares the multiprocessor with other blocks.
std::int64_t accumulators_that_fit(const Facts& f) {
  const GemmConfig& c = f.gemm();
  const int warpgroups = c.warpgroups_m * c.warpgroups_n;
  const bool scaled_columns = f.problem.b->granularity == Granularity::block_1x128;
  // Two blocks of three warpgroups leave a thread 80 registers, too few for scales of both sides.
  if (c.swapped && warpgroups == 2 && c.blocks_per_sm == 2 && scaled_columns) return 16;
  if (c.swapped) return c.blocks_per_sm == 1 ? 64 : c.blocks_per_sm == 2 ? 32 : 16;
  return warpgroups == 2 ? 128 : warpgroups == 3 && scaled_columns ? 0 : 64;
}

// What the resident blocks take; the system keeps some of each block's for itself.
std::int64_t resident_shared_bytes(const Facts& f) {
  constexpr std::int64_t kReservedPerBlock = 1024;
  return f.gemm().blocks_per_sm * (gemm_shared_memory_bytes(f.problem, f.gemm()) + kReservedPerBlock);
}

using enum Scope;
using enum Verdict;
constexpr Subject any = Subject::any, gemm = Subject::gemm, quantize = Subject::quantize, convert = Subject::convert,
                  rows = Subject::rows, portable = Subject::portable, mx = Subject::mx;

const Rule kRules[] = {
    // ---- What is implemented.
    {"arch.implemented", problem, any, unsupported, "the quantizers are made for sm_90a; the portable GEMM is not",
     [](const Facts& f) { return f.device.arch == "sm_90a" || is_gemm(f.problem.op); },
     [](const Facts& f) -> Advice {
       return {fmt::format("arch '{}': no kernel for {} on it yet", f.device.arch, to_string(f.problem.op)),
               "use sm_90a"};
     }},
    {"layout.implemented", problem, any, unsupported, "a kernel finds its groups in the layouts that it knows",
     [](const Facts& f) { return find_family(f.problem) != nullptr; },
     [](const Facts& f) -> Advice {
       return {fmt::format("{}: no kernel for this layout yet", kind_of(f.problem)),
               fmt::format("use {}", fmt::join(implemented_layouts(f.problem.op), " or "))};
     }},
    {"activation.implemented", problem, gemm, unsupported, "no GEMM fuses an activation yet",
     [](const Facts& f) { return f.problem.act == Activation::none; },
     [](const Facts& f) -> Advice {
       return {fmt::format("act={}: not implemented for {} yet", to_string(f.problem.act), kind_of(f.problem)),
               "apply the activation in a kernel of its own"};
     }},
    {"epilogue.implemented", problem, gemm, unsupported, "no GEMM quantizes its output yet",
     [](const Facts& f) { return !f.problem.out; },
     [](const Facts& f) -> Advice {
       return {fmt::format("out={}: not implemented for {} yet", to_string(*f.problem.out), kind_of(f.problem)),
               "write d=bf16 and quantize it with a quantize problem"};
     }},

    // ---- Every item that is needed, and no other.
    {"problem.missing-item", problem, any, illegal, "a kernel is specialized on these",
     [](const Facts& f) { return missing_items(f.problem).empty(); },
     [](const Facts& f) -> Advice {
       return {fmt::format("{} without {}", kind_of(f.problem), fmt::join(missing_items(f.problem), ", ")),
               fmt::format("add {}", fmt::join(missing_items(f.problem), " and "))};
     }},
    {"problem.unused-item", problem, any, illegal, "an item without effect is a misunderstanding",
     [](const Facts& f) { return unused_items(f.problem).empty(); },
     [](const Facts& f) -> Advice {
       std::vector<std::string_view> forms;
       for (const std::string_view key : unused_items(f.problem)) forms.push_back(form_of(key));
       return {fmt::format("{} does not take {}", kind_of(f.problem), fmt::join(forms, ", ")), "leave it out"};
     }},
    {"problem.size-positive", problem, any, illegal, "a size counts something",
     [](const Facts& f) {
       const Problem& p = f.problem;
       return p.g >= 0 && p.n >= 0 && p.k >= 0 && p.c >= 0 && p.al >= 0 && p.m >= 0 && p.il >= 0;  // 0 would be missing
     },
     [](const Facts& f) -> Advice {
       const Problem& p = f.problem;
       return {fmt::format("a size below 1 in '{}'", p.to_string()), "sizes are 1 or more"};
     }},

    // ---- Recipes and types.
    {"recipe.pair", problem, gemm, unsupported, "scales of A and B multiply block by block",
     [](const Facts& f) {
       return is_fp8(*f.problem.a) && is_fp8(*f.problem.b) &&
              is_pair(f.problem.op, f.problem.a->granularity, f.problem.b->granularity);
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("a={} b={}: no kernel for this pair", to_string(*f.problem.a), to_string(*f.problem.b)),
               fmt::format("use e4m3 or e5m2 of tensor and tensor, row and row, 1x128 and 128x128, 1x128 and 1x128, "
                           "1x32 and 1x32{}",
                           f.problem.op == Operation::gemm ? ", 1x32 and 32x32" : "")};
     }},
    {"recipe.power-of-two", problem, gemm, illegal,
     "the option belongs to f32 scales of blocks; E8M0 scales are powers of two anyway",
     [](const Facts& f) { return !misplaces_power_of_two(*f.problem.a) && !misplaces_power_of_two(*f.problem.b); },
     [](const Facts& f) -> Advice {
       return {fmt::format(":pow2 with a={} b={}", to_string(*f.problem.a), to_string(*f.problem.b)),
               "leave :pow2 out"};
     }},
    {"scale-layout.of-operand", problem, gemm, illegal, "operands lie as their quantizers write them",
     [](const Facts& f) { return has_scale_layout(f.problem, false) && has_scale_layout(f.problem, true); },
     [](const Facts& f) -> Advice {
       const bool is_b = has_scale_layout(f.problem, false);
       const Recipe& recipe = is_b ? *f.problem.b : *f.problem.a;
       return {fmt::format("@{} of {} as {} of {}: no such scales", to_string(recipe.scale_layout),
                           to_string(recipe.granularity), is_b ? "b" : "a", kind_of(f.problem)),
               fmt::format("use {}", fmt::join(names_of(scale_layouts_of_operand(f.problem, is_b)), " or "))};
     }},
    {"type.of-output", problem, gemm, illegal, "the epilogue rounds once, from f32",
     [](const Facts& f) { return is_input_type(*f.problem.d); },
     [](const Facts& f) -> Advice {
       return {fmt::format("d={}: not a type of D", to_string(*f.problem.d)), "use d=bf16, fp16 or f32"};
     }},
    {"flag.fastacc-of-whole-scales", problem, gemm, illegal, "scales of blocks are applied block by block",
     [](const Facts& f) {
       const Granularity granularity = f.problem.a->granularity;
       return !f.problem.has(Flag::fastacc) || granularity == Granularity::tensor || granularity == Granularity::row;
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("+fastacc with a={}", to_string(*f.problem.a)),
               "use recipes tensor or row, or leave it out"};
     }},
    {"gemm.one-direction", problem, gemm, illegal, "one call reads one copy of the weights",
     [](const Facts& f) { return f.problem.dir != Direction::row_col; },
     [](const Facts& f) -> Advice {
       return {fmt::format("dir={}", direction_text(f.problem.dir)), "use dir=row, the default, or dir=col"};
     }},
    {"wgrad.deepgemm-packing", problem, gemm, illegal,
     "DeepGEMM packs each group's columns as a block of their own, end to end",
     [](const Facts& f) {
       const Problem& p = f.problem;
       const bool blocks = p.a->granularity == Granularity::block_1x128 && p.b->granularity == Granularity::block_1x128;
       return p.from == Packing::octet || (p.from == Packing::deepgemm && p.layout == Layout::packed && blocks);
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("from={} with {} a={} b={}", f.problem.from == Packing::te ? "te" : "deepgemm",
                           kind_of(f.problem), to_string(*f.problem.a), to_string(*f.problem.b)),
               "use from=deepgemm with packed groups and 1x128 scales, or convert the operands"};
     }},
    {"dense.one-group", problem, any, illegal, "dense is one group that fills the buffer",
     [](const Facts& f) { return f.problem.layout != Layout::dense || f.problem.g == 1; },
     [](const Facts& f) -> Advice {
       return {fmt::format("G={} of {}", f.problem.g, kind_of(f.problem)), "use g1, or packed groups"};
     }},
    {"type.of-input", problem, quantize, illegal, "what is quantized comes from a 16-bit or 32-bit type",
     [](const Facts& f) { return is_input_type(*f.problem.in); },
     [](const Facts& f) -> Advice {
       return {fmt::format("in={}: not a type to quantize", to_string(*f.problem.in)), "use in=bf16, fp16 or f32"};
     }},
    {"type.of-unquantized", problem, rows, illegal, "what is not quantized is stored as the type that it is rounded to",
     [](const Facts& f) {
       if (f.problem.op == Operation::activation) return f.problem.d == f.problem.in;
       return !f.problem.d || is_input_type(*f.problem.d);
     },
     [](const Facts& f) -> Advice {
       if (f.problem.op == Operation::activation) {
         return {fmt::format("in={} d={}: an activation stores its result as its input's type",
                             to_string(*f.problem.in), to_string(*f.problem.d)),
                 fmt::format("use d={}", to_string(*f.problem.in))};
       }
       return {fmt::format("d={}", to_string(*f.problem.d)), "use d=bf16, fp16 or f32"};
     }},
    {"recipe.fp8", problem, rows, illegal, "quantized elements are FP8",
     [](const Facts& f) {
       const std::vector<Recipe> recipes = recipes_of(f.problem);
       return std::all_of(recipes.begin(), recipes.end(), is_fp8);
     },
     [](const Facts& f) -> Advice {
       const std::vector<Recipe> recipes = recipes_of(f.problem);
       const Recipe& recipe = *std::find_if_not(recipes.begin(), recipes.end(), is_fp8);
       return {fmt::format("{}: not an FP8 type", to_string(recipe)), "use e4m3 or e5m2"};
     }},
    {"recipe.power-of-two-of-blocks", problem, rows, illegal,
     "the option belongs to f32 scales of blocks; E8M0 scales are powers of two anyway",
     [](const Facts& f) {
       const std::vector<Recipe> recipes = recipes_of(f.problem);
       return std::none_of(recipes.begin(), recipes.end(), misplaces_power_of_two);
     },
     [](const Facts& f) -> Advice {
       const std::vector<Recipe> recipes = recipes_of(f.problem);
       const Recipe& recipe = *std::find_if(recipes.begin(), recipes.end(), misplaces_power_of_two);
       return {fmt::format(":pow2 with {}", to_string(recipe)), "leave :pow2 out"};
     }},
    {"recipe.32x32-of-weights", problem, rows, illegal,
     "rows of tokens come and go, so no scale spans 32 of them alone",
     [](const Facts& f) {
       const std::vector<Recipe> recipes = recipes_of(f.problem);
       return f.problem.layout == Layout::uniform ||
              std::none_of(recipes.begin(), recipes.end(),
                           [](const Recipe& recipe) { return recipe.granularity == Granularity::mx_32x32; });
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("32x32 with {}", kind_of(f.problem)), "use 1x32, or the layout uniform for weights"};
     }},
    {"recipe.scale-layout", problem, rows, illegal, "a granularity has its own ways to lie in memory",
     [](const Facts& f) {
       const std::vector<Recipe> recipes = recipes_of(f.problem);
       return std::all_of(recipes.begin(), recipes.end(), [&](const Recipe& recipe) {
         return contains(scale_layouts_of(recipe.granularity, f.problem.layout), recipe.scale_layout);
       });
     },
     [](const Facts& f) -> Advice {
       const std::vector<Recipe> recipes = recipes_of(f.problem);
       const Recipe& recipe = *std::find_if_not(recipes.begin(), recipes.end(), [&](const Recipe& other) {
         return contains(scale_layouts_of(other.granularity, f.problem.layout), other.scale_layout);
       });
       const std::vector<std::string> names = names_of(scale_layouts_of(recipe.granularity, f.problem.layout));
       return {fmt::format("@{} of {} in {}: no such scales", to_string(recipe.scale_layout),
                           to_string(recipe.granularity), kind_of(f.problem)),
               fmt::format("use {}", fmt::join(names, " or "))};
     }},
    {"recipe.k-major-of-rows", problem, rows, illegal, "columnwise scales of 1x128 have one layout, col_mn_major",
     [](const Facts& f) {
       const std::vector<Recipe> recipes = recipes_of(f.problem);
       return f.problem.dir != Direction::col || std::none_of(recipes.begin(), recipes.end(), [](const Recipe& recipe) {
                return recipe.scale_layout == ScaleLayout::k_major;
              });
     },
     [](const Facts&) -> Advice {
       return {"@k_major with dir=col: it names the layout of rowwise scales", "leave it out"};
     }},
    {"quantize.given-of-tensor", problem, quantize, illegal, "scales of blocks come from the blocks",
     [](const Facts& f) { return is_tensor(f.problem) || !f.problem.has(Flag::given); },
     [](const Facts& f) -> Advice {
       return {fmt::format("+given with out={}", to_string(*f.problem.out)), "use out=e4m3:tensor, or leave it out"};
     }},
    {"quantize.amax-of-tensor", problem, quantize, unsupported,
     "a group's largest magnitude is kept where its scale depends on it; other recipes would need a pass for it",
     [](const Facts& f) { return is_tensor(f.problem) || !f.problem.has(Flag::amax); },
     [](const Facts& f) -> Advice {
       return {fmt::format("+amax with out={}", to_string(*f.problem.out)), "use out=e4m3:tensor, or leave it out"};
     }},
    {"activation.gate-of-gated", problem, quantize, illegal, "only a gated activation has two halves to arrange",
     [](const Facts& f) { return is_gated(f.problem.act) || (!f.problem.gate_second && f.problem.il == 0); },
     [](const Facts& f) -> Advice {
       return {fmt::format("{} with act={}", f.problem.il != 0 ? "il=" : "gate=second", to_string(f.problem.act)),
               "leave it out"};
     }},
    {"activation.interleave", problem, quantize, illegal, "eight columns of a thread are of one half, or take turns",
     [](const Facts& f) {
       const int il = f.problem.il;
       return il == 0 || il == 1 || il == 8 || il == 16 || il == 32 || il == 64;
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("il={}", f.problem.il), "use 1, 8, 16, 32 or 64, or leave it out for two halves"};
     }},
    {"activation.flags-of-activation", problem, quantize, illegal, "bias and probabilities are those of an activation",
     [](const Facts& f) {
       return f.problem.act != Activation::none || !(f.problem.has(Flag::bias) || f.problem.has(Flag::probs));
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("{} without an activation", f.problem.has(Flag::bias) ? "+bias" : "+probs"),
               "add act=<name>, or leave it out"};
     }},
    {"activation.dbias-of-gradient", problem, quantize, illegal, "dbias is the column sum of a gradient",
     [](const Facts& f) { return !f.problem.has(Flag::dbias) || f.problem.has(Flag::grad); },
     [](const Facts&) -> Advice {
       return {"+dbias without +grad", "add +grad, or leave it out"};
     }},
    {"activation.grad-of-something", problem, quantize, illegal,
     "without activation and dbias a gradient is quantized as anything else",
     [](const Facts& f) {
       return !f.problem.has(Flag::grad) || f.problem.act != Activation::none || f.problem.has(Flag::dbias);
     },
     [](const Facts&) -> Advice {
       return {"+grad without act= or +dbias", "leave it out"};
     }},
    {"convert.one-direction", problem, convert, illegal, "one call reads one operand",
     [](const Facts& f) { return f.problem.dir != Direction::row_col; },
     [](const Facts& f) -> Advice {
       return {fmt::format("dir={}", direction_text(f.problem.dir)), "make one call for each direction"};
     }},
    {"convert.same-scheme", problem, convert, illegal, "a converter rearranges; it does not quantize again",
     [](const Facts& f) {
       const Problem& p = f.problem;
       return !p.out || (p.a->type == p.out->type && p.a->granularity == p.out->granularity &&
                         p.a->power_of_two == p.out->power_of_two);
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("a={} out={}", to_string(*f.problem.a), to_string(*f.problem.out)),
               "dequantize and quantize, or change the scale layout alone"};
     }},
    {"convert.something", problem, convert, illegal, "a copy needs no kernel",
     [](const Facts& f) {
       const Problem& p = f.problem;
       return !p.out || p.a->scale_layout != p.out->scale_layout || p.from != p.to;
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("a={} out={}: alike", to_string(*f.problem.a), to_string(*f.problem.out)),
               "name the scale layout or the packing to change to"};
     }},
    {"convert.packing-of-columns", problem, convert, illegal, "other packings are those of columnwise data",
     [](const Facts& f) {
       const bool ours = f.problem.from == Packing::octet && f.problem.to == Packing::octet;
       return ours || f.problem.dir == Direction::col;
     },
     [](const Facts&) -> Advice {
       return {"from= or to= with dir=row", "add dir=col"};
     }},
    {"convert.packing-of-recipe", problem, convert, illegal, "peers pack one recipe each in a way of their own",
     [](const Facts& f) {
       const Problem& p = f.problem;
       const bool deepgemm = p.from == Packing::deepgemm || p.to == Packing::deepgemm;
       const bool te = p.from == Packing::te || p.to == Packing::te;
       return (!deepgemm || p.a->granularity == Granularity::block_1x128) &&
              (!te || p.a->granularity == Granularity::mx_1x32);
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("from= or to= with a={}", to_string(*f.problem.a)),
               "use deepgemm with 1x128 and te with 1x32"};
     }},
    {"convert.deepgemm-of-packed", problem, convert, illegal, "DeepGEMM's blocks lie end to end, as packed groups do",
     [](const Facts& f) {
       const bool deepgemm = f.problem.from == Packing::deepgemm || f.problem.to == Packing::deepgemm;
       return !deepgemm || f.problem.layout == Layout::packed;
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("deepgemm with {}", kind_of(f.problem)), "use packed groups"};
     }},
    {"splits.counts-of-masked", problem, any, illegal, "a masked buffer says how many rows each group has",
     [](const Facts& f) { return f.problem.layout != Layout::masked || f.problem.splits.form == SplitsForm::sizes; },
     [](const Facts& f) -> Advice {
       const char* type = f.problem.splits.is_i64 ? "i64" : "i32";
       return {fmt::format("splits={}/... of a masked buffer", type), fmt::format("pass counts (splits={})", type)};
     }},
    {"splits.starts-of-padded", problem, any, illegal, "with gaps between groups, starts do not say where a group ends",
     [](const Facts& f) { return f.problem.layout != Layout::padded || f.problem.splits.form != SplitsForm::starts; },
     [](const Facts& f) -> Advice {
       const char* type = f.problem.splits.is_i64 ? "i64" : "i32";
       return {fmt::format("splits={}/starts: starts of a padded buffer do not say where its groups end", type),
               fmt::format("pass sizes (splits={0}) or ends (splits={0}/ends)", type)};
     }},

    // ---- Limits.
    {"groups.at-most-1024", problem, any, illegal, "the tile scheduler keeps a table of groups in shared memory",
     [](const Facts& f) { return f.problem.g <= kMaxGroups; },
     [](const Facts& f) { return too_large("G", f.problem.g, kMaxGroups, "split the groups among several calls"); }},
    {"padded.alignment-at-most-1048576", problem, any, illegal, "group starts are 32-bit row numbers",
     [](const Facts& f) { return f.problem.al <= kMaxAlignment; },
     [](const Facts& f) { return too_large("al", f.problem.al, kMaxAlignment, "use a smaller alignment"); }},
    {"gemm.n-multiple-of-8", problem, gemm, illegal, "rows of D are 16-byte multiples, as TMA needs",
     [](const Facts& f) { return f.problem.n % 8 == 0; },
     [](const Facts& f) { return not_a_multiple("N", f.problem.n, 8); }},
    {"gemm.k-multiple-of-16", problem, gemm, illegal, "rows of FP8 operands are 16-byte multiples, as TMA needs",
     [](const Facts& f) { return f.problem.k % 16 == 0; },
     [](const Facts& f) { return not_a_multiple("K", f.problem.k, 16); }},
    {"gemm.dir-col-n-multiple-of-16", problem, gemm, illegal, "the quantizer of the weights' other axis needs it",
     [](const Facts& f) { return f.problem.dir == Direction::row || f.problem.n % 16 == 0; },
     [](const Facts& f) { return not_a_multiple("N", f.problem.n, 16); }},
    {"wgrad.n-multiple-of-16", problem, gemm, illegal, "the quantizer of A needs it",
     [](const Facts& f) { return f.problem.op != Operation::wgrad || f.problem.n % 16 == 0; },
     [](const Facts& f) { return not_a_multiple("N", f.problem.n, 16); }},
    {"gemm.k-at-most-262144", problem, gemm, illegal, "the scales of B along K stay in shared memory",
     [](const Facts& f) { return f.problem.k <= kMaxGemmK; },
     [](const Facts& f) { return too_large("K", f.problem.k, kMaxGemmK, "split K and add the results"); }},
    {"quantize.columns-multiple-of-16", problem, rows, illegal,
     "a thread has eight columns, and rows of FP8 are 16-byte multiples, as TMA needs",
     [](const Facts& f) { return columns_of(f.problem) % 16 == 0; },
     [](const Facts& f) -> Advice {
       const std::int64_t unit = std::lcm<std::int64_t>(16, std::max(f.problem.il, 1));
       return {fmt::format("{}={}: not a multiple of 16", columns_name(f.problem), columns_of(f.problem)),
               fmt::format("pad {} to {}", columns_name(f.problem), round_up(columns_of(f.problem), unit))};
     }},
    {"quantize.columns-at-most-16777216", problem, rows, illegal, "column indices are 32-bit",
     [](const Facts& f) { return columns_of(f.problem) <= kMaxColumns; },
     [](const Facts& f) {
       return too_large(columns_name(f.problem), columns_of(f.problem), kMaxColumns,
                        "split the columns among several calls");
     }},
    {"quantize.columns-multiple-of-interleave", problem, quantize, illegal, "gate and up take turns in whole blocks",
     [](const Facts& f) { return f.problem.il == 0 || columns_of(f.problem) % f.problem.il == 0; },
     [](const Facts& f) { return not_a_multiple(columns_name(f.problem), columns_of(f.problem), f.problem.il); }},
    {"quantize.weight-rows-multiple-of-16", problem, rows, illegal,
     "rows of transposed FP8 are 16-byte multiples, as TMA needs",
     [](const Facts& f) {
       return f.problem.layout != Layout::uniform || f.problem.dir == Direction::row || f.problem.n % 16 == 0;
     },
     [](const Facts& f) { return not_a_multiple("N", f.problem.n, 16); }},
    {"masked.rows-fit-32-bit", problem, any, illegal, "row numbers are 32-bit",
     [](const Facts& f) { return f.problem.m <= kMaxWeightRows / std::max<std::int64_t>(f.problem.g, 1); },
     [](const Facts& f) -> Advice {
       return {fmt::format("G={} m={}: more than {} rows", f.problem.g, f.problem.m, kMaxWeightRows),
               "split the call by groups"};
     }},
    {"wgrad.rows-fit-32-bit", problem, gemm, illegal, "TMA coordinates along a wgrad's rows are 32-bit",
     [](const Facts& f) {
       const Problem& p = f.problem;
       return p.op != Operation::wgrad || p.layout != Layout::masked ||
              round_up(p.m, 128) <= kMaxWeightRows / std::max<std::int64_t>(p.g, 1);
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("G={} m={}: more than {} rows, each group in whole 128", f.problem.g, f.problem.m,
                           kMaxWeightRows),
               "split the call by groups"};
     }},
    {"weights.rows-fit-32-bit", problem, any, illegal, "TMA coordinates are 32-bit",
     [](const Facts& f) { return f.problem.n <= kMaxWeightRows / std::max<std::int64_t>(f.problem.g, 1); },
     [](const Facts& f) -> Advice {
       return {fmt::format("G={} N={}: more than {} rows of weights", f.problem.g, f.problem.n, kMaxWeightRows),
               "split the call by groups"};
     }},
    {"weights.scales-fit-32-bit", problem, any, illegal, "scale indices are 32-bit",
     [](const Facts& f) {
       const bool blocks = !f.problem.b || f.problem.b->granularity == Granularity::block_128x128;
       return f.problem.op == Operation::wgrad || !blocks || weight_scales(f.problem) <= kMaxScales;
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("G={} N={} K={}: more than {} scales", f.problem.g, f.problem.n, f.problem.k, kMaxScales),
               "split the call by groups"};
     }},

    // ---- Configs of the GEMM.
    {"gemm.config-of-gemm", config, gemm, illegal, "a config belongs to its operation",
     [](const Facts& f) { return std::holds_alternative<GemmConfig>(*f.config); },
     [](const Facts& f) -> Advice {
       return {fmt::format("config '{}' is not one of a GEMM", to_string(*f.config)), "use a GemmConfig"};
     }},
    {"gemm.wgmma-arch", config, gemm, unsupported, "wgmma, setmaxnreg and TMA as sm_90a has them",
     [](const Facts& f) { return f.device.arch == "sm_90a"; },
     [](const Facts& f) -> Advice {
       return {fmt::format("arch '{}'", f.device.arch), "use sm_90a, or a portable config"};
     }},
    {"gemm.wgmma-scales", config, gemm, unsupported, "scales come through tensor maps, or a tile ahead",
     [](const Facts& f) { return wgmma_reads(*f.problem.a) && wgmma_reads(*f.problem.b); },
     [](const Facts& f) -> Advice {
       return {fmt::format("a={} b={}: not with wgmma yet", to_string(*f.problem.a), to_string(*f.problem.b)),
               f.problem.a->granularity == Granularity::mx_1x32
                   ? "use an mx config"
                   : "use mn_major, block2d or block2d_t scales for speed, or a portable config"};
     }},
    {"gemm.warpgroups-1-to-3", config, gemm, illegal, "the registers of a multiprocessor hold three math warpgroups",
     [](const Facts& f) {
       const GemmConfig& c = f.gemm();
       return c.warpgroups_m >= 1 && c.warpgroups_n >= 1 && c.warpgroups_m <= 3 && c.warpgroups_n <= 3 &&
              c.warpgroups_m * c.warpgroups_n <= 3;
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("{}x{} math warpgroups", f.gemm().warpgroups_m, f.gemm().warpgroups_n), "use one to three"};
     }},
    {"gemm.block-at-most-256", config, gemm, illegal, "a TMA box has at most 256 rows",
     [](const Facts& f) {
       return f.gemm().block_m >= 1 && f.gemm().block_m <= 256 && f.gemm().block_n >= 1 && f.gemm().block_n <= 256;
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("block {}x{}", f.gemm().block_m, f.gemm().block_n), "use 1 to 256 rows and columns"};
     }},
    {"gemm.warpgroup-owns-64-rows", config, gemm, illegal, "wgmma computes 64 rows",
     [](const Facts& f) { return f.gemm().block_m % (64 * f.gemm().warpgroups_m) == 0; },
     [](const Facts& f) -> Advice {
       return {fmt::format("block_m={} over {} warpgroups: not multiples of 64 rows each", f.gemm().block_m,
                           f.gemm().warpgroups_m),
               fmt::format("use a multiple of {} rows", 64 * f.gemm().warpgroups_m)};
     }},
    {"gemm.swapped-shape", config, gemm, illegal, "a tile's tokens are the columns of one matrix instruction",
     [](const Facts& f) {
       const GemmConfig& c = f.gemm();
       const bool is_step = c.block_n == 16 || c.block_n == 32 || c.block_n == 64 || c.block_n == 128;
       const bool one_scale = c.block_m == 64 * c.warpgroups_m && c.block_m <= 128;
       return !c.swapped ||
              (is_step && one_scale && c.warpgroups_n == 1 && c.cluster_m * c.cluster_n == 1 && !c.whole_tile_store);
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("swapped config '{}'", to_string(*f.config)),
               "use 64 or 128 weights for block_m, one warpgroup for each 64, 16, 32, 64 or 128 tokens for block_n, no "
               "cluster and no whole tiles"};
     }},
    {"gemm.split-k-of-swapped", config, gemm, illegal, "only where few tokens meet many weights has K to be split",
     [](const Facts& f) { return f.gemm().split_k == 1 || f.gemm().swapped; },
     [](const Facts& f) -> Advice {
       return {fmt::format("split_k={} of a config that is not swapped", f.gemm().split_k), "use split_k=1"};
     }},
    {"gemm.split-k-shares-tokens", config, gemm, illegal,
     "2 or 4 blocks of a cluster store equal parts of a tile, whose tokens are turned 16 at a time",
     [](const Facts& f) {
       const int parts = f.gemm().split_k;
       return parts == 1 || ((parts == 2 || parts == 4) && f.gemm().block_n % (16 * parts) == 0);
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("split_k={} with block_n={}", f.gemm().split_k, f.gemm().block_n),
               "use 1, 2 or 4, with at least 16 tokens for each"};
     }},
    {"gemm.blocks-per-multiprocessor", config, gemm, illegal,
     "two or three math warpgroups take the registers of a multiprocessor",
     [](const Facts& f) {
       const GemmConfig& c = f.gemm();
       const int most = c.swapped ? 8 : c.warpgroups_m * c.warpgroups_n == 1 ? 2 : 1;
       return c.blocks_per_sm >= 1 && c.blocks_per_sm <= most;
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("{} blocks per multiprocessor", f.gemm().blocks_per_sm),
               "use 1; 2 with one warpgroup; up to 8 where swapped"};
     }},
    {"gemm.swapped-of-forward", config, gemm, illegal, "both operands of a wgrad have many rows",
     [](const Facts& f) { return !f.gemm().swapped || f.problem.op == Operation::gemm; },
     [](const Facts& f) -> Advice {
       return {fmt::format("a swapped config for {}", to_string(f.problem.op)), "use one that is not swapped"};
     }},
    {"gemm.wgrad-cluster", config, gemm, illegal, "a cluster of a wgrad shares A, along N",
     [](const Facts& f) { return f.problem.op != Operation::wgrad || f.gemm().cluster_m == 1; },
     [](const Facts& f) -> Advice {
       return {fmt::format("cluster of {}x{}", f.gemm().cluster_m, f.gemm().cluster_n), "use 1x1 or 1x2"};
     }},
    {"gemm.warpgroup-owns-128-columns", config, gemm, illegal, "one scale of B covers 128 columns",
     [](const Facts& f) { return f.gemm().swapped || f.gemm().block_n % (128 * f.gemm().warpgroups_n) == 0; },
     [](const Facts& f) -> Advice {
       return {fmt::format("block_n={} over {} warpgroups: not multiples of 128 columns each", f.gemm().block_n,
                           f.gemm().warpgroups_n),
               fmt::format("use a multiple of {} columns", 128 * f.gemm().warpgroups_n)};
     }},
    {"gemm.accumulators-fit-registers", config, gemm, illegal, "accumulators and one partial sum stay in registers",
     [](const Facts& f) { return accumulators_per_thread(f.gemm()) <= accumulators_that_fit(f); },
     [](const Facts& f) -> Advice {
       return {fmt::format("{} accumulators per thread, {} fit", accumulators_per_thread(f.gemm()),
                           accumulators_that_fit(f)),
               "use a smaller block"};
     }},
    {"gemm.stages-2-to-16", config, gemm, illegal, "loads run ahead of the math by at least one stage",
     [](const Facts& f) { return f.gemm().stages >= 2 && f.gemm().stages <= 16; },
     [](const Facts& f) -> Advice {
       return {fmt::format("{} stages", f.gemm().stages), "use 2 to 16"};
     }},
    {"gemm.cluster-1-or-2", config, gemm, illegal, "larger clusters leave multiprocessors without work",
     [](const Facts& f) {
       const GemmConfig& config = f.gemm();
       return std::min(config.cluster_m, config.cluster_n) == 1 && std::max(config.cluster_m, config.cluster_n) <= 2;
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("cluster of {}x{}", f.gemm().cluster_m, f.gemm().cluster_n), "use 1x1, 1x2 or 2x1"};
     }},
    {"gemm.tile-not-far-wider-than-n", config, gemm, illegal, "columns that D has not are computed for nothing",
     [](const Facts& f) {
       const bool narrowest = f.gemm().block_n * f.gemm().cluster_n == kNarrowestTile;
       return f.gemm().swapped || narrowest || 2 * columns_of_d(f.problem) >= covered_columns(f);
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("{} columns of D: less than half of the {} that the thread blocks cover",
                           columns_of_d(f.problem), covered_columns(f)),
               "use a narrower block or no cluster"};
     }},
    {"gemm.shared-memory-fits", config, gemm, illegal, "a thread block has this much shared memory and no more",
     [](const Facts& f) { return gemm_shared_memory_bytes(f.problem, f.gemm()) <= f.device.shared_memory_per_block; },
     [](const Facts& f) -> Advice {
       return {fmt::format("{} bytes of shared memory, {} has {}", gemm_shared_memory_bytes(f.problem, f.gemm()),
                           f.device.arch, f.device.shared_memory_per_block),
               "use a smaller block or fewer stages"};
     }},

    {"gemm.resident-blocks-fit", config, gemm, illegal,
     "grid and registers are made for this many blocks per multiprocessor",
     [](const Facts& f) { return resident_shared_bytes(f) <= f.device.shared_memory_per_sm; },
     [](const Facts& f) -> Advice {
       return {fmt::format("{} blocks need {} bytes of shared memory, a multiprocessor has {}", f.gemm().blocks_per_sm,
                           resident_shared_bytes(f), f.device.shared_memory_per_sm),
               "use a smaller block or fewer stages"};
     }},

    // ---- Portable configs of the GEMM.
    {"portable.config-of-gemm", config, portable, illegal, "a config belongs to its operation",
     [](const Facts& f) { return is_gemm(f.problem.op); },
     [](const Facts& f) -> Advice {
       return {fmt::format("config '{}' is one of a GEMM", to_string(*f.config)), "use a QuantizeConfig"};
     }},
    {"portable.own-packing", config, portable, unsupported, "columns of a group are read from one matrix",
     [](const Facts& f) { return f.problem.from == Packing::octet; },
     [](const Facts&) -> Advice {
       return {"from=deepgemm: not with mma.sync", "convert the operands with a convert problem"};
     }},
    {"portable.warps-1-to-8", config, portable, illegal, "accumulators of more warps do not fit the registers",
     [](const Facts& f) {
       const PortableConfig& c = f.portable();
       return c.warps_m >= 1 && c.warps_n >= 1 && c.warps_m <= 8 && c.warps_n <= 8 && c.warps_m * c.warps_n <= 8;
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("{}x{} warps", f.portable().warps_m, f.portable().warps_n), "use one to eight"};
     }},
    {"portable.warp-owns-16x16", config, portable, illegal, "mma is 16 x 8, and two of them share a load of B",
     [](const Facts& f) {
       const PortableConfig& c = f.portable();
       return c.block_m >= 16 && c.block_n >= 16 && c.block_m <= 256 && c.block_n <= 256 &&
              c.block_m % (16 * c.warps_m) == 0 && c.block_n % (16 * c.warps_n) == 0;
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("block {}x{} over {}x{} warps", f.portable().block_m, f.portable().block_n,
                           f.portable().warps_m, f.portable().warps_n),
               "use multiples of 16 rows and columns of each warp, at most 256 in all"};
     }},
    {"portable.accumulators-fit-registers", config, portable, illegal, "sums and partial sums stay in registers",
     [](const Facts& f) {
       const PortableConfig& c = f.portable();
       return c.block_m * c.block_n <= 64 * 32 * c.warps_m * c.warps_n;
     },
     [](const Facts& f) -> Advice {
       return {
           fmt::format("block {}x{}: more than 64 accumulators per thread", f.portable().block_m, f.portable().block_n),
           "use a smaller block or more warps"};
     }},
    {"portable.stages-2-to-16", config, portable, illegal, "loads run ahead of the math by at least one stage",
     [](const Facts& f) { return f.portable().stages >= 2 && f.portable().stages <= 16; },
     [](const Facts& f) -> Advice {
       return {fmt::format("{} stages", f.portable().stages), "use 2 to 16"};
     }},
    {"portable.shared-memory-fits", config, portable, illegal, "a thread block has this much shared memory and no more",
     [](const Facts& f) {
       return portable_shared_memory_bytes(f.problem, f.portable()) <= f.device.shared_memory_per_block;
     },
     [](const Facts& f) -> Advice {
       return {
           fmt::format("{} bytes of shared memory, {} has {}", portable_shared_memory_bytes(f.problem, f.portable()),
                       f.device.arch, f.device.shared_memory_per_block),
           "use a smaller block or fewer stages"};
     }},

    // ---- Configs of the MXFP8 GEMM.
    {"mx.config-of-gemm", config, mx, illegal, "a config belongs to its operation",
     [](const Facts& f) { return is_gemm(f.problem.op); },
     [](const Facts& f) -> Advice {
       return {fmt::format("config '{}' is one of a GEMM", to_string(*f.config)), "use a QuantizeConfig"};
     }},
    {"mx.wgmma-arch", config, mx, unsupported, "wgmma, setmaxnreg and TMA as sm_90a has them",
     [](const Facts& f) { return f.device.arch == "sm_90a"; },
     [](const Facts& f) -> Advice {
       return {fmt::format("arch '{}'", f.device.arch), "use sm_90a, or a portable config"};
     }},
    {"mx.scales-of-32", config, mx, illegal, "what is dequantized to bf16 has E8M0 scales of 32 along K",
     [](const Facts& f) { return f.problem.a->granularity == Granularity::mx_1x32; },
     [](const Facts& f) -> Advice {
       return {fmt::format("a={} b={}", to_string(*f.problem.a), to_string(*f.problem.b)),
               "use 1x32 recipes, or another config"};
     }},
    {"mx.weights", config, mx, unsupported, "B is read through one tensor map",
     [](const Facts& f) { return !f.problem.weights_by_pointer; },
     [](const Facts&) -> Advice {
       return {"w=pointers: not with wgmma yet",
               "put the tensors of all groups in one buffer, or use a portable config"};
     }},
    {"mx.block-shape", config, mx, illegal, "two math warpgroups of 64 rows each, by one matrix instruction",
     [](const Facts& f) {
       const MxConfig& c = f.mx();
       return c.block_m == 128 && (c.block_n == 32 || c.block_n == 64 || c.block_n == 128 || c.block_n == 256);
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("block {}x{}", f.mx().block_m, f.mx().block_n), "use 128 by 32, 64, 128 or 256"};
     }},
    {"mx.direct-stages", config, mx, illegal, "A is dequantized one stage ahead of the matrix instruction",
     [](const Facts& f) { return f.mx().direct == 0 || (f.mx().direct >= 2 && f.mx().direct <= 4); },
     [](const Facts& f) -> Advice {
       return {fmt::format("{} stages of A as bf16", f.mx().direct), "use 2 to 4, or 0 for a workspace"};
     }},
    {"mx.stages-2-to-16", config, mx, illegal, "loads run ahead of the math by at least one stage",
     [](const Facts& f) { return f.mx().stages >= 2 && f.mx().stages <= 16; },
     [](const Facts& f) -> Advice {
       return {fmt::format("{} stages", f.mx().stages), "use 2 to 16"};
     }},
    {"mx.cluster-1-or-2", config, mx, illegal, "larger clusters leave multiprocessors without work",
     [](const Facts& f) { return f.mx().cluster_n == 1 || f.mx().cluster_n == 2; },
     [](const Facts& f) -> Advice {
       return {fmt::format("cluster of 1x{}", f.mx().cluster_n), "use 1x1 or 1x2"};
     }},
    {"mx.shared-memory-fits", config, mx, illegal, "a thread block has this much shared memory and no more",
     [](const Facts& f) { return mx_shared_memory_bytes(f.problem, f.mx()) <= f.device.shared_memory_per_block; },
     [](const Facts& f) -> Advice {
       return {fmt::format("{} bytes of shared memory, {} has {}", mx_shared_memory_bytes(f.problem, f.mx()),
                           f.device.arch, f.device.shared_memory_per_block),
               "use a smaller block or fewer stages"};
     }},

    // ---- Configs of the quantizers.
    {"quantize.config-of-quantize", config, rows, illegal, "a config belongs to its operation",
     [](const Facts& f) { return std::holds_alternative<QuantizeConfig>(*f.config); },
     [](const Facts& f) -> Advice {
       return {fmt::format("config '{}' is not one of a quantizer", to_string(*f.config)), "use a QuantizeConfig"};
     }},
    {"quantize.rows-per-thread", config, rows, illegal,
     "the reduction over a block halves four or eight rows; a tile of 128 rows is eight of sixteen threads",
     [](const Facts& f) {
       const int held = f.quantize().rows_per_thread;
       return held == 8 || (held == 4 && !works_on_tiles(f.problem));
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("{} rows per thread", f.quantize().rows_per_thread),
               works_on_tiles(f.problem) ? "use 8" : "use 4 or 8"};
     }},
    {"quantize.threads", config, rows, illegal, "whole warps; tiles of 128 x 128 need 256 threads of 8 x 8 elements",
     [](const Facts& f) {
       const int threads = f.quantize().threads;
       const bool whole_warps = threads >= 64 && threads <= 1024 && threads % 32 == 0;
       return needs_256_threads(f.problem) ? threads == 256 : whole_warps;
     },
     [](const Facts& f) -> Advice {
       return {fmt::format("{} threads", f.quantize().threads),
               needs_256_threads(f.problem) ? "use 256" : "use a multiple of 32 from 64 to 1024"};
     }},
    {"quantize.blocks-fit-multiprocessor", config, rows, illegal, "a multiprocessor holds 2048 threads",
     [](const Facts& f) {
       const QuantizeConfig& c = f.quantize();
       return c.blocks_per_sm >= 1 && c.blocks_per_sm <= kThreadsPerSm / c.threads;
     },
     [](const Facts& f) -> Advice {
       return {
           fmt::format("{} blocks of {} threads per multiprocessor", f.quantize().blocks_per_sm, f.quantize().threads),
           fmt::format("use 1 to {} blocks", kThreadsPerSm / f.quantize().threads)};
     }},

    // ---- What the caller has.
    {"config.no-workspace", config, any, unsupported, "the caller has no workspace to give",
     [](const Facts& f) { return !f.no_workspace || !needs_workspace(f.problem, *f.config); },
     [](const Facts&) -> Advice {
       return {"no workspace, which this config needs", "give one, or use another config"};
     }},
};

bool applies(const Rule& rule, Scope scope, const Facts& facts) {
  if (rule.scope != scope) return false;
  if (rule.subject == Subject::any) return true;
  const bool is_mx = facts.config != nullptr && std::holds_alternative<MxConfig>(*facts.config);
  if (is_mx || rule.subject == Subject::mx) return is_mx && rule.subject == Subject::mx;
  const bool is_portable = facts.config != nullptr && std::holds_alternative<PortableConfig>(*facts.config);
  if (is_portable || rule.subject == Subject::portable) return is_portable && rule.subject == Subject::portable;
  const Operation op = facts.problem.op;
  const bool quantizes = op == Operation::quantize || op == Operation::activation;
  const bool converts = op == Operation::dequantize || op == Operation::convert;
  switch (rule.subject) {
    case Subject::gemm:
      return is_gemm(op);
    case Subject::quantize:
      return quantizes;
    case Subject::convert:
      return converts;
    case Subject::rows:
      return quantizes || converts;
    case Subject::any:
    case Subject::portable:
    case Subject::mx:
      break;
  }
  return false;
}

std::optional<Refusal> first_refusal(Scope scope, const Facts& facts) {
  for (const Rule& rule : kRules) {
    if (!applies(rule, scope, facts) || rule.holds(facts)) continue;
    const Advice advice = rule.says(facts);
    return Refusal{rule.id, fmt::format("{} (rule {}); {}", advice.got, rule.id, advice.next),
                   rule.verdict == illegal ? ErrorCode::invalid_problem : ErrorCode::no_kernel};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> refuse(const Problem& p, const DeviceFacts& device) {
  return first_refusal(Scope::problem, {p, device});
}

std::optional<Refusal> refuse_config(const Problem& p, const Config& c, const DeviceFacts& device, bool no_workspace) {
  return first_refusal(Scope::config, {p, device, &c, no_workspace});
}

std::optional<Refusal> refuse(const Spec& spec, const DeviceFacts& device) {
  DeviceFacts target = device;
  target.arch = spec.arch;
  if (std::optional<Refusal> refused = refuse(spec.problem, target)) return refused;
  return refuse_config(spec.problem, spec.config, target);
}

void throw_refusal(const Refusal& refusal, const Problem& p) {
  throw Error(refusal.code, fmt::format("{}, or run: octet explain '{}'", refusal.message, p.to_string()));
}

std::vector<RuleDescription> rule_descriptions() {
  std::vector<RuleDescription> descriptions;
  for (const Rule& rule : kRules) {
    descriptions.push_back({rule.id, rule.scope == Scope::problem ? "problem" : "config", rule.why});
  }
  const std::vector<RuleDescription> of_plans = plan_rule_descriptions();
  descriptions.insert(descriptions.end(), of_plans.begin(), of_plans.end());
  return descriptions;
}

}  // namespace octet
