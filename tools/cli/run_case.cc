#include "tools/cli/run_case.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "octet/error.h"

namespace octet::cli {
namespace {

constexpr std::int64_t kUsualRows = 256;
constexpr std::int64_t kTailRows = 37;  // not a multiple of anything that a kernel works in
constexpr std::int64_t kBlockRows = 128;

// Whose groups are blocks of whole 128 rows.
bool has_blocks(const Problem& problem) { return problem.op == Operation::wgrad && problem.from == Packing::deepgemm; }

// Between 0 and `most`; not std::uniform_int_distribution, whose result depends on the standard library.
std::vector<std::int64_t> ragged_sizes(std::int64_t groups, std::int64_t most, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(groups));
  for (std::int64_t& size : sizes) size = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
  if (groups >= 4) sizes[random() % sizes.size()] = 1;
  if (groups >= 4) sizes[random() % sizes.size()] = 0;
  return sizes;
}

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_argument, message); }

void check_sizes(const Problem& problem, const std::vector<std::int64_t>& sizes) {
  if (problem.layout == Layout::uniform) {
    refuse("--sizes: groups of a uniform problem all have its n rows; leave --sizes out");
  }
  if (static_cast<std::int64_t>(sizes.size()) != problem.g) {
    refuse(fmt::format("--sizes: {} sizes for g{}; give one for each group", sizes.size(), problem.g));
  }
  for (std::size_t g = 0; problem.layout == Layout::masked && g < sizes.size(); ++g) {
    if (sizes[g] <= problem.m) continue;
    refuse(
        fmt::format("--sizes: group {} has {} rows, more than the m{} of its masked buffer", g, sizes[g], problem.m));
  }
  for (std::size_t g = 0; has_blocks(problem) && g < sizes.size(); ++g) {
    if (sizes[g] % kBlockRows == 0) continue;
    refuse(fmt::format("--sizes: group {} has {} rows; with from=deepgemm each has a multiple of 128", g, sizes[g]));
  }
}

std::vector<std::int64_t> sizes_of(const Problem& problem, const std::vector<std::int64_t>& asked, std::uint64_t seed) {
  if (!asked.empty()) check_sizes(problem, asked);
  if (!asked.empty()) return asked;
  if (problem.layout == Layout::uniform)
    return std::vector<std::int64_t>(static_cast<std::size_t>(problem.g), problem.n);
  auto sizes = ragged_sizes(problem.g, problem.layout == Layout::masked ? problem.m : 2 * kUsualRows, seed);
  for (std::int64_t& size : sizes) {
    if (has_blocks(problem)) size = (size + kBlockRows - 1) / kBlockRows * kBlockRows;
  }
  return sizes;
}

reference::GroupExtents extents_of(const Problem& problem, const std::vector<std::int64_t>& sizes) {
  if (problem.layout == Layout::masked) return reference::masked_extents(sizes, problem.m);
  return reference::extents(sizes, problem.al);
}

// With room for a tail where the layout has one.
std::int64_t capacity_of(const Problem& problem, const reference::GroupExtents& groups) {
  if (problem.layout == Layout::masked) return problem.g * problem.m;
  const std::int64_t end = groups.end.empty() ? 0 : groups.end.back();
  const bool has_tail = problem.layout == Layout::packed || problem.layout == Layout::padded;
  if (has_blocks(problem)) return end + kBlockRows;
  return end + (has_tail ? kTailRows : 0);
}

}  // namespace

Case make_case(const Problem& problem, const std::vector<std::int64_t>& sizes, std::uint64_t seed) {
  Case run;
  run.problem = problem;
  run.seed = seed;
  run.sizes = sizes_of(problem, sizes, seed);
  run.groups = extents_of(problem, run.sizes);
  run.rows = std::accumulate(run.sizes.begin(), run.sizes.end(), std::int64_t{0});
  run.capacity = capacity_of(problem, run.groups);
  return run;
}

std::vector<bool> rows_in_groups(const Case& run) {
  std::vector<bool> inside(static_cast<std::size_t>(run.capacity), false);
  for (std::size_t g = 0; g < run.sizes.size(); ++g) {
    std::fill(inside.begin() + run.groups.begin[g], inside.begin() + run.groups.end[g], true);
  }
  return inside;
}

std::int64_t group_of_row(const Case& run, std::int64_t row) {
  return run.problem.layout == Layout::masked ? row / run.problem.m : 0;
}

int Verdict::worst_group() const {
  int worst = -1;
  // A limit of 0 admits no error at all.
  const auto badness = [](const GroupResult& group) {
    if (group.error <= group.limit) return group.limit > 0 ? group.error / group.limit : 0.0;
    return group.limit > 0 ? group.error / group.limit : 1 + group.error;
  };
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].checked == 0) continue;
    if (worst < 0 || badness(groups[g]) > badness(groups[static_cast<std::size_t>(worst)])) worst = static_cast<int>(g);
  }
  return worst;
}

bool Verdict::passed() const {
  // Written so that NaN fails.
  const auto right = [](const GroupResult& group) { return group.error <= group.limit; };
  return fault.empty() && std::all_of(groups.begin(), groups.end(), right);
}

double Verdict::median_us() const {
  std::vector<double> sorted = execution.times_us;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  if (n == 0) return 0;
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

}  // namespace octet::cli
