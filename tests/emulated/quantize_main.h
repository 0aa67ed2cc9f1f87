// main() of an emulated quantizer or activation: PROBLEM, and IMPOSSIBLE (splits that go up and down), are defined.
//
// An activation leaves its output in the file that is its argument, if there is one. A quantizer that has an activation
// fused takes such a file: it must equal the reference's quantization of it.
#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include "runtime/quantize_traits.h"

#include "tests/emulated/case.h"

namespace {

using octet::Problem;
using octet::QuantizeTraits;

// Blocks of the main kernel, as runtime/quantize.cc launches it; kernels that walk over work get few, so that each does
// several pieces.
unsigned main_blocks(const QuantizeTraits& traits, const octet::QuantizeShape& shape) {
  const std::int64_t tiles = shape.row_blocks * ((shape.out_columns + 127) / 128);
  if (traits.one_shot) return static_cast<unsigned>(traits.both_halves ? tiles / 2 : tiles);
  if (traits.current) return 1;
  if (traits.by_tiles || traits.strips_by_group) return 3;
  constexpr unsigned kWarps = octet::config::kThreads / 32;
#ifdef ROWS_PER_THREAD
  constexpr std::int64_t kRows = ROWS_PER_THREAD;
#else
  constexpr std::int64_t kRows = 8;
#endif
  const std::int64_t units = (shape.rows + kRows - 1) / kRows * ((shape.out_columns + 255) / 256);
  return static_cast<unsigned>((units + kWarps - 1) / kWarps);
}

// The same quantizer without its activation, over the activation's output.
Problem without_activation(Problem problem, std::int64_t columns) {
  (problem.layout == octet::Layout::uniform ? problem.k : problem.c) = columns;
  problem.act = octet::Activation::none;
  problem.gate_second = false;
  problem.il = 0;
  for (const octet::Flag flag : {octet::Flag::bias, octet::Flag::probs, octet::Flag::grad, octet::Flag::dbias}) {
    problem.flags &= ~static_cast<std::uint32_t>(flag);
  }
  return problem;
}

std::vector<char> file_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int count, char** arguments) {
  using namespace emulator;
  const Problem problem = Problem::parse(PROBLEM);
  const octet::reference::GroupExtents groups = extents_of(problem);
  const std::int64_t capacity = capacity_of(problem, groups);
  const octet::QuantizeShape shape = octet::quantize_shape(problem, capacity);
  const QuantizeTraits traits(problem);
  const octet::QuantizeWorkspace sections = octet::quantize_workspace(problem, capacity);
  const SplitsArray splits(problem, groups, capacity, IMPOSSIBLE);

  std::mt19937 random(7);
  const bool finite = traits.has_activation || traits.dbias;
  const Bytes in = elements(shape.in_bytes, *problem.in, random, finite);
  const Bytes pre = elements(shape.pre_bytes, *problem.in, random, finite);
  const Bytes bias = elements(shape.bias_bytes, *problem.in, random, true);
  std::vector<float> probs(static_cast<std::size_t>(shape.rows), 0.75f),
      given(static_cast<std::size_t>(problem.g), 0.01f);
  const unsigned noop = 0;
  struct Outputs {
    Buffer data, sf, data_col, sf_col, d, amax, dprobs, dbias;
    explicit Outputs(const octet::QuantizeShape& s)
        : data(s.row.data),
          sf(s.row.sf),
          data_col(s.col.data),
          sf_col(s.col.sf),
          d(s.d_bytes),
          amax(s.amax_bytes),
          dprobs(s.probs_bytes),
          dbias(s.dbias_bytes) {}
  } got(shape), wanted(shape);
  Buffer workspace(sections.bytes);
  const auto section = [&](std::int64_t offset) { return reinterpret_cast<float*>(workspace.data() + offset); };

  octet::abi::QuantizeParams params{};
  params.in = in.data(), params.pre = pre.data(), params.bias = bias.data();
  params.probs = probs.data(), params.given = given.data(), params.noop = &noop, params.splits = splits.data;
  params.data = got.data.data(), params.sf = got.sf.data();
  params.data_col = got.data_col.data(), params.sf_col = got.sf_col.data(), params.d = got.d.data();
  params.amax = got.amax.floats(), params.dprobs = got.dprobs.floats(), params.dbias = got.dbias.floats();
  params.tile_amax = section(sections.tile_amax), params.column_amax = section(sections.column_amax);
  params.group_q = section(sections.group_q), params.row_q = section(sections.row_q);
  params.dprobs_partial = section(sections.dprobs_partial), params.dbias_partial = section(sections.dbias_partial);
  params.counters = reinterpret_cast<unsigned*>(section(sections.counters));
  std::fill_n(params.counters, sections.counter_words, 0u);
  params.capacity = shape.rows, params.ld_col = shape.ld_col;

  constexpr unsigned kThreads = octet::config::kThreads;
#ifdef OCTET_AMAX_ENTRY
  launch(2, kThreads, [&] { OCTET_AMAX_ENTRY(params); });
  launch(2, kThreads, [&] { OCTET_SCALES_ENTRY(params); });
#endif
  launch(main_blocks(traits, shape), kThreads, [&] { OCTET_ENTRY(params); });
#ifdef OCTET_FINISH_ENTRY
  launch(2, kThreads, [&] { OCTET_FINISH_ENTRY(params); });
#endif

  Verdict verdict;
  verdict.guards("data", got.data), verdict.guards("sf", got.sf);
  verdict.guards("data_col", got.data_col), verdict.guards("sf_col", got.sf_col), verdict.guards("d", got.d);
  verdict.guards("amax", got.amax), verdict.guards("dprobs", got.dprobs), verdict.guards("dbias", got.dbias);
  verdict.guards("workspace", workspace);
  if (IMPOSSIBLE) return verdict.status();

  octet::reference::QuantizeInputs inputs;
  inputs.in = in.data(), inputs.pre = pre.data(), inputs.bias = bias.data();
  inputs.probs = probs.data(), inputs.given = given.data();
  octet::reference::QuantizeOutputs outputs;
  outputs.data = wanted.data.data(), outputs.sf = wanted.sf.data();
  outputs.data_col = wanted.data_col.data(), outputs.sf_col = wanted.sf_col.data(), outputs.d = wanted.d.data();
  outputs.amax = wanted.amax.floats(), outputs.dprobs = wanted.dprobs.floats(), outputs.dbias = wanted.dbias.floats();
  const bool fused = traits.has_activation && traits.quantized;
  if (fused) {
    const std::vector<char> activated = file_of(arguments[1]);
    inputs.in = activated.data();
    octet::reference::quantize(without_activation(problem, shape.out_columns), inputs, groups, capacity, outputs);
  } else {
    octet::reference::quantize(problem, inputs, groups, capacity, outputs);
  }
  if (problem.d && count > 1) {
    std::ofstream(arguments[1], std::ios::binary)
        .write(reinterpret_cast<const char*>(got.d.data()), static_cast<std::streamsize>(got.d.size()));
  }
  verdict.equal("data", got.data, wanted.data), verdict.equal("sf", got.sf, wanted.sf);
  verdict.equal("data_col", got.data_col, wanted.data_col), verdict.equal("sf_col", got.sf_col, wanted.sf_col);
  verdict.equal("amax", got.amax, wanted.amax);
  if (problem.d) verdict.close("d", got.d, wanted.d, *problem.in, 0.01);
  if (fused) return verdict.status();  // its sums are those of the activation alone
  verdict.close("dprobs", got.dprobs, wanted.dprobs, octet::DType::f32, 1e-4);
  verdict.close("dbias", got.dbias, wanted.dbias, octet::DType::f32, 1e-4);
  return verdict.status();
}
