// Scale factors of blocks, and how many there are.
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "octet/reference.h"
#include "runtime/reference/casts.h"
#include "runtime/reference/checks.h"

namespace octet::reference {
namespace {

// What q becomes where fp8_max / amax overflows f32. The input type's largest value, so that q can be held in it.
float largest_finite(DType in) {
  switch (in) {
    case DType::bf16:
      return from_bf16(0x7F7F);
    case DType::fp16:
      return 65504.0f;
    case DType::f32:
      return std::numeric_limits<float>::max();
    default:
      throw bad_argument(fmt::format("reference: in={}: the input is bf16, fp16 or f32", to_string(in)));
  }
}

// Rounds a positive normal number down to a power of two.
float clear_mantissa(float value) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xFF800000u); }

float quantization_scale(float amax, DType out, DType in) {
  const float cap = largest_finite(in);
  const float fp8_max = fp8_format(out).max_value;
  if (amax == 0 || std::isinf(amax)) return 1.0f;
  const float q = fp8_max / amax;
  return std::isinf(q) ? cap : q;
}

}  // namespace

Scale block_scale(float amax, DType out, DType in, bool power_of_two) {
  if (!(amax >= 0))
    throw bad_argument(fmt::format("reference: amax={}: the largest |x| is 0 or more, NaN left out", amax));
  const float exact = quantization_scale(amax, out, in);
  const float q = power_of_two ? clear_mantissa(exact) : exact;
  return {q, 1.0f / q};
}

std::int64_t scale_count(const QuantizeProblem& problem, std::int64_t capacity) {
  check_positive("columns", problem.columns);
  const std::int64_t blocks = ceil_div(problem.columns, kBlock);
  if (problem.layout == Layout::uniform) {
    check_recipe("out", problem.out, Granularity::block_128x128, ScaleLayout::block2d);
    check_positive("g", problem.groups);
    check_positive("rows_per_group", problem.rows_per_group);
    return problem.groups * ceil_div(problem.rows_per_group, kBlock) * blocks;
  }
  check_token_layout(problem.layout);
  check_recipe("out", problem.out, Granularity::block_1x128, ScaleLayout::mn_major);
  if (capacity < 0) throw bad_argument(fmt::format("reference: capacity={}: must be at least 0", capacity));
  return blocks * mn_major_ld(capacity);
}

}  // namespace octet::reference
