// The operand of a dequantizer or a converter: random tokens, quantized by the reference.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/cli/places.h"
#include "tools/cli/run_case.h"

namespace octet::cli {

struct Quantized {
  std::vector<std::uint8_t> data, sf;
};

// Columns of the tensor; of uniform groups K.
std::int64_t columns_of(const Case& run);
// Of the problem's one direction.
Places places_of(const Case& run, const Recipe& recipe, Packing packing);
// As large as any packing of the recipe needs, all of it poison.
Quantized poisoned_like(const Case& run, const Recipe& recipe);
// As problem.a and problem.from say. Rows of no group are poison.
Quantized make_operand(const Case& run);

template <typename Visit>
void for_each_element(const Case& run, std::size_t group, const Visit& visit) {
  for (std::int64_t r = 0; r < run.sizes[group]; ++r) {
    for (std::int64_t c = 0; c < columns_of(run); ++c) visit(static_cast<std::int64_t>(group), r, c);
  }
}

}  // namespace octet::cli
