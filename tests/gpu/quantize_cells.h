// The table of what a quantizer may be asked for, as lists of problems, and a check of a whole list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/gpu/quantize_judge.h"

namespace octet::test {

// Spellings of the recipes without their element type. Some are for weights alone.
const std::vector<std::string>& token_recipes();
const std::vector<std::string>& weight_recipes();
const std::vector<std::string>& directions();   // "row", "col", "row,col"
const std::vector<std::string>& activations();  // all but none
bool gated(const std::string& activation);

// Small problems of each layout: the start of a line, up to its columns.
struct CellLayout {
  std::string name, sizes;  // "packed", "g7 al32"
  bool weights = false;
  std::string columns(std::int64_t count) const { return (weights ? " k" : " c") + std::to_string(count); }
};
const std::vector<CellLayout>& cell_layouts();
// Picks by a running number: with strides that differ, a list of cells sees all pairs without all products.
inline const std::string& pick(const std::vector<std::string>& items, std::size_t turn) {
  return items[turn % items.size()];
}
// Group sizes that suit all of them.
const Sizes& cell_sizes();

struct CellReport {
  std::int64_t accepted = 0, refused = 0;
  std::vector<std::string> faults;  // "problem line: what is wrong"
};
// "" when nothing is wrong and the rules took at least so many: a rule that refuses too much fails here.
std::string shortfall(const CellReport& report, std::int64_t least_accepted);
// Checks every problem that the rules accept, on awkward inputs and, where sums are judged, on ordinary ones. Prints
// how many are refused, and why.
CellReport check_cells(const std::string& title, const std::vector<Problem>& problems, Random& random);

}  // namespace octet::test
