// The wgmma GEMM's model. All times are in microseconds; rows of a tile are rows of D.
//
//   tile     2 * block_m * block_n * K / rate of one multiprocessor + overhead of a tile; both are of the candidate's
//            row. Of wgrad K is the rows of a group; where a cluster splits K, it is the largest part
//   waves    clusters of work / clusters that run at once, rounded up; where the sum of the groups' rows is not known
//            exactly, the mean of that over what it may be, so that the choice does not flap with it
//   weights  G * N * K bytes * copies / rate into L2. copies: 2 where several row tiles of a group read the same
//            weights on their own, since L2 has two halves and each fetches its own; 1 where a cluster along M shares
//            them; of swapped configs the term is 0
//   memory   weights, tokens and output once each at the share of DRAM's bandwidth that the candidate reaches, longer
//            where the last wave is not full; or, of swapped configs, every tile's read of its weights from L2
//   maps     the same for every launch of the pass that makes tensor maps: of w=pointers where G maps do not fit the
//            parameters, and of DeepGEMM's blocks. Pointers are taken to be on the host
//   cost     launch + maps + max(tile * waves + weights, memory) + 0.01 * tile * waves; the last term ranks configs
//            when memory alone decides
//
// A tile costs the same with few valid rows as when full, since it loads its whole block of weights: time follows the
// number of tiles. The constants began as a least-squares fit of the benchmark's config sweep on an H200 (octet-bench
// --config-sweep) and were then set by hand so that the right config wins. They rank configs; as times they are rough.
#include "runtime/cost.h"

#include <algorithm>
#include <cmath>

#include "octet/layout.h"
#include "runtime/gemm_traits.h"
#include "runtime/integers.h"
#include "runtime/mx_traits.h"
#include "runtime/param_tables.h"

