#include "tools/cli/gemm_operands.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "octet/layout.h"
#include "tools/cli/elements.h"

namespace octet::cli {
namespace {

// Weights are uniform groups, everything else is tokens.
std::vector<std::uint16_t> random_source(const Problem& producer, std::int64_t rows, std::uint64_t seed) {
  if (producer.layout == Layout::uniform) {
    return reference::random_weights(producer.g, producer.n, producer.k, seed);
  }
  return reference::random_tokens(rows, producer.c, seed);
}

// What the quantizer does not write stays NaN.
void quantize(const Case& run, const Problem& producer, const std::vector<std::uint16_t>& source,
              std::vector<std::uint8_t>& data, std::vector<std::uint8_t>& sf) {
  const bool columnwise = producer.dir == Direction::col;
  const QuantizeShape shape = quantize_shape(producer, run.capacity);
  const QuantizedBytes bytes = columnwise ? shape.col : shape.row;
  data.assign(at(bytes.data), kPoison);
  sf.assign(at(bytes.sf), kPoison);
  reference::QuantizeInputs inputs;
  inputs.in = source.data();
  reference::QuantizeOutputs outputs;
  (columnwise ? outputs.data_col : outputs.data) = data.data();
  (columnwise ? outputs.sf_col : outputs.sf) = sf.data();
  const bool weights = producer.layout == Layout::uniform;
  const auto groups = weights ? reference::uniform_extents(producer.g, producer.n) : run.groups;
  reference::quantize(producer, inputs, groups, run.capacity, outputs);
}

// Scales of one group's tensor do not always lie as its part of all groups' do.
std::vector<GroupOfB> quantize_groups(const Case& run, Problem producer, const std::vector<std::uint16_t>& source) {
  const std::int64_t elements = producer.n * producer.k;
  std::vector<GroupOfB> groups(at(producer.g));
  producer.g = 1;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto first = source.begin() + static_cast<std::int64_t>(g) * elements;
    quantize(run, producer, {first, first + elements}, groups[g].data, groups[g].sf);
  }
  return groups;
}

// What a quantizer wrote, as DeepGEMM packs it: a block [columns][rows] for each group, end to end.
void pack_blocks(const Case& run, Problem producer, std::vector<std::uint8_t>& data, std::vector<std::uint8_t>& sf) {
  producer.op = Operation::convert;
  producer.a = producer.out;
  producer.in.reset();
  producer.to = Packing::deepgemm;
  const QuantizedBytes bytes = quantize_shape(producer, run.capacity).col;
  std::vector<std::uint8_t> packed(at(bytes.data), kPoison), packed_sf(at(bytes.sf), kPoison);
  reference::convert(producer, data.data(), sf.data(), run.groups, run.capacity, packed.data(), packed_sf.data());
  data = std::move(packed);
  sf = std::move(packed_sf);
}

std::vector<std::uint8_t> random_old_d(const Case& run, std::uint64_t seed) {
  const DType type = type_of_d(run);
  const std::int64_t columns = d_columns(run), row_bytes = columns * size_bytes(type);
  std::vector<std::uint8_t> old(at(d_rows(run) * row_bytes), kPoison);
  if (!run.problem.has(Flag::acc)) return old;
  const auto values = from_bf16_patterns(reference::random_tokens(d_rows(run), columns, seed), type);
  for (std::size_t g = 0; g < run.sizes.size(); ++g) {
    const GroupOfD group = group_of_d(run, g);
    const std::int64_t first = group.first_row * row_bytes;
    std::copy_n(values.begin() + first, group.rows * row_bytes, old.begin() + first);
  }
  return old;
}

}  // namespace

std::int64_t d_rows(const Case& run) {
  return run.problem.op == Operation::wgrad ? run.problem.g * run.problem.n : run.capacity;
}

std::int64_t d_columns(const Case& run) { return run.problem.op == Operation::wgrad ? run.problem.k : run.problem.n; }

GroupOfD group_of_d(const Case& run, std::size_t group) {
  if (run.problem.op != Operation::wgrad) return {run.groups.begin[group], run.sizes[group], run.problem.n};
  return {static_cast<std::int64_t>(group) * run.problem.n, run.problem.n, run.problem.k};
}

reference::GemmInputs GemmOperands::host() const {
  return {a.data(), a_sf.data(), b.data(), b_sf.data(), bias.data(), alpha};
}

GemmOperands make_operands(const Case& run) {
  const Problem a = a_producer(run.problem), b = b_producer(run.problem);
  GemmOperands operands;
  operands.a_source = random_source(a, run.capacity, run.seed);
  operands.b_source = random_source(b, run.capacity, run.seed + 1);
  quantize(run, a, operands.a_source, operands.a, operands.a_sf);
  quantize(run, b, operands.b_source, operands.b, operands.b_sf);
  if (run.problem.from == Packing::deepgemm) {
    pack_blocks(run, a, operands.a, operands.a_sf);
    pack_blocks(run, b, operands.b, operands.b_sf);
  }
  if (run.problem.weights_by_pointer && run.problem.op == Operation::gemm) {
    operands.b_groups = quantize_groups(run, b, operands.b_source);
  }
  if (run.problem.has(Flag::bias)) {
    const auto bias = reference::random_tokens(run.problem.g, run.problem.n, run.seed + 2);
    operands.bias = from_bf16_patterns(bias, type_of_d(run));
  }
  operands.old_d = random_old_d(run, run.seed + 3);
  if (type_of_d(run) == DType::fp16) operands.alpha = 0x1p-6f;  // the largest fp16 is 65504
  return operands;
}

int host_threads() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

std::int64_t samples_per_group(const Case& run) {
  const auto groups = static_cast<double>(std::max<std::int64_t>(1, run.problem.g));
  const auto terms =
      run.problem.op == Operation::wgrad ? static_cast<double>(run.rows) / groups : static_cast<double>(run.problem.k);
  return static_cast<std::int64_t>(std::clamp(kCheckedMacs / (std::max(1.0, terms) * groups), 256.0, 65536.0));
}

}  // namespace octet::cli
