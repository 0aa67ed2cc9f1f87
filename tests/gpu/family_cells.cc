#include "tests/gpu/family_cells.h"

#include <exception>
#include <iostream>
#include <map>

#include <fmt/format.h>

namespace octet::test {
namespace {

const std::string& taking_turns(const std::vector<std::string>& items, std::size_t turn) { return pick(items, turn); }

// Flags, and the factors that suit them.
struct Epilogue {
  std::string flags;
  float alpha = 1, beta = 1;
};

std::vector<Epilogue> epilogues(Pass pass, const RecipePair& pair, const FamilyLayout& layout) {
  std::vector<Epilogue> all = {{""}, {" +acc"}};
  if (pass == Pass::wgrad) {
    all.push_back({" +acc", 2, 0.5F});
  } else {
    all.push_back({" +bias"});
    all.push_back({" +bias +acc", 2, 0.5F});
  }
  if (pair.whole) all.push_back({" +fastacc"});
  if (!layout.splits.empty()) all.push_back({" +checked"});
  return all;
}

const std::string& shape_of(Pass pass, std::size_t turn) {
  static const std::vector<std::string> forward = {" n264 k400", " n136 k272", " n576 k912", " n256 k128"},
                                        others = {" n272 k400", " n144 k272", " n576 k912", " n256 k128"};
  return taking_turns(pass == Pass::forward ? forward : others, turn);
}

const std::string& types_of(std::size_t turn, bool of_b) {
  static const std::vector<std::string> a = {"e4m3:", "e5m2:", "e4m3:", "e4m3:"},
                                        b = {"e4m3:", "e4m3:", "e5m2:", "e4m3:"};
  return taking_turns(of_b ? b : a, turn);
}

// Scale layouts that columnwise operands do not have are left out.
std::string recipe_of(const std::vector<std::string>& variants, bool columnwise, bool weights, std::size_t turn) {
  const std::string& recipe = taking_turns(variants, turn);
  const bool only_rowwise = recipe.ends_with("@k_major"), only_of_weights = recipe.ends_with("@block2d_t");
  return (columnwise && only_rowwise) || (!weights && only_of_weights) ? recipe.substr(0, recipe.find('@')) : recipe;
}

std::string cell_line(Pass pass, const RecipePair& pair, const FamilyLayout& layout, const std::string& flags,
                      std::size_t turn, std::size_t d_turn) {
  static const std::vector<std::string> d_types = {"bf16", "f32", "fp16"};
  const bool wgrad = pass == Pass::wgrad;
  std::string line =
      fmt::format("{}.{} {}{}", wgrad ? "wgrad" : "gemm", layout.name, layout.sizes, shape_of(pass, turn));
  line += " a=" + types_of(turn, false) + recipe_of(pair.a, wgrad, false, turn / 2);
  line += " b=" + types_of(turn, true) + recipe_of(pair.b, pass != Pass::forward, !wgrad, turn / 3);
  line += " d=" + taking_turns(d_types, d_turn);
  if (pass == Pass::dgrad) line += " dir=col";
  if (!layout.splits.empty()) line += taking_turns(layout.splits, turn);
  if (turn % 5 == 3) line += " w=pointers";
  return line + flags;
}

std::string rule_of(const std::string& refusal) {
  const std::size_t begin = refusal.find("(rule ");
  if (begin == std::string::npos) return refusal;
  return refusal.substr(begin + 6, refusal.find(')', begin) - begin - 6);
}

using Refusals = std::map<std::string, std::vector<std::string>>;

void print(const std::string& title, const CellReport& report, const Refusals& refusals) {
  std::cout << fmt::format("{}: {} cells accepted, {} refused\n", title, report.accepted, report.refused);
  for (const auto& [rule, lines] : refusals) {
    std::cout << fmt::format("  {}: {}, such as {}\n", rule, lines.size(), lines.front());
  }
  std::cout << std::flush;
}

std::string fault_or_error(const Gemm& gemm, const FamilyCase& gemm_case, Random& random) {
  try {
    return fault(gemm, gemm_case, random);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

const std::vector<RecipePair>& recipe_pairs() {
  static const std::vector<RecipePair> pairs = {
      {{"tensor"}, {"tensor"}, true, true},
      {{"row"}, {"row"}, true, true},
      {{"1x128", "1x128:pow2", "1x128@k_major"}, {"128x128", "128x128@block2d_t", "128x128:pow2"}},
      {{"1x128", "1x128@k_major", "1x128:pow2"}, {"1x128", "1x128:pow2", "1x128@k_major"}},
      {{"1x32", "1x32@swizzled"}, {"1x32@swizzled", "1x32"}},
      {{"1x32", "1x32@swizzled"}, {"32x32"}, false}};
  return pairs;
}

const std::vector<FamilyLayout>& family_layouts() {
  static const std::vector<FamilyLayout> layouts = {
      {"packed",
       "g8",
       {0, 1, 127, 128, 129, 31, 33, 0},
       {"", " splits=i64", " splits=i32/ends", " splits=i64/ends", " splits=i32/starts", " splits=i64/starts"}},
      {"padded",
       "g8 al32",
       {0, 1, 127, 128, 129, 31, 33, 0},
       {"", " splits=i64", " splits=i32/ends", " splits=i64/ends"}},
      {"masked", "g8 m144", {0, 1, 127, 128, 129, 31, 144, 0}, {"", " splits=i64"}},
      {"masked", "g6 m8", {0, 1, 7, 8, 3, 0}, {" splits=i64", ""}},
      {"dense", "g1", {201}, {}}};
  return layouts;
}

std::vector<FamilyCell> family_cells(Pass pass) {
  std::vector<FamilyCell> cells;
  for (std::size_t p = 0; p < recipe_pairs().size(); ++p) {
    const RecipePair& pair = recipe_pairs()[p];
    if (pass == Pass::wgrad && !pair.wgrad) continue;
    for (std::size_t l = 0; l < family_layouts().size(); ++l) {
      const FamilyLayout& layout = family_layouts()[l];
      for (const Epilogue& epilogue : epilogues(pass, pair, layout)) {
        const std::size_t turn = cells.size();
        FamilyCell cell;
        cell.line = cell_line(pass, pair, layout, epilogue.flags, turn, turn + p + l);
        cell.sizes = layout.rows;
        cell.alpha = epilogue.alpha, cell.beta = epilogue.beta;
        cell.gap = turn % 7 == 2 || turn % 7 == 5 ? 16 * static_cast<std::int64_t>(turn % 3 + 1) : 0;
        cell.pointers_on_device = turn % 2 == 0;
        cells.push_back(cell);
      }
    }
  }
  return cells;
}

std::vector<FamilyCell> share(const std::vector<FamilyCell>& cells, std::size_t part, std::size_t parts) {
  std::vector<FamilyCell> taken;
  for (std::size_t i = part; i < cells.size(); i += parts) taken.push_back(cells[i]);
  return taken;
}

FamilyCase make_case(const FamilyCell& cell, Random& random) {
  constexpr std::int64_t kSpareRows = 21;
  FamilyCase made = family_case(cell.line, cell.sizes, kSpareRows, random);
  made.alpha *= cell.alpha;  // beside what fp16 needs
  made.beta = cell.beta;
  made.a_gap = made.b_gap = cell.gap;
  made.d_gap = cell.gap / size_bytes(*made.problem.d);
  made.pointers_on_device = cell.pointers_on_device;
  return made;
}

CellReport check_family_cells(const std::string& title, const std::vector<FamilyCell>& cells, Random& random) {
  CellReport report;
  Refusals refusals;
  std::vector<Spec> specs;
  std::vector<const FamilyCell*> accepted;
  for (const FamilyCell& cell : cells) {
    try {
      specs.push_back(select(Problem::parse(cell.line), Runtime::device_facts(0)));
      accepted.push_back(&cell);
    } catch (const Error& error) {
      refusals[rule_of(error.what())].push_back(cell.line);
      ++report.refused;
    }
  }
  report.accepted = static_cast<std::int64_t>(accepted.size());
  print(title, report, refusals);
  const std::vector<Gemm> kernels = prepare_all(specs);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::string text = fault_or_error(kernels[i], make_case(*accepted[i], random), random);
    if (!text.empty()) {
      report.faults.push_back(fmt::format("{} ({}): {}", accepted[i]->line, to_string(specs[i].config), text));
    }
  }
  return report;
}

CellReport check_every_config(const std::string& title, const std::vector<FamilyCell>& cells, Random& random) {
  CellReport report;
  Refusals refusals;
  for (const FamilyCell& cell : cells) {
    const Problem problem = Problem::parse(cell.line);
    std::vector<Spec> specs;
    for (const Candidate& candidate : explain(problem, Runtime::device_facts(0)).candidates) {
      if (!candidate.refused) {
        specs.push_back(candidate.spec);
      } else {
        ++report.refused;
        refusals[candidate.refused->rule].push_back(cell.line);
      }
    }
    if (specs.empty()) report.faults.push_back(cell.line + ": no config at all");
    report.accepted += static_cast<std::int64_t>(specs.size());
    const FamilyCase gemm_case = make_case(cell, random);
    for (const Gemm& gemm : prepare_all(specs)) {
      const std::string text = fault_or_error(gemm, gemm_case, random);
      if (!text.empty()) {
        report.faults.push_back(fmt::format("{} ({}): {}", cell.line, to_string(gemm.spec().config), text));
      }
    }
  }
  print(title, report, refusals);
  return report;
}

}  // namespace octet::test