namespace octet {
namespace {

// Measured on an H200; bytes or FLOP per microsecond.
constexpr double kReferenceMultiprocessors = 132;
constexpr double kWeightsRate = 60e6;  // bytes of B per microsecond that reach L2 while the math runs
constexpr double kDramRate = 4.0e6;
constexpr double kL2Rate = 8.0e6;
constexpr double kLaunchUs = 3;
constexpr double kMapPassUs = 3;  // a launch of one block that the GEMM waits for
constexpr double kTieBreak = 0.01;
constexpr double kUnusedShare = 0.4;
constexpr double kSpread = 0.3;  // group sizes around their mean

constexpr std::int64_t kScaleBlock = 128;

// Integral of ceil(x / unit) over [0, x].
double integral_of_ceil(double x, double unit) {
  const double whole = std::floor(x / unit);
  const double rest = x - whole * unit;
  return unit * whole * (whole + 1) / 2 + rest * (whole + 1);
}

// Mean of ceil(x / unit) for x spread evenly around `middle` by a share of it.
double mean_of_ceil(double middle, double spread, double unit) {
  const double low = (1 - spread) * middle, high = (1 + spread) * middle;
  return (integral_of_ceil(high, unit) - integral_of_ceil(low, unit)) / (high - low);
}

// What a bucket stands for. People name round numbers, which are the ends of buckets; the first few are too wide for
// that.
double middle_rows(int index) {
  const auto last = static_cast<double>(last_rows(index));
  return index <= 3 ? (static_cast<double>(first_rows(index) - 1) + last) / 2 : last;
}
double width_rows(int index) { return static_cast<double>(last_rows(index) - first_rows(index) + 1); }

// Rows and columns of D that a block covers.
int rows_of_tile(const GemmConfig& config) { return config.swapped ? config.block_n : config.block_m; }
int columns_of_tile(const GemmConfig& config) { return config.swapped ? config.block_m : config.block_n; }

// What a block sums over: its part of K, or for wgrad the rows of a group.
double inner_size(const Problem& problem, const GemmConfig& config, int index) {
  if (problem.op == Operation::wgrad) return std::max(middle_rows(index), static_cast<double>(kScaleBlock));
  return static_cast<double>(ceil_div(problem.k, kScaleBlock * config.split_k) * kScaleBlock);
}

double tile_us(const Problem& problem, const GemmCandidate& candidate, int index) {
  const GemmConfig& config = candidate.config;
  const bool columns = !config.swapped && problem.b->granularity == Granularity::block_1x128;
  const double tflops = columns ? candidate.column_tflops : candidate.tflops;
  const double rate = std::max(tflops, 1.0) * 1e6 / kReferenceMultiprocessors / config.blocks_per_sm;
  return 2.0 * config.block_m * config.block_n * inner_size(problem, config, index) / rate + candidate.tile_overhead_us;
}

double weights_us(const Problem& problem, const GemmConfig& config, int index) {
  if (problem.op == Operation::wgrad || config.swapped) return 0;
  const double tiles = tiles_per_group(index, rows_of_tile(config), problem.g);
  const double copies = config.cluster_m > 1 ? 1 : std::clamp(tiles, 1.0, 2.0);
  return static_cast<double>(problem.g) * static_cast<double>(problem.n) * static_cast<double>(problem.k) * copies /
         kWeightsRate;
}

// How far the sum of all groups may be from its middle: the bucket's width, or what is left of the groups' own spread.
double spread_of_total(std::int64_t groups, int index) {
  return std::max(width_rows(index) / 2 / middle_rows(index), kSpread / std::sqrt(static_cast<double>(groups)));
}

// Clusters of work over all groups, and how many run at once.
struct Work {
  double clusters, at_once;
};
Work work_of(const Problem& problem, const GemmConfig& config, const DeviceFacts& device, int index) {
  const bool wgrad = problem.op == Operation::wgrad;
  const std::int64_t columns = wgrad ? problem.k : problem.n;
  const auto clusters_n =
      static_cast<double>(ceil_div(columns, std::int64_t{columns_of_tile(config)} * config.cluster_n));
  const double row_tiles = wgrad ? static_cast<double>(ceil_div(problem.n, config.block_m))
                                 : tiles_per_group(index, rows_of_tile(config), problem.g);
  const int cluster = cluster_blocks(config);
  return {static_cast<double>(problem.g) * row_tiles * clusters_n / config.cluster_m,
          static_cast<double>(std::max(1, device.sm_count * config.blocks_per_sm / cluster))};
}

double waves(const Problem& problem, const Work& work, int index) {
  // Exact for these, and the same for every M of a bucket.
  if (problem.op == Operation::wgrad || problem.g == 1) return std::ceil(work.clusters / work.at_once);
  return mean_of_ceil(work.clusters, spread_of_total(problem.g, index), work.at_once);
}

// How much longer memory takes because the last wave is not full: its blocks leave bandwidth unused, but not all of it.
double unused_bandwidth(const Work& work) {
  const double count = work.clusters / work.at_once;
  return 1 + kUnusedShare * (std::ceil(count) / count - 1);
}

double dram_us(const Problem& problem, int index) {
  const auto g = static_cast<double>(problem.g), n = static_cast<double>(problem.n), k = static_cast<double>(problem.k);
  const double rows = g * middle_rows(index), element = size_bytes(problem.d.value_or(DType::bf16));
  if (problem.op == Operation::wgrad) return (rows * (n + k) + element * g * n * k) / kDramRate;
  return (g * n * k + rows * k + element * rows * n) / kDramRate;
}

// Few tokens a tile: every tile of a group's tokens reads all of its weights, from L2 after the first.
double reread_us(const Problem& problem, const GemmConfig& config, int index) {
  if (!config.swapped) return 0;
  const double tiles = tiles_per_group(index, rows_of_tile(config), problem.g);
  return static_cast<double>(problem.g) * static_cast<double>(problem.n) * static_cast<double>(problem.k) * tiles /
         kL2Rate;
}

}  // namespace

double tiles_per_group(int index, int block_m, std::int64_t groups) {
  if (groups == 1) return std::ceil(static_cast<double>(last_rows(index)) / block_m);
  return mean_of_ceil(middle_rows(index), kSpread, block_m);
}

double gemm_cost_us(const Problem& problem, const GemmCandidate& candidate, const DeviceFacts& device, int index) {
  const Work work = work_of(problem, candidate.config, device, index);
  const double compute = waves(problem, work, index) * tile_us(problem, candidate, index);
  const double weights = weights_us(problem, candidate.config, index);
  const double memory = std::max(dram_us(problem, index) * unused_bandwidth(work) / candidate.memory_share,
                                 reread_us(problem, candidate.config, index));
  return kLaunchUs + kMapPassUs * map_passes(problem) + std::max(compute + weights, memory) + kTieBreak * compute;
}

double portable_cost_us(const Problem& problem, const PortableCandidate& candidate, const DeviceFacts& device,
                        int index) {
  constexpr double kRate = 2.0e6;  // FLOP per microsecond of one multiprocessor, FP8 through mma.sync
  constexpr double kTileUs = 2;
  constexpr double kMemoryShare = 0.6;  // loads are waited for by the warps that do the math
  const PortableConfig& config = candidate.config;
  const bool wgrad = problem.op == Operation::wgrad;
  const auto g = static_cast<double>(problem.g), n = static_cast<double>(problem.n), k = static_cast<double>(problem.k);
  const double rows = middle_rows(index);
  const double row_tiles = wgrad ? std::ceil(n / config.block_m) : tiles_per_group(index, config.block_m, problem.g);
  const double tiles = g * row_tiles * std::ceil((wgrad ? k : n) / config.block_n);
  const double tile_us =
      2.0 * config.block_m * config.block_n * (wgrad ? rows : k) / (kRate * candidate.share) + kTileUs;
  const double memory = dram_us(problem, index) / kMemoryShare;
  const double compute = std::ceil(tiles / std::max(1, device.sm_count)) * tile_us;
  return kLaunchUs + std::max(compute, memory) + kTieBreak * compute;
}

double mx_cost_us(const Problem& original, const MxCandidate& candidate, const DeviceFacts& device, int index) {
  constexpr double kPassRate = 3.6e6;  // bytes per microsecond
  const Problem problem = mx_view(original);
  const MxConfig& config = candidate.config;
  const bool wgrad = problem.op == Operation::wgrad;
  const auto n = static_cast<double>(problem.n), k = static_cast<double>(problem.k);
  const double rows = middle_rows(index), all_rows = static_cast<double>(problem.g) * rows;
  const double row_tiles = wgrad ? std::ceil(n / config.block_n) : tiles_per_group(index, config.block_n, problem.g);
  const double column_tiles = std::ceil((wgrad ? k : n) / (config.block_m * config.cluster_n)) * config.cluster_n;
  const double tiles = static_cast<double>(problem.g) * row_tiles * column_tiles;
  const double rate = candidate.tflops * 1e6 / kReferenceMultiprocessors;
  const double inner = wgrad ? std::max(rows, 128.0) : k;
  const double tile_us = 2.0 * config.block_m * config.block_n * inner / rate + candidate.tile_overhead_us;
  const double compute = std::ceil(tiles / std::max(1, device.sm_count)) * tile_us;
  const double pass = config.direct > 0 ? 0 : kLaunchUs + 3 * all_rows * (wgrad ? n : k) / kPassRate;
  return kLaunchUs + pass + std::max(compute, dram_us(problem, index)) + kTieBreak * compute;
}

double quantize_cost_us(const Problem& problem, const QuantizeCandidate& candidate, const DeviceFacts& device,
                        int index) {
  const std::int64_t rows = problem.layout == Layout::uniform
                                ? 0
                                : static_cast<std::int64_t>(static_cast<double>(problem.g) * middle_rows(index));
  const QuantizeShape shape = quantize_shape(problem, rows);
  const std::int64_t bytes =
      shape.in_bytes + shape.pre_bytes + shape.d_bytes + shape.row.data + shape.row.sf + shape.col.data + shape.col.sf;
  const double rate = candidate.gigabytes_per_s * 1e3 * device.sm_count / kReferenceMultiprocessors;
  return kLaunchUs + static_cast<double>(bytes) / std::min(rate, candidate.gigabytes_per_s * 1e3);
}

int choose(const std::vector<std::optional<double>>& costs, int kept) {
  int best = -1;
  double best_cost = 0;
  for (std::size_t row = 0; row < costs.size(); ++row) {
    if (!costs[row] || (best >= 0 && *costs[row] >= best_cost)) continue;
    best = static_cast<int>(row);
    best_cost = *costs[row];
  }
  if (kept < 0) return best;
  return *costs[static_cast<std::size_t>(kept)] <= kWorthSwitching * best_cost ? kept : best;
}

}  // namespace octet
