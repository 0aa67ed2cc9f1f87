// The table of what a GEMM may be asked for, as lists of cells, and a check of a whole list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/gpu/family_case.h"
#include "tests/gpu/quantize_cells.h"

namespace octet::test {

// Recipes of A and B without their element types, each with the variants (":pow2", scale layouts) that take turns.
struct RecipePair {
  std::vector<std::string> a, b;
  bool wgrad = true, whole = false;  // whole: of whole groups or rows, so that +fastacc means something
};
const std::vector<RecipePair>& recipe_pairs();

// A layout by its line up to its groups and rows, and the sizes and splits that suit it.
struct FamilyLayout {
  std::string name, sizes;
  Sizes rows;
  std::vector<std::string> splits;
};
const std::vector<FamilyLayout>& family_layouts();

struct FamilyCell {
  std::string line;
  Sizes sizes;
  float alpha = 1, beta = 1;
  std::int64_t gap = 0;  // bytes between rows of A, B and D
  bool pointers_on_device = false;
};

enum class Pass { forward, dgrad, wgrad };
// Recipe pairs by layout by flags; element types, types of D, shapes, splits, scale layouts, gaps and w=pointers take
// turns.
std::vector<FamilyCell> family_cells(Pass pass);
// The part of a list that one of several tests does.
std::vector<FamilyCell> share(const std::vector<FamilyCell>& cells, std::size_t part, std::size_t parts);

// Operands of a cell.
FamilyCase make_case(const FamilyCell& cell, Random& random);
// With the config that the cost model chooses. Prints how many are refused, and why.
CellReport check_family_cells(const std::string& title, const std::vector<FamilyCell>& cells, Random& random);
// With every config that the rules accept; the report counts configs.
CellReport check_every_config(const std::string& title, const std::vector<FamilyCell>& cells, Random& random);

}  // namespace octet::test
