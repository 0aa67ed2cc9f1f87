// The cost model: it ranks the legal candidates. Its figures are estimates; only their order matters.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "octet/device.h"
#include "octet/problem.h"
#include "runtime/candidates.h"

namespace octet {

// The model sees the expected rows per group through this bucket alone, so that a choice over all M is piecewise
// constant with at most kBuckets pieces. Buckets end at 16 and 32 rows, which decide how few tokens meet many weights,
// and then every 64, the unit of every block_m: within one, a group needs the same number of tiles. 0 or less is
// unknown and counts as kUnknownRows. The warm path keys its map by this.
inline constexpr int kBucketRows = 64;
inline constexpr int kBuckets = 66;
inline constexpr std::int64_t kUnknownRows = 4096;

// The largest expected rows of a bucket.
constexpr std::int64_t last_rows(int index) noexcept {
  return index <= 3 ? std::int64_t{8} << index : std::int64_t{kBucketRows} * (index - 2);
}
constexpr int bucket(std::int64_t expected_m) noexcept {
  const std::int64_t rows = expected_m > 0 ? expected_m : kUnknownRows;
  if (rows <= kBucketRows) return rows <= 16 ? 1 : rows <= 32 ? 2 : 3;
  return rows >= last_rows(kBuckets) ? kBuckets : static_cast<int>((rows + kBucketRows - 1) / kBucketRows) + 2;
}
// The smallest expected rows of a bucket.
constexpr std::int64_t first_rows(int index) noexcept { return index == 1 ? 1 : last_rows(index - 1) + 1; }

// Mean number of tiles of `block_m` rows that a group needs, when sizes spread evenly over 0.7 ... 1.3 of the middle of
// the bucket. A single group has the size that was said.
double tiles_per_group(int index, int block_m, std::int64_t groups);

// Microseconds for all groups, each with the bucket's rows.
double gemm_cost_us(const Problem& problem, const GemmCandidate& candidate, const DeviceFacts& device, int index);
// Rough: no portable kernel has been measured. It only has to lose against a kernel that is made for the arch.
double portable_cost_us(const Problem& problem, const PortableCandidate& candidate, const DeviceFacts& device,
                        int index);
// With the pass that writes A as bf16.
double mx_cost_us(const Problem& problem, const MxCandidate& candidate, const DeviceFacts& device, int index);
double quantize_cost_us(const Problem& problem, const QuantizeCandidate& candidate, const DeviceFacts& device,
                        int index);

// The row to take: `kept`, what the next larger bucket took (-1: none), as long as it costs at most kWorthSwitching
// times the cheapest; else the cheapest, the first of equals. A row without a cost is not legal; -1 when none is.
// The model is not more exact than that, and every switch is one more kernel to compile and to load.
inline constexpr double kWorthSwitching = 1.02;
int choose(const std::vector<std::optional<double>>& costs, int kept);

}  // namespace octet
