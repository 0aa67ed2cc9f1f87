// D[g] = A[g] * B[g]^T over dequantized operands, in f64: forward, dgrad and wgrad.
//
// An element is the sum over blocks of scales, at most 128 terms each, in order, of (SFA * SFB) * (sum of the block's
// FP8 products, in order). The inner sums of e4m3 products need 43 bits at most and are exact, and so is SFA * SFB: the
// only roundings are two per block. Contraction::element spells that order out; gemm tiles it for speed without
// changing it.
#include <algorithm>
#include <memory>
#include <thread>

#include "octet/reference.h"
#include "runtime/reference/checks.h"
#include "runtime/reference/contraction.h"

namespace octet::reference {
namespace {

// Rows of one group of D that lie next to each other.
struct RowRange {
  std::int64_t group, begin, end;
  std::int64_t size() const { return end - begin; }
};

// Rows number [first, last) of D, counted over all groups, cut where groups meet.
std::vector<RowRange> slice(const Contraction& x, std::int64_t first, std::int64_t last) {
  std::vector<RowRange> ranges;
  std::int64_t before = 0;
  for (std::int64_t g = 0; g < x.groups(); ++g) {
    const std::int64_t from = std::max(first - before, std::int64_t{0}), to = std::min(last - before, x.rows(g));
    if (from < to) ranges.push_back({g, from, to});
    before += x.rows(g);
  }
  return ranges;
}

constexpr int kTileRows = 32;
constexpr int kTileColumns = 16;  // accumulators of one row stay in registers

// A tile of D and one step of the decoded operands. Plain arrays: debug builds run this too.
struct Tile {
  double sum[kTileRows][kTileColumns];
  double a[kTileRows][kBlock], a_scale[kTileRows];
  double b[kBlock][kTileColumns], b_scale[kTileColumns];  // inner index first: the inner loop runs along columns
};

struct TileExtent {
  RowRange rows;
  std::int64_t column, columns;
};

// Terms [first, first + size) of every sum of a tile.
struct Step {
  std::int64_t first, size;
};

void load(const Contraction& x, const TileExtent& at, const Step& step, Tile& tile) {
  const Fp8Values& a_values = x.a().values();
  const Fp8Values& b_values = x.b().values();
  for (std::int64_t r = 0; r < at.rows.size(); ++r) {
    const std::uint8_t* bytes = x.a().at(at.rows.group, at.rows.begin + r, step.first);
    for (std::int64_t s = 0; s < step.size; ++s) tile.a[r][s] = a_values[bytes[s]];
    tile.a_scale[r] = x.a().scale(at.rows.group, at.rows.begin + r, step.first);
  }
  for (std::int64_t c = 0; c < at.columns; ++c) {
    const std::uint8_t* bytes = x.b().at(at.rows.group, at.column + c, step.first);
    for (std::int64_t s = 0; s < step.size; ++s) tile.b[s][c] = b_values[bytes[s]];
    tile.b_scale[c] = x.b().scale(at.rows.group, at.column + c, step.first);
  }
}

// Columns past the tile's end are computed from whatever the tile holds and never read.
void multiply(const TileExtent& at, const Step& step, Tile& tile) {
  for (std::int64_t r = 0; r < at.rows.size(); ++r) {
    double partial[kTileColumns] = {};
    for (std::int64_t s = 0; s < step.size; ++s) {
      const double a = tile.a[r][s];
      const double* b = tile.b[s];
      for (int c = 0; c < kTileColumns; ++c) partial[c] += a * b[c];
    }
    for (std::int64_t c = 0; c < at.columns; ++c) tile.sum[r][c] += tile.a_scale[r] * tile.b_scale[c] * partial[c];
  }
}

void store(const Contraction& x, const TileExtent& at, const Tile& tile, bool accumulate, double* d) {
  const std::int64_t group = at.rows.group;
  for (std::int64_t r = 0; r < at.rows.size(); ++r) {
    for (std::int64_t c = 0; c < at.columns; ++c) {
      double& to = d[x.d_index(group, at.rows.begin + r, at.column + c)];
      const double value = x.finish(group, at.column + c, tile.sum[r][c]);
      to = accumulate ? x.accumulate(group, value, to) : value;
    }
  }
}

// Rows of D by one thread.
struct Worker {
  const Contraction& x;
  bool accumulate;
  double* d;

  void tile(const TileExtent& at, Tile& tile) const {
    std::fill_n(&tile.sum[0][0], kTileRows * kTileColumns, 0.0);
    const std::int64_t terms = x.terms(at.rows.group), length = x.step(kBlock);
    for (std::int64_t first = 0; first < terms; first += length) {
      const Step step{first, std::min(length, terms - first)};
      load(x, at, step, tile);
      multiply(at, step, tile);
    }
    store(x, at, tile, accumulate, d);
  }

  void rows(std::int64_t first, std::int64_t last) const {
    const auto scratch = std::make_unique<Tile>();
    for (const RowRange& range : slice(x, first, last)) {
      for (std::int64_t column = 0; column < x.columns(); column += kTileColumns) {
        const std::int64_t columns = std::min<std::int64_t>(kTileColumns, x.columns() - column);
        for (std::int64_t row = range.begin; row < range.end; row += kTileRows)
          tile({{range.group, row, std::min(row + kTileRows, range.end)}, column, columns}, *scratch);
      }
    }
  }
};

}  // namespace

double gemm_element(const Problem& problem, const GemmInputs& inputs, const GroupExtents& groups, std::int64_t capacity,
                    std::int64_t group, std::int64_t i, std::int64_t j) {
  const Contraction x(problem, inputs, groups, capacity);
  check_index("group", group, 0, x.groups());
  const std::int64_t first = problem.op == Operation::wgrad ? 0 : x.tokens(group).begin;
  check_index("i", i, first, first + x.rows(group));
  check_index("j", j, 0, x.columns());
  x.check_pointers();
  return x.element(group, i - first, j);
}

void gemm(const Problem& problem, const GemmInputs& inputs, const GroupExtents& groups, std::int64_t capacity,
          double* d, int threads) {
  check_positive("threads", threads);
  const Contraction x(problem, inputs, groups, capacity);
  const std::int64_t rows = x.total_rows();
  if (rows == 0) return;
  x.check_pointers();
  check_pointer("d", d);

  const Worker worker{x, problem.has(Flag::acc), d};
  const std::int64_t share = ceil_div(rows, threads);
  std::vector<std::jthread> workers;  // joined where the vector dies
  for (std::int64_t first = share; first < rows; first += share)
    workers.emplace_back([&worker, first, share] { worker.rows(first, first + share); });
  worker.rows(0, share);
}

}  // namespace octet::reference
