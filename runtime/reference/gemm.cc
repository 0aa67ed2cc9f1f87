// D[g] = A[g] * B[g]^T over dequantized operands, in f64.
//
// An element is the sum over blocks of K, in order, of (SFA * SFB) * (sum of the block's FP8 products, in order). The
// inner sums of e4m3 products need 43 bits at most and are exact, and so is SFA * SFB: the only roundings are one per
// block. gemm_element spells that order out; gemm tiles it for speed without changing it.
#include <algorithm>
#include <memory>
#include <thread>

#include "octet/reference.h"
#include "runtime/reference/casts.h"
#include "runtime/reference/checks.h"

namespace octet::reference {
namespace {

struct Operands {
  const GemmProblem& problem;
  const std::uint8_t* a;
  const float* sfa;
  const std::uint8_t* b;
  const float* sfb;
  std::int64_t capacity;

  std::int64_t k_blocks() const { return ceil_div(problem.k, kBlock); }
  std::int64_t block_size(std::int64_t block) const { return std::min(kBlock, problem.k - block * kBlock); }
  const std::uint8_t* a_block(std::int64_t row, std::int64_t block) const {
    return a + row * problem.k + block * kBlock;
  }
  const std::uint8_t* b_block(std::int64_t group, std::int64_t n, std::int64_t block) const {
    return b + (group * problem.n + n) * problem.k + block * kBlock;
  }
  double row_scale(std::int64_t row, std::int64_t block) const { return sfa[block * mn_major_ld(capacity) + row]; }
  double weight_scale(std::int64_t group, std::int64_t n, std::int64_t block) const {
    return sfb[(group * ceil_div(problem.n, kBlock) + n / kBlock) * k_blocks() + block];
  }
};

// Rows of one group that lie next to each other.
struct RowRange {
  std::int64_t group, begin, end;
  std::int64_t size() const { return end - begin; }
};

// The valid rows number [first, last) in buffer order, cut where groups meet.
std::vector<RowRange> slice(const GroupExtents& groups, std::int64_t first, std::int64_t last) {
  std::vector<RowRange> ranges;
  std::int64_t before = 0;
  for (std::size_t g = 0; g < groups.begin.size(); ++g) {
    const std::int64_t rows = groups.end[g] - groups.begin[g];
    const std::int64_t from = std::max(first - before, std::int64_t{0}), to = std::min(last - before, rows);
    if (from < to) ranges.push_back({static_cast<std::int64_t>(g), groups.begin[g] + from, groups.begin[g] + to});
    before += rows;
  }
  return ranges;
}

constexpr int kTileRows = 32;
constexpr int kTileColumns = 16;  // accumulators of one row stay in registers

// A tile of D and the decoded operands of one block of K. Plain arrays: debug builds run this too.
struct Tile {
  double sum[kTileRows][kTileColumns];
  double a[kTileRows][kBlock];
  double b[kBlock][kTileColumns];  // K first, so that the inner loop runs along columns
};

struct TileExtent {
  RowRange rows;
  std::int64_t n, columns;
};

void load(const Operands& x, const TileExtent& at, std::int64_t block, Tile& tile) {
  const Fp8Values& a_values = fp8_values(x.problem.a.type);
  const Fp8Values& b_values = fp8_values(x.problem.b.type);
  const std::int64_t size = x.block_size(block);
  for (std::int64_t r = 0; r < at.rows.size(); ++r) {
    const std::uint8_t* bytes = x.a_block(at.rows.begin + r, block);
    for (std::int64_t k = 0; k < size; ++k) tile.a[r][k] = a_values[bytes[k]];
  }
  for (std::int64_t c = 0; c < at.columns; ++c) {
    const std::uint8_t* bytes = x.b_block(at.rows.group, at.n + c, block);
    for (std::int64_t k = 0; k < size; ++k) tile.b[k][c] = b_values[bytes[k]];
  }
}

// Columns past the tile's end are computed from whatever the tile holds and never read.
void multiply(const Operands& x, const TileExtent& at, std::int64_t block, Tile& tile) {
  const std::int64_t size = x.block_size(block);
  for (std::int64_t r = 0; r < at.rows.size(); ++r) {
    double partial[kTileColumns] = {};
    for (std::int64_t k = 0; k < size; ++k) {
      const double a = tile.a[r][k];
      const double* b = tile.b[k];
      for (int c = 0; c < kTileColumns; ++c) partial[c] += a * b[c];
    }
    const double row_scale = x.row_scale(at.rows.begin + r, block);
    for (std::int64_t c = 0; c < at.columns; ++c)
      tile.sum[r][c] += row_scale * x.weight_scale(at.rows.group, at.n + c, block) * partial[c];
  }
}

void compute(const Operands& x, const TileExtent& at, Tile& tile, double* d) {
  std::fill_n(&tile.sum[0][0], kTileRows * kTileColumns, 0.0);
  for (std::int64_t block = 0; block < x.k_blocks(); ++block) {
    load(x, at, block, tile);
    multiply(x, at, block, tile);
  }
  for (std::int64_t r = 0; r < at.rows.size(); ++r)
    std::copy_n(tile.sum[r], at.columns, d + (at.rows.begin + r) * x.problem.n + at.n);
}

void compute(const Operands& x, const std::vector<RowRange>& ranges, double* d) {
  const auto tile = std::make_unique<Tile>();
  for (const RowRange& range : ranges) {
    for (std::int64_t n = 0; n < x.problem.n; n += kTileColumns) {
      for (std::int64_t row = range.begin; row < range.end; row += kTileRows) {
        const std::int64_t end = std::min(row + kTileRows, range.end);
        const std::int64_t columns = std::min<std::int64_t>(kTileColumns, x.problem.n - n);
        compute(x, {{range.group, row, end}, n, columns}, *tile, d);
      }
    }
  }
}

}  // namespace

double gemm_element(const GemmProblem& problem, const std::uint8_t* a, const float* sfa, const std::uint8_t* b,
                    const float* sfb, std::int64_t capacity, std::int64_t group, std::int64_t row, std::int64_t n) {
  check_gemm(problem, capacity);
  check_index("group", group, problem.groups);
  check_index("row", row, capacity);
  check_index("n", n, problem.n);
  check_operands(a, sfa, b, sfb);
  const Operands x{problem, a, sfa, b, sfb, capacity};

  const Fp8Values& a_values = fp8_values(problem.a.type);
  const Fp8Values& b_values = fp8_values(problem.b.type);
  double sum = 0;
  for (std::int64_t block = 0; block < x.k_blocks(); ++block) {
    const std::uint8_t* a_bytes = x.a_block(row, block);
    const std::uint8_t* b_bytes = x.b_block(group, n, block);
    double partial = 0;
    for (std::int64_t k = 0; k < x.block_size(block); ++k)
      partial += static_cast<double>(a_values[a_bytes[k]]) * static_cast<double>(b_values[b_bytes[k]]);
    sum += x.row_scale(row, block) * x.weight_scale(group, n, block) * partial;
  }
  return sum;
}

void gemm(const GemmProblem& problem, const std::uint8_t* a, const float* sfa, const std::uint8_t* b, const float* sfb,
          const GroupExtents& groups, std::int64_t capacity, double* d, int threads) {
  check_gemm(problem, capacity);
  check_extents(groups, problem.groups, capacity);
  check_positive("threads", threads);
  const std::int64_t rows = total_rows(groups);
  if (rows == 0) return;
  check_operands(a, sfa, b, sfb);
  check_pointer("d", d);
  const Operands x{problem, a, sfa, b, sfb, capacity};

  const std::int64_t share = ceil_div(rows, threads);
  std::vector<std::jthread> workers;  // joined where the vector dies
  for (std::int64_t first = share; first < rows; first += share)
    workers.emplace_back([&x, &groups, d, first, share] { compute(x, slice(groups, first, first + share), d); });
  compute(x, slice(groups, 0, share), d);
}

}  // namespace octet::reference
