#include "tools/cli/quantize_inputs.h"

#include <algorithm>
#include <bit>
#include <random>

#include "tools/cli/elements.h"

namespace octet::cli {
namespace {

constexpr float kLargestToken = 32;  // of random_tokens

void poison_tail(const Case& run, std::int64_t row_bytes, std::vector<std::uint8_t>& bytes) {
  const std::vector<bool> inside = rows_in_groups(run);
  for (std::int64_t row = 0; row < run.capacity; ++row) {
    if (!inside[at(row)]) std::fill_n(bytes.begin() + row * row_bytes, row_bytes, kPoison);
  }
}

std::vector<std::uint8_t> random_rows(const Case& run, std::int64_t columns, std::uint64_t seed) {
  const DType type = type_of_input(run);
  if (run.problem.layout == Layout::uniform) {
    return from_bf16_patterns(reference::random_weights(run.problem.g, run.problem.n, columns, seed), type);
  }
  std::vector<std::uint8_t> bytes = from_bf16_patterns(reference::random_tokens(run.capacity, columns, seed), type);
  poison_tail(run, columns * size_bytes(type), bytes);
  return bytes;
}

// Over 0, up to 1.
std::vector<float> random_fractions(std::int64_t count, std::uint64_t seed) {
  constexpr int kSteps = 4096;
  std::mt19937_64 random(seed);
  std::vector<float> fractions(at(count));
  for (float& fraction : fractions) fraction = static_cast<float>(random() % kSteps + 1) / kSteps;
  return fractions;
}

std::vector<float> random_probs(const Case& run, std::uint64_t seed) {
  std::vector<float> probs = random_fractions(run.capacity, seed);
  const std::vector<bool> inside = rows_in_groups(run);
  for (std::size_t row = 0; row < probs.size(); ++row) {
    if (!inside[row]) probs[row] = std::bit_cast<float>(kPoisonWord);
  }
  return probs;
}

// Such that some elements saturate.
std::vector<float> random_given(const Case& run, std::uint64_t seed) {
  const float fp8_max = run.problem.out && run.problem.out->type == DType::e5m2 ? 57344.0f : 448.0f;
  std::vector<float> given = random_fractions(run.problem.g, seed);
  for (float& sf : given) sf = (0.1f + 0.5f * sf) * kLargestToken / fp8_max;
  return given;
}

std::vector<float> poisoned_floats(std::int64_t bytes) {
  return std::vector<float>(at(bytes) / sizeof(float), std::bit_cast<float>(kPoisonWord));
}

bool same_bytes(const std::vector<float>& x, const std::vector<float>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  });
}

}  // namespace

bool operator==(const QuantizeOutput& x, const QuantizeOutput& y) {
  return x.data == y.data && x.sf == y.sf && x.data_col == y.data_col && x.sf_col == y.sf_col && x.d == y.d &&
         same_bytes(x.amax, y.amax) && same_bytes(x.dprobs, y.dprobs) && same_bytes(x.dbias, y.dbias);
}

QuantizeInput make_quantize_input(const Case& run, const QuantizeShape& shape) {
  const Problem& problem = run.problem;
  const std::int64_t features = std::max(shape.in_columns, std::max(shape.pre_columns, shape.out_columns));
  QuantizeInput input;
  input.in = random_rows(run, shape.in_columns, run.seed);
  if (shape.pre_columns != 0) input.pre = random_rows(run, shape.pre_columns, run.seed + 1);
  if (problem.has(Flag::bias)) {
    input.bias = from_bf16_patterns(reference::random_tokens(problem.g, features, run.seed + 2), type_of_input(run));
  }
  if (problem.has(Flag::probs)) input.probs = random_probs(run, run.seed + 3);
  if (problem.has(Flag::given)) input.given = random_given(run, run.seed + 4);
  return input;
}

reference::QuantizeInputs QuantizeInput::host(bool noop) const {
  reference::QuantizeInputs inputs;
  inputs.in = in.data();
  inputs.pre = pre.data();
  inputs.bias = bias.data();
  inputs.probs = probs.data();
  inputs.given = given.data();
  inputs.noop = noop;
  return inputs;
}

QuantizeOutput poisoned_output(const Case& run, const QuantizeShape& shape) {
  const auto poisoned = [](std::int64_t bytes) { return std::vector<std::uint8_t>(at(bytes), kPoison); };
  QuantizeOutput output;
  output.data = poisoned(shape.row.data);
  output.sf = poisoned(shape.row.sf);
  output.data_col = poisoned(shape.col.data);
  output.sf_col = poisoned(shape.col.sf);
  output.d = poisoned(shape.d_bytes);
  output.amax = poisoned_floats(shape.amax_bytes);
  output.dbias = poisoned_floats(shape.dbias_bytes);
  if (run.problem.has(Flag::grad)) output.dprobs = poisoned_floats(shape.probs_bytes);
  return output;
}

reference::QuantizeOutputs QuantizeOutput::host() {
  reference::QuantizeOutputs outputs;
  outputs.data = data.data();
  outputs.sf = sf.data();
  outputs.data_col = data_col.data();
  outputs.sf_col = sf_col.data();
  outputs.d = d.data();
  outputs.amax = amax.data();
  outputs.dprobs = dprobs.data();
  outputs.dbias = dbias.data();
  return outputs;
}

}  // namespace octet::cli
