#include "tests/gpu/quantize_cells.h"

#include <exception>
#include <iostream>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace octet::test {
namespace {

constexpr std::int64_t kSpareRows = 21;

// The rule's name, of "… (rule NAME); …".
std::string rule_of(const std::string& refusal) {
  const std::size_t begin = refusal.find("(rule ");
  if (begin == std::string::npos) return refusal;
  return refusal.substr(begin + 6, refusal.find(')', begin) - begin - 6);
}

void print_refusals(const std::string& title, const CellReport& report, const std::vector<Prepared>& cells) {
  std::map<std::string, std::vector<std::string>> by_rule;
  for (const Prepared& cell : cells) {
    if (!cell.kernel) by_rule[rule_of(cell.refusal)].push_back(cell.problem.to_string());
  }
  std::cout << fmt::format("{}: {} cells accepted, {} refused\n", title, report.accepted, report.refused);
  for (const auto& [rule, lines] : by_rule) {
    std::cout << fmt::format("  {}: {}, such as {}\n", rule, lines.size(), lines.front());
  }
  std::cout << std::flush;
}

std::string cell_fault(const Prepared& cell, Random& random) {
  const bool has_sums = cell.problem.has(Flag::dbias) || cell.problem.has(Flag::probs);
  try {
    const std::string text = fault(*cell.kernel, awkward_case(cell.problem, cell_sizes(), kSpareRows, random));
    if (!text.empty() || !has_sums) return text;
    return fault(*cell.kernel, ordinary_case(cell.problem, cell_sizes(), kSpareRows, random));
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

const std::vector<std::string>& token_recipes() {
  static const std::vector<std::string> recipes = {"tensor",        "row",     "1x128", "1x128:pow2",
                                                   "1x128@k_major", "128x128", "1x32",  "1x32@swizzled"};
  return recipes;
}

const std::vector<std::string>& weight_recipes() {
  static const std::vector<std::string> recipes = [] {
    std::vector<std::string> all = token_recipes();
    all.insert(all.end(), {"128x128:pow2", "128x128@block2d_t", "32x32"});
    return all;
  }();
  return recipes;
}

const std::vector<std::string>& directions() {
  static const std::vector<std::string> all = {"row", "col", "row,col"};
  return all;
}

const std::vector<std::string>& activations() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (auto act = Activation::relu; act <= Activation::situ_glu;
         act = static_cast<Activation>(static_cast<int>(act) + 1)) {
      names.emplace_back(to_string(act));
    }
    return names;
  }();
  return all;
}

bool gated(const std::string& activation) {
  return is_gated(Problem::parse("activation.packed g1 c16 act=" + activation).act);
}

const std::vector<CellLayout>& cell_layouts() {
  static const std::vector<CellLayout> layouts = {
      {"packed", "g7"}, {"padded", "g7 al32"}, {"masked", "g7 m144"}, {"uniform", "g3 n144", true}};
  return layouts;
}

const Sizes& cell_sizes() {
  static const Sizes sizes = {0, 1, 127, 128, 129, 31, 33};
  return sizes;
}

CellReport check_cells(const std::string& title, const std::vector<Problem>& problems, Random& random) {
  const std::vector<Prepared> cells = prepare_all(problems);
  CellReport report;
  for (const Prepared& cell : cells) {
    if (!cell.kernel) {
      ++report.refused;
      continue;
    }
    ++report.accepted;
    const std::string text = cell_fault(cell, random);
    if (!text.empty()) report.faults.push_back(cell.problem.to_string() + ": " + text);
  }
  print_refusals(title, report, cells);
  return report;
}

std::string shortfall(const CellReport& report, std::int64_t least_accepted) {
  if (!report.faults.empty()) {
    return fmt::format("{} cells are wrong:\n  {}", report.faults.size(), fmt::join(report.faults, "\n  "));
  }
  if (report.accepted >= least_accepted) return "";
  return fmt::format("{} cells accepted instead of at least {}", report.accepted, least_accepted);
}

}  // namespace octet::test
