// One launch of a dequantizer or a converter.
#pragma once

#include <string>

#include "tests/gpu/quantize_case.h"

namespace octet::test {

struct ConvertCase {
  Problem problem;
  reference::GroupExtents groups;
  std::int64_t capacity = 0;
  Bytes data, sf;
};

struct Converted {
  Bytes data, sf, d;
};

// Every code, and scales of every size, in all of both buffers.
ConvertCase random_codes(const Problem& problem, const Sizes& sizes, std::int64_t spare_rows, Random& random);
// What the oracle makes of awkward bf16 values, quantized as problem.a says.
ConvertCase quantized_codes(const Problem& problem, const Sizes& sizes, std::int64_t spare_rows, Random& random);

Converted expected(const ConvertCase& convert);
// Throws when a guard was overwritten or an input changed.
Converted run(const Convert& kernel, const ConvertCase& convert);

// "" when equal bit for bit, any NaN for any NaN in d.
std::string difference(const ConvertCase& convert, const Converted& wanted, const Converted& got);
// Prepares, runs twice, compares the two and judges.
std::string fault(const ConvertCase& convert);

}  // namespace octet::test
