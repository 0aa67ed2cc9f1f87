// How the output of a quantizer is judged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/cli/run_case.h"

namespace octet::cli {

// Written all over the output before a run: a NaN, as FP8 and, four times, as f32.
inline constexpr std::uint8_t kOutputPoison = 0xFF;

struct QuantizeOutput {
  std::vector<std::uint8_t> data;
  std::vector<float> sf;
};

bool is_uniform(const Case& run);
std::int64_t columns(const Case& run);
QuantizeProblem quantize_problem(const Case& run);

// Bit for bit: the errors are counts of elements.
Verdict judge_equality(const Case& run, const QuantizeOutput& got, const QuantizeOutput& want);
// By what rounding to the nearest FP8 value and dividing by the block's maximum must give, from the input alone.
Verdict judge_rounding(const Case& run, const std::vector<std::uint16_t>& in, const QuantizeOutput& out);
// What is wrong when a row outside every group was written; "" when none was.
std::string find_written_tail(const Case& run, const QuantizeOutput& out);

}  // namespace octet::cli
