// main() of an emulated dequantizer or converter: PROBLEM, and IMPOSSIBLE, are defined.
#pragma once

#include "tests/emulated/case.h"

int main() {
  using namespace emulator;
  const Problem problem = Problem::parse(PROBLEM);
  const octet::reference::GroupExtents groups = extents_of(problem);
  const std::int64_t capacity = capacity_of(problem, groups);
  const octet::QuantizeShape shape = octet::quantize_shape(problem, capacity);
  const SplitsArray splits(problem, groups, capacity, IMPOSSIBLE);
  const bool columnwise = problem.dir == octet::Direction::col;
  const octet::QuantizedBytes source =
      octet::quantized_bytes(problem, *problem.a, columnwise, shape.out_columns, capacity, problem.from);
  const octet::QuantizedBytes target = problem.out ? (columnwise ? shape.col : shape.row) : octet::QuantizedBytes{};

  std::mt19937 random(11);
  Bytes data(static_cast<std::size_t>(source.data)), sf(static_cast<std::size_t>(source.sf));
  for (std::uint8_t& byte : data) byte = static_cast<std::uint8_t>(random());
  for (std::size_t i = 0; i < sf.size(); ++i) sf[i] = static_cast<std::uint8_t>(i % 4 == 3 ? 0x3F : random());
  Buffer out_data(target.data), out_sf(target.sf), d(shape.d_bytes);
  Buffer wanted_data(target.data), wanted_sf(target.sf), wanted_d(shape.d_bytes);
  const octet::abi::ConvertParams params{data.data(), sf.data(),   out_data.data(), out_sf.data(),
                                         d.data(),    splits.data, shape.rows,      shape.ld_col};
  launch(2, octet::config::kThreads, [&] { OCTET_ENTRY(params); });

  Verdict verdict;
  verdict.guards("data", out_data), verdict.guards("sf", out_sf), verdict.guards("d", d);
  if (IMPOSSIBLE) return verdict.status();
  if (problem.op == octet::Operation::dequantize) {
    octet::reference::dequantize(problem, data.data(), sf.data(), groups, capacity, wanted_d.data());
    verdict.close("d", d, wanted_d, *problem.d, 0);
  } else {
    octet::reference::convert(problem, data.data(), sf.data(), groups, capacity, wanted_data.data(), wanted_sf.data());
    verdict.equal("data", out_data, wanted_data), verdict.equal("sf", out_sf, wanted_sf);
  }
  return verdict.status();
}
