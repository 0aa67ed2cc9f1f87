// How the outputs of quantizers and activations are judged (docs/numerics.md, "What octet run judges").
#pragma once

#include <string>
#include <vector>

#include "tools/cli/places.h"
#include "tools/cli/quantize_expected.h"
#include "tools/cli/quantize_inputs.h"

namespace octet::cli {

// One direction of a quantized output.
struct QuantizedView {
  Places places;
  const std::vector<std::uint8_t>& data;
  const std::vector<std::uint8_t>& sf;

  double value(std::int64_t g, std::int64_t r, std::int64_t c) const;
  double scale(std::int64_t g, std::int64_t r, std::int64_t c) const;
  DType type() const { return places.recipe().type; }
};
// The directions that the problem asks for; none of an activation.
std::vector<QuantizedView> views_of(const Case& run, const QuantizeShape& shape, const QuantizeOutput& output);

double largest_fp8(DType type);
// The distance of neighbouring FP8 values around `value`.
double fp8_step(double value, DType type);

// The reference, by what the formulas and rounding to nearest must give.
Verdict judge_formulas(const Case& run, const QuantizeShape& shape, const QuantizeInput& input,
                       const QuantizeOutput& output);
// A kernel whose arithmetic is exact: bit for bit, all of every buffer.
Verdict judge_equality(const Case& run, const QuantizeShape& shape, const QuantizeOutput& got,
                       const QuantizeOutput& want);
// A kernel that computes an activation in f32: near the reference.
Verdict judge_nearness(const Case& run, const QuantizeShape& shape, const QuantizeOutput& got,
                       const QuantizeOutput& want);

// What is wrong when a row outside every group was written; "" when none was.
std::string find_written_tail(const Case& run, const QuantizeShape& shape, const QuantizeOutput& output);
// What is wrong when columnwise data between the groups, and rows past a masked count, are not zero.
std::string find_unwritten_padding(const Case& run, const QuantizeShape& shape, const QuantizeOutput& output);
// What is wrong with the bytes that no element owns: each must be untouched or what padding is written as; or the same
// as the reference's.
std::string find_wrong_unowned(const Case& run, const QuantizedView& view);
std::string find_different_unowned(const Case& run, const QuantizedView& got, const QuantizedView& want);
// Which gradient of a probability or of a bias is not the sum it should be, within what f32 sums may be off; "" when
// none is.
std::string judge_sums(const Case& run, const QuantizeOutput& got, const std::vector<double>& dprobs,
                       const std::vector<double>& dbias);

}  // namespace octet::cli
