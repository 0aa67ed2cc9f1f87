#include "tests/gpu/bench/gemm_check.h"

#include <algorithm>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "tests/gpu/spot_check.h"

namespace octet::bench {
namespace {

using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t kRows = 8, kColumns = 32;

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

std::int64_t sum(const Sizes& sizes) { return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}); }

// `count` neighbours from a multiple of `count`: they share scales of 128 x 128 in the part as in the whole.
Sizes neighbours(std::int64_t of, std::int64_t count, test::Random& random) {
  Sizes lines(size(std::min(count, of)));
  std::iota(lines.begin(), lines.end(), count * random.integer(0, std::max<std::int64_t>(of / count, 1) - 1));
  return lines;
}

// The first, the last, and some between.
Sizes spread(std::int64_t of, std::int64_t count, test::Random& random) {
  Sizes lines(size(std::min(count, of)));
  for (std::int64_t& line : lines) line = random.integer(0, of - 1);
  if (!lines.empty()) lines.back() = of - 1;
  if (!lines.empty()) lines.front() = 0;
  return lines;
}

// Sizes of the groups of what an operand's producer quantizes.
Sizes producer_sizes(const Problem& producer, const Sizes& tokens) {
  return producer.layout == Layout::uniform ? Sizes(size(producer.g), producer.n) : tokens;
}

}  // namespace

GemmSample::GemmSample(const Problem& problem, const Sizes& sizes, std::int64_t capacity, test::Random& random)
    : problem_(problem), part_(problem), sizes_(sizes), capacity_(capacity) {
  part_.layout = Layout::packed;
  part_.m = 0;
  part_.n = is_wgrad() ? kRows : kColumns;
  if (is_wgrad()) part_.k = kColumns;
  for (const std::int64_t rows : sizes) {
    a_lines_.push_back(is_wgrad() ? neighbours(problem.n, kRows, random) : spread(rows, kRows, random));
    b_lines_.push_back(neighbours(is_wgrad() ? problem.k : problem.n, kColumns, random));
    part_sizes_.push_back(is_wgrad() ? rows : static_cast<std::int64_t>(a_lines_.back().size()));
  }
  part_capacity_ = sum(part_sizes_);
}

std::int64_t GemmSample::first_row_of_d(std::int64_t group) const {
  if (is_wgrad()) return group * problem_.n;
  return test::Places(a_producer(problem_), sizes_, capacity_).row(group);
}

std::vector<std::uint8_t> GemmSample::download_d(const test::Buffer& d) const {
  const std::int64_t width = size_bytes(*problem_.d), columns = is_wgrad() ? problem_.k : problem_.n;
  std::vector<std::uint8_t> all;
  for (std::size_t g = 0; g < sizes_.size(); ++g) {
    const std::int64_t first = first_row_of_d(static_cast<std::int64_t>(g));
    for (const std::int64_t row : a_lines_[g]) {
      all.resize(all.size() + size(kColumns * width));
      d.download(all.data() + all.size() - size(kColumns * width), size(kColumns * width),
                 size(((first + row) * columns + b_lines_[g].front()) * width));
    }
  }
  return all;
}

GemmSample::Operand GemmSample::gather(const Problem& from, const Problem& to, const Sizes& from_sizes,
                                       const Sizes& to_sizes, const Lines& lines, const test::Buffer& data,
                                       const test::Buffer& sf) const {
  const bool columnwise = from.dir == Direction::col;
  const test::Places there(from, from_sizes, capacity_), here(to, to_sizes, part_capacity_);
  const QuantizedBytes bytes = columnwise ? here.shape().col : here.shape().row;
  const std::int64_t width = from.out->granularity == Granularity::mx_1x32 ? 1 : 4;
  const std::vector<std::uint8_t> all_sf = sf.values<std::uint8_t>();
  Operand part{std::vector<std::uint8_t>(size(bytes.data)), std::vector<std::uint8_t>(size(bytes.sf))};
  for (std::size_t index = 0; index < lines.size(); ++index) {
    const auto g = static_cast<std::int64_t>(index);
    // Along the inner size a line is contiguous, and no scale covers less than 32 of it.
    const std::int64_t inner = columnwise ? from_sizes[index] : there.columns();
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(lines[index].size()); ++i) {
      const std::int64_t line = lines[index][size(i)];
      data.download(part.data.data() + (columnwise ? here.data_col(g, 0, i) : here.data(g, i)), size(inner),
                    size(columnwise ? there.data_col(g, 0, line) : there.data(g, line)));
      for (std::int64_t at = 0; at < inner; at += 32) {
        const std::int64_t source = columnwise ? there.sf_col(g, at, line) : there.sf(g, line, at);
        const std::int64_t target = columnwise ? here.sf_col(g, at, i) : here.sf(g, i, at);
        std::copy_n(all_sf.begin() + source * width, width, part.sf.begin() + target * width);
      }
    }
  }
  return part;
}

std::string GemmSample::masked_tail_fault(const test::Buffer& d) const {
  if (problem_.layout != Layout::masked) return "";
  for (std::size_t g = 0; g < sizes_.size(); ++g) {
    if (sizes_[g] == problem_.m) continue;
    std::vector<std::uint16_t> row(size(problem_.n));
    const std::int64_t first = (first_row_of_d(static_cast<std::int64_t>(g)) + sizes_[g]) * problem_.n;
    d.download(row.data(), row.size() * 2, size(first * 2));
    if (std::any_of(row.begin(), row.end(), [](std::uint16_t bits) { return bits != 0xFFFF; })) {
      return fmt::format("group {}: the row past its count was written", g);
    }
  }
  return "";
}

std::string GemmSample::fault(const GemmDeviceBuffers& buffers, const std::vector<std::uint8_t>& old_d) const {
  std::string tail = masked_tail_fault(buffers.d);
  if (!tail.empty()) return tail;
  const Problem a = a_producer(problem_), part_a = a_producer(part_), b = b_producer(problem_),
                part_b = b_producer(part_);
  const Operand a_part = gather(a, part_a, producer_sizes(a, sizes_), producer_sizes(part_a, part_sizes_), a_lines_,
                                buffers.a, buffers.sfa);
  const Operand b_part = gather(b, part_b, producer_sizes(b, sizes_), producer_sizes(part_b, part_sizes_), b_lines_,
                                buffers.b, buffers.sfb);
  const std::vector<std::uint8_t> d = download_d(buffers.d);
  const auto threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const std::vector<reference::GroupError> errors =
      reference::compare_gemm(part_, {a_part.data.data(), a_part.sf.data(), b_part.data.data(), b_part.sf.data()},
                              reference::extents(part_sizes_), part_capacity_, d.data(),
                              old_d.empty() ? nullptr : old_d.data(), kRows * kColumns, 1, threads);
  for (std::size_t g = 0; g < errors.size(); ++g) {
    if (sizes_[g] > 0 && errors[g].samples == 0) return fmt::format("group {}: nothing was compared", g);
    if (reference::within_bounds(errors[g], *part_.d)) continue;
    return fmt::format("group {}: relative error {:.3g}", g, errors[g].frobenius);
  }
  return "";
}

}  // namespace octet::bench
