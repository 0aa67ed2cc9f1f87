// Random problems over the whole table of GEMMs. What is drawn depends on the seed alone, not on the machine.
#pragma once

#include <string>

#include "tests/gpu/family_case.h"

namespace octet::test {

struct DrawnGemm {
  Problem problem;
  Sizes sizes;  // rows of each group; counts for masked
  std::int64_t spare_rows = 0;
  float alpha = 1, beta = 1;
  std::int64_t a_gap = 0, b_gap = 0, d_gap = 0;  // elements between rows
  bool pointers_on_device = false;
  int max_sms = 0;
  bool programmatic = false;
  std::int64_t config = 0;  // counts the legal ones, modulo their number

  std::string text() const;
};

// Any problem of the table's grammar that makes sense; the rules may still refuse it.
DrawnGemm draw_gemm(Random& random);

}  // namespace octet::test
