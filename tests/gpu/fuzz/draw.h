// Random problems over the whole table of quantizers, activations, dequantizers and converters. What is drawn depends
// on the seed alone, not on the machine.
#pragma once

#include <string>

#include "tests/gpu/quantize_case.h"

namespace octet::test {

struct Drawn {
  Problem problem;
  Sizes sizes;  // rows of each group; counts for masked
  std::int64_t spare_rows = 0;
  bool ordinary = false;  // inputs without the awkward kinds
  std::uint32_t noop = 0;
  float amax_floor = 0;

  std::string text() const;
};

// Any problem of the table's grammar that makes sense; the rules may still refuse it.
Drawn draw(Random& random);

}  // namespace octet::test
