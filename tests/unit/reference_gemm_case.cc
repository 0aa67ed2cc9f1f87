#include "tests/unit/reference_gemm_case.h"

#include <algorithm>

#include "octet/layout.h"

namespace octet::test {
namespace {

constexpr std::uint8_t kNaN = 0xFF;  // in every type

std::vector<std::int64_t> sizes_of(const Problem& producer, const std::vector<std::int64_t>& tokens) {
  if (producer.layout != Layout::uniform) return tokens;
  return std::vector<std::int64_t>(static_cast<std::size_t>(producer.g), producer.n);
}

void quantize_operand(const QuantizeCase& source, Bytes& data, Bytes& sf) {
  QuantizeBuffers out(source.shape);
  for (Bytes* bytes : {&out.data, &out.sf, &out.data_col, &out.sf_col}) std::fill(bytes->begin(), bytes->end(), kNaN);
  source.run(out);
  const bool columnwise = source.problem.dir == Direction::col;
  data = columnwise ? out.data_col : out.data;
  sf = columnwise ? out.sf_col : out.sf;
}

}  // namespace

GemmCase::GemmCase(const std::string& text, const std::vector<std::int64_t>& sizes, std::int64_t rows)
    : problem(Problem::parse(text)),
      groups(extents_of(problem, sizes)),
      capacity(rows),
      a_source(a_producer(problem).to_string(), sizes, rows, 1),
      b_source(b_producer(problem).to_string(), sizes_of(b_producer(problem), sizes), rows, 3),
      bias(random_elements(problem.g, problem.n, 5, *problem.d)),
      old_d(random_elements(d_rows(), d_columns(), 7, *problem.d)) {
  quantize();
}

void GemmCase::quantize() {
  quantize_operand(a_source, a, a_sf);
  quantize_operand(b_source, b, b_sf);
}

std::int64_t GemmCase::first_row(std::size_t group) const {
  return is_wgrad() ? static_cast<std::int64_t>(group) * problem.n : groups.begin[group];
}

std::int64_t GemmCase::rows(std::size_t group) const {
  return is_wgrad() ? problem.n : groups.end[group] - groups.begin[group];
}

reference::GemmInputs GemmCase::inputs() const {
  return {a.data(), a_sf.data(), b.data(), b_sf.data(), bias.data(), alpha, beta};
}

std::vector<double> GemmCase::old_values() const {
  std::vector<double> values;
  for (std::int64_t i = 0; i < d_rows() * d_columns(); ++i)
    values.push_back(octet::test::element(old_d, *problem.d, i));
  return values;
}

std::vector<double> GemmCase::run(int threads) const {
  std::vector<double> d = old_values();
  reference::gemm(problem, inputs(), groups, capacity, d.data(), threads);
  return d;
}

double GemmCase::element(std::size_t group, std::int64_t i, std::int64_t j) const {
  return reference::gemm_element(problem, inputs(), groups, capacity, static_cast<std::int64_t>(group),
                                 is_wgrad() ? i : groups.begin[group] + i, j);
}

}  // namespace octet::test
