#include "tests/gpu/bench/quantize_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "tests/gpu/splits.h"
#include "tests/gpu/spot_check.h"

namespace octet::bench {
namespace {

using test::Buffer;
using test::Places;
using test::Window;

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }
Buffer sized(std::int64_t bytes) { return bytes == 0 ? Buffer() : Buffer(size(bytes)); }
void* pointer(const Buffer& buffer) { return buffer.bytes() == 0 ? nullptr : buffer.at(); }
Buffer values(const Operands& operands, std::int64_t bytes) {
  return bytes == 0 ? Buffer() : operands.values(size(bytes / 2));
}

std::vector<std::uint8_t> rows_of(const Buffer& buffer, std::int64_t first, std::int64_t rows, std::int64_t columns) {
  std::vector<std::uint8_t> bytes(size(rows * columns * 2));
  buffer.download(bytes.data(), bytes.size(), size(first * columns * 2));
  return bytes;
}

// The activation of some rows, by a kernel that does nothing else.
std::vector<std::uint8_t> activated(const QuantizeBenchmark& benchmark, const QuantizeOperands& buffers,
                                    std::int64_t first, std::int64_t rows, Runtime& runtime) {
  Problem problem = benchmark.problem;
  problem.op = Operation::activation;
  problem.g = 1;
  problem.d = problem.in;
  problem.out.reset();
  problem.dir = Direction::row;
  const Quantize kernel = runtime.prepare_quantize(problem);
  const QuantizeShape shape = quantize_shape(problem, rows);
  const Buffer d(size(shape.d_bytes)), splits(test::splits_bytes({rows}, problem.splits.is_i64));
  QuantizeArgs args;
  args.in = buffers.in.at(size(first * shape.in_columns * 2));
  args.pre = shape.pre_columns == 0 ? nullptr : buffers.pre.at(size(first * shape.pre_columns * 2));
  args.d = d.at();
  args.splits = splits.at();
  args.capacity = rows;
  const test::OwnedStream stream;
  kernel.launch(args, stream);
  stream.synchronize();
  return d.values<std::uint8_t>();
}

float largest_magnitude(const std::vector<std::uint8_t>& bf16) {
  std::uint16_t largest = 0;
  for (std::size_t i = 0; i < bf16.size(); i += 2) {
    const auto magnitude = static_cast<std::uint16_t>((bf16[i] | bf16[i + 1] << 8) & 0x7FFF);
    largest = std::max(largest, magnitude);
  }
  return reference::from_bf16(largest);
}

// Windows start at a block of their group.
Window random_window(const QuantizeBenchmark& benchmark, std::int64_t group, test::Random& random) {
  const std::int64_t rows = benchmark.sizes[size(group)];
  const std::int64_t first = 128 * random.integer(0, (rows - 1) / 128);
  return {group, first, std::min<std::int64_t>(128, rows - first)};
}

std::string window_fault(const QuantizeBenchmark& benchmark, const QuantizeOperands& buffers, const Places& places,
                         const Window& window, Runtime& runtime) {
  const Problem& problem = benchmark.problem;
  const std::int64_t first = places.row(window.group) + window.first;
  const std::vector<std::uint8_t> in = problem.act == Activation::none
                                           ? rows_of(buffers.in, first, window.rows, places.columns())
                                           : activated(benchmark, buffers, first, window.rows, runtime);
  std::vector<float> given;
  float amax = 0;
  if (problem.has(Flag::given)) {
    given = {buffers.given.values<float>()[size(window.group)]};
  } else if (problem.out->granularity == Granularity::tensor) {
    amax = largest_magnitude(
        rows_of(buffers.in, places.row(window.group), benchmark.sizes[size(window.group)], places.columns()));
  }
  const test::WindowResult wanted = test::quantize_window(problem, window, in.data(), given, amax);
  const test::QuantizedBuffers got{buffers.data, buffers.sf, buffers.data_col, buffers.sf_col};
  const std::string fault = row_fault(places, window, got, wanted);
  return fault.empty() ? column_fault(places, window, got, wanted, 61) : fault;
}

// Scales of whole columns of a group: a strip of few columns, all rows.
std::string strip_fault(const QuantizeBenchmark& benchmark, const QuantizeOperands& buffers, const Places& places,
                        std::int64_t group, test::Random& random) {
  constexpr std::int64_t kWidth = 16;
  const std::int64_t rows = benchmark.sizes[size(group)], columns = places.columns();
  const std::int64_t left = kWidth * random.integer(0, columns / kWidth - 1);
  const std::vector<std::uint8_t> all = rows_of(buffers.in, places.row(group), rows, columns);
  std::vector<std::uint8_t> strip;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto begin = all.begin() + (row * columns + left) * 2;
    strip.insert(strip.end(), begin, begin + kWidth * 2);
  }
  Problem narrow = benchmark.problem;
  narrow.c = kWidth;
  const test::WindowResult wanted = test::quantize_window(narrow, {group, 0, rows}, strip.data());
  const Places here(wanted.problem, {rows}, rows);
  const std::vector<std::uint8_t> sf = buffers.sf_col.values<std::uint8_t>();
  for (std::int64_t c = 0; c < kWidth; ++c) {
    std::vector<std::uint8_t> line(size(rows));
    buffers.data_col.download(line.data(), line.size(), size(places.data_col(group, 0, left + c)));
    const bool right = std::equal(line.begin(), line.end(), wanted.data_col.begin() + here.data_col(0, 0, c)) &&
                       std::equal(wanted.sf_col.begin() + c * 4, wanted.sf_col.begin() + c * 4 + 4,
                                  sf.begin() + places.sf_col(group, 0, left + c) * 4);
    if (!right) return fmt::format("column {} of group {}", left + c, group);
  }
  return "";
}

}  // namespace

