#include "tools/cli/convert_operand.h"

#include <cstring>

#include "octet/layout.h"
#include "octet/reference.h"
#include "tools/cli/elements.h"

namespace octet::cli {
namespace {

bool is_columnwise(const Case& run) { return run.problem.dir == Direction::col; }

// The same tokens, quantized by the reference in our own packing. Rows of no group keep the poison.
Quantized quantize_tokens(const Case& run) {
  const bool uniform = run.problem.layout == Layout::uniform;
  Problem problem = run.problem;
  problem.op = Operation::quantize;
  problem.in = DType::bf16;
  problem.out = run.problem.a;
  problem.a = std::nullopt;
  problem.d = std::nullopt;
  problem.from = problem.to = Packing::octet;
  const std::vector<std::uint16_t> in = uniform ? reference::random_weights(problem.g, problem.n, problem.k, run.seed)
                                                : reference::random_tokens(run.capacity, problem.c, run.seed);
  Quantized out = poisoned_like(run, *problem.out);
  reference::QuantizeInputs inputs;
  inputs.in = in.data();
  reference::QuantizeOutputs outputs;
  (is_columnwise(run) ? outputs.data_col : outputs.data) = out.data.data();
  (is_columnwise(run) ? outputs.sf_col : outputs.sf) = out.sf.data();
  reference::quantize(problem, inputs, run.groups, run.capacity, outputs);
  return out;
}

void copy_element(const Quantized& from, const Places& from_at, Quantized& to, const Places& to_at, std::int64_t g,
                  std::int64_t r, std::int64_t c) {
  const auto size = at(scale_bytes(from_at.recipe()));
  to.data[at(to_at.data(g, r, c))] = from.data[at(from_at.data(g, r, c))];
  std::memcpy(&to.sf[at(to_at.scale(g, r, c)) * size], &from.sf[at(from_at.scale(g, r, c)) * size], size);
}

}  // namespace

std::int64_t columns_of(const Case& run) {
  return run.problem.layout == Layout::uniform ? run.problem.k : run.problem.c;
}

Places places_of(const Case& run, const Recipe& recipe, Packing packing) {
  return Places(run, recipe, is_columnwise(run), columns_of(run), packing);
}

Quantized poisoned_like(const Case& run, const Recipe& recipe) {
  const QuantizedBytes bytes = quantized_bytes(run.problem, recipe, is_columnwise(run), columns_of(run), run.capacity);
  return {std::vector<std::uint8_t>(at(bytes.data), kPoison), std::vector<std::uint8_t>(at(bytes.sf), kPoison)};
}

Quantized make_operand(const Case& run) {
  const Quantized ours = quantize_tokens(run);
  if (run.problem.from == Packing::octet) return ours;
  Quantized theirs = poisoned_like(run, *run.problem.a);
  const Places from = places_of(run, *run.problem.a, Packing::octet),
               to = places_of(run, *run.problem.a, run.problem.from);
  for (std::size_t group = 0; group < run.sizes.size(); ++group) {
    for_each_element(run, group, [&](std::int64_t g, std::int64_t r, std::int64_t c) {
      copy_element(ours, from, theirs, to, g, r, c);
    });
  }
  return theirs;
}

}  // namespace octet::cli
