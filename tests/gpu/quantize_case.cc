#include "tests/gpu/quantize_case.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "tests/gpu/awkward.h"
#include "tests/gpu/elements.h"
#include "tests/gpu/splits.h"

namespace octet::test {
namespace {

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

QuantizeCase empty_case(const Problem& problem, const Sizes& sizes, std::int64_t spare_rows) {
  QuantizeCase quantize;
  quantize.problem = problem;
  quantize.groups = group_extents(problem, sizes);
  quantize.capacity = buffer_rows(problem, quantize.groups.end.back() + spare_rows);
  return quantize;
}

void add_parameters(QuantizeCase& quantize, Random& random) {
  const Problem& problem = quantize.problem;
  const QuantizeShape shape = quantize.shape();
  if (shape.bias_bytes != 0) {
    quantize.bias = ordinary_values(*problem.in, shape.bias_bytes / size_bytes(*problem.in), random);
  }
  if (problem.has(Flag::probs)) quantize.probs = row_values(quantize.groups, quantize.capacity, random);
  if (problem.has(Flag::given)) quantize.given = random.scales(size(problem.g));
}

Outputs<std::int64_t> output_bytes(const QuantizeCase& quantize) {
  const QuantizeShape shape = quantize.shape();
  const Problem& problem = quantize.problem;
  const bool grad_of_probs = problem.has(Flag::probs) && problem.has(Flag::grad);
  return {shape.row.data,
          shape.row.sf,
          shape.col.data,
          shape.col.sf,
          shape.d_bytes,
          shape.amax_bytes,
          grad_of_probs ? shape.probs_bytes : 0,
          shape.dbias_bytes};
}

template <typename T>
Buffer uploaded(const std::vector<T>& values) {
  return values.empty() ? Buffer() : Buffer(values);
}

Buffer splits_of(const QuantizeCase& quantize) {
  if (quantize.problem.layout == Layout::uniform) return {};
  const Splits& splits = quantize.problem.splits;
  return Buffer(splits_bytes(reference::splits_array(quantize.groups, splits.form), splits.is_i64));
}

void* pointer(const Buffer& buffer) { return buffer.bytes() == 0 ? nullptr : buffer.at(); }

}  // namespace

Problem token_problem(std::int64_t groups, std::int64_t columns) {
  return Problem::parse(fmt::format("quantize.packed g{} c{} in=bf16 out=e4m3:1x128", groups, columns));
}

Problem weight_problem(std::int64_t groups, std::int64_t rows, std::int64_t columns) {
  return Problem::parse(fmt::format("quantize.uniform g{} n{} k{} in=bf16 out=e4m3:128x128", groups, rows, columns));
}

reference::GroupExtents group_extents(const Problem& problem, const Sizes& sizes) {
  if (problem.layout == Layout::uniform) return reference::uniform_extents(problem.g, problem.n);
  if (problem.layout == Layout::masked) return reference::masked_extents(sizes, problem.m);
  return reference::extents(sizes, problem.al);
}

QuantizeCase awkward_case(const Problem& problem, const Sizes& sizes, std::int64_t spare_rows, Random& random) {
  QuantizeCase quantize = empty_case(problem, sizes, spare_rows);
  const QuantizeShape shape = quantize.shape();
  quantize.in = awkward_values(*problem.in, quantize.groups, quantize.capacity, shape.in_columns, random);
  quantize.pre = awkward_values(*problem.in, quantize.groups, quantize.capacity, shape.pre_columns, random);
  add_parameters(quantize, random);
  return quantize;
}

QuantizeCase ordinary_case(const Problem& problem, const Sizes& sizes, std::int64_t spare_rows, Random& random) {
  QuantizeCase quantize = empty_case(problem, sizes, spare_rows);
  const QuantizeShape shape = quantize.shape();
  quantize.in = ordinary_values(*problem.in, quantize.groups, quantize.capacity, shape.in_columns, random);
  quantize.pre = ordinary_values(*problem.in, quantize.groups, quantize.capacity, shape.pre_columns, random);
  add_parameters(quantize, random);
  return quantize;
}

Results poisoned(const QuantizeCase& quantize) {
  Results results;
  const Outputs<std::int64_t> bytes = output_bytes(quantize);
  for_each_output([](const char*, Bytes& to, const std::int64_t& count) { to.assign(size(count), 0xFF); }, results,
                  bytes);
  return results;
}

Results expected(const QuantizeCase& quantize) {
  Results results = poisoned(quantize);
  reference::QuantizeInputs inputs;
  inputs.in = quantize.in.data();
  inputs.pre = quantize.pre.data();
  inputs.bias = quantize.bias.data();
  inputs.probs = quantize.probs.data();
  inputs.given = quantize.given.data();
  inputs.noop = quantize.noop != 0;
  inputs.amax_floor = quantize.amax_floor;
  // Bytes of a vector are aligned for every type of number.
  const auto floats = [](Bytes& bytes) { return reinterpret_cast<float*>(bytes.data()); };
  reference::quantize(quantize.problem, inputs, quantize.groups, quantize.capacity,
                      {results.data.data(), results.sf.data(), results.data_col.data(), results.sf_col.data(),
                       results.d.data(), floats(results.amax), floats(results.dprobs), floats(results.dbias)});
  return results;
}

QuantizeBuffers::QuantizeBuffers(const QuantizeCase& quantize)
    : in(uploaded(quantize.in)),
      pre(uploaded(quantize.pre)),
      bias(uploaded(quantize.bias)),
      probs(uploaded(quantize.probs)),
      given(uploaded(quantize.given)),
      noop(std::vector<std::uint32_t>{quantize.noop}),
      splits(splits_of(quantize)),
      problem_(quantize.problem),
      capacity_(quantize.capacity),
      amax_floor_(quantize.amax_floor) {
  const Outputs<std::int64_t> bytes = output_bytes(quantize);
  for_each_output(
      [](const char*, Buffer& buffer, const std::int64_t& count) {
        if (count != 0) buffer = Buffer(size(count));
      },
      out, bytes);
}

QuantizeArgs QuantizeBuffers::args(const Quantize& kernel) {
  const std::size_t scratch = kernel.workspace_bytes(capacity_);
  if (scratch > workspace_.bytes()) workspace_ = Buffer(scratch);
  QuantizeArgs args;
  args.in = pointer(in);
  if (problem_.out && problem_.dir != Direction::col) {
    args.out = {pointer(out.data), pointer(out.sf), kernel.out_layout()};
  }
  if (problem_.out && problem_.dir != Direction::row) {
    args.out_col = {pointer(out.data_col), pointer(out.sf_col), kernel.out_col_layout()};
  }
  args.splits = pointer(splits);
  args.capacity = capacity_;
  args.workspace = pointer(workspace_);
  args.d = pointer(out.d);
  args.pre = pointer(pre);
  args.bias = pointer(bias);
  args.probs = static_cast<const float*>(pointer(probs));
  args.dprobs = static_cast<float*>(pointer(out.dprobs));
  args.dbias = static_cast<float*>(pointer(out.dbias));
  args.amax = static_cast<float*>(pointer(out.amax));
  args.given = static_cast<const float*>(pointer(given));
  if (problem_.has(Flag::noop)) args.noop = noop.at();
  args.amax_floor = amax_floor_;
  return args;
}

void QuantizeBuffers::poison() {
  for_each_output(
      [](const char*, Buffer& buffer) {
        if (buffer.bytes() != 0) buffer.poison();
      },
      out);
  if (workspace_.bytes() != 0) workspace_.poison();
}

void QuantizeBuffers::launch(const Quantize& kernel) {
  const QuantizeArgs arguments = args(kernel);
  poison();
  kernel.launch(arguments, stream_);
}

Results QuantizeBuffers::read() const {
  Results results;
  for_each_output(
      [](const char* name, const Buffer& buffer, Bytes& bytes) {
        if (buffer.bytes() == 0) return;
        if (!buffer.guards_intact()) throw std::runtime_error(fmt::format("the launch wrote outside {}", name));
        bytes = buffer.values<std::uint8_t>();
      },
      out, results);
  if (workspace_.bytes() != 0 && !workspace_.guards_intact()) {
    throw std::runtime_error("the launch wrote outside its workspace");
  }
  return results;
}

Results QuantizeBuffers::run(const Quantize& kernel) {
  std::vector<Bytes> before;
  for (const Buffer* input : inputs()) before.push_back(input->values<std::uint8_t>());
  launch(kernel);
  stream_.synchronize();
  std::size_t i = 0;
  for (const Buffer* input : inputs()) {
    if (input->values<std::uint8_t>() != before[i++]) throw std::runtime_error("the launch changed an input");
    if (input->bytes() != 0 && !input->guards_intact()) throw std::runtime_error("the launch wrote around an input");
  }
  return read();
}

std::string difference(const char* name, const Bytes& wanted, const Bytes& got) {
  if (wanted.size() != got.size()) return fmt::format("{}: {} bytes instead of {}", name, got.size(), wanted.size());
  const auto [want, have] = std::mismatch(wanted.begin(), wanted.end(), got.begin());
  if (want == wanted.end()) return "";
  const auto different = [&] {
    std::size_t count = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) count += wanted[i] != got[i] ? 1 : 0;
    return count;
  };
  return fmt::format("{} byte {} of {}: {:#04x} instead of {:#04x}; {} bytes differ", name, want - wanted.begin(),
                     wanted.size(), *have, *want, different());
}

std::string difference(const Results& wanted, const Results& got) {
  std::string first;
  for_each_output(
      [&](const char* name, const Bytes& want, const Bytes& have) {
        if (first.empty()) first = difference(name, want, have);
      },
      wanted, got);
  return first;
}

}  // namespace octet::test