QuantizeOperands::QuantizeOperands(const QuantizeBenchmark& benchmark, const Quantize& kernel,
                                   const Operands& operands) {
  const QuantizeShape shape = quantize_shape(benchmark.problem, benchmark.rows());
  in = values(operands, shape.in_bytes);
  pre = values(operands, shape.pre_bytes);
  if (benchmark.problem.has(Flag::given)) given = operands.scales(size(benchmark.problem.g));
  splits = Buffer(test::splits_bytes(benchmark.sizes, benchmark.problem.splits.is_i64));
  workspace = sized(static_cast<std::int64_t>(kernel.workspace_bytes(benchmark.rows())));
  data = sized(shape.row.data);
  sf = sized(shape.row.sf);
  data_col = sized(shape.col.data);
  sf_col = sized(shape.col.sf);
}

QuantizeArgs QuantizeOperands::args(const QuantizeBenchmark& benchmark, const Quantize& kernel) const {
  QuantizeArgs args;
  args.in = in.at();
  args.pre = pointer(pre);
  args.given = static_cast<const float*>(pointer(given));
  args.splits = benchmark.problem.layout == Layout::uniform ? nullptr : splits.at();
  args.workspace = pointer(workspace);
  args.capacity = benchmark.rows();
  if (data.bytes() != 0) args.out = {data.at(), sf.at(), kernel.out_layout()};
  if (data_col.bytes() != 0) args.out_col = {data_col.at(), sf_col.at(), kernel.out_col_layout()};
  return args;
}

std::string spot_check(const QuantizeBenchmark& benchmark, const QuantizeOperands& buffers, Runtime& runtime,
                       test::Random& random) {
  for (const Buffer* buffer : {&buffers.data, &buffers.sf, &buffers.data_col, &buffers.sf_col}) {
    if (buffer->bytes() != 0 && !buffer->guards_intact()) return "wrote outside an output";
  }
  const Places places(benchmark.problem, benchmark.sizes, benchmark.rows());
  std::vector<std::int64_t> groups;
  for (std::int64_t g = 0; g < benchmark.problem.g; ++g) {
    if (benchmark.sizes[size(g)] > 0) groups.push_back(g);
  }
  const bool whole_columns =
      benchmark.problem.out->granularity == Granularity::row && benchmark.problem.dir != Direction::row;
  for (const std::int64_t group :
       {groups.front(), groups.back(), groups[size(random.integer(0, std::ssize(groups) - 1))]}) {
    const std::string fault =
        whole_columns ? strip_fault(benchmark, buffers, places, group, random)
                      : window_fault(benchmark, buffers, places, random_window(benchmark, group, random), runtime);
    if (!fault.empty()) return fault;
  }
  return "";
}

}  // namespace octet::bench
