#include "tests/gpu/bench/packed.h"

#include <algorithm>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "tests/gpu/splits.h"

namespace octet::bench {
namespace {

using Sizes = std::vector<std::int64_t>;

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

// int(m * random.uniform(0.7, 1.3)) after random.seed(0), in Python.
const Sizes kEightLarge = {4942, 4729, 3900, 3503, 4123, 3862, 4793, 3612};
const Sizes kFourLarge = {9884, 9459, 7801, 7007};
const Sizes kRagged = {308, 295, 243, 218, 257, 241, 299, 225, 252, 268, 318, 256, 222, 295, 274, 217,
                       318, 330, 303, 317, 226, 291, 317, 284, 251, 194, 245, 273, 319, 327, 252, 312};

struct Peer {
  std::int64_t n, k;
  double us;
};

void add(std::vector<PackedProblem>& all, std::int64_t m, const Sizes& sizes, double limit,
         const std::vector<Peer>& peers) {
  for (const Peer& peer : peers) {
    PackedProblem packed;
    packed.problem.groups = static_cast<std::int64_t>(sizes.size());
    packed.problem.n = peer.n;
    packed.problem.k = peer.k;
    packed.sizes = sizes;
    packed.expected_m = m;
    packed.deepgemm_us = peer.us;
    packed.limit = limit;
    all.push_back(packed);
  }
}

}  // namespace

std::int64_t PackedProblem::rows() const { return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}); }

std::vector<PackedProblem> packed_problems() {
  std::vector<PackedProblem> all;
  add(all, 4096, kEightLarge, 1.05, {{6144, 7168, 2175}, {7168, 3072, 1071}, {4096, 4096, 817}, {4096, 2048, 441}});
  add(all, 8192, kFourLarge, 1.05, {{6144, 7168, 2206}, {7168, 3072, 1082}, {4096, 4096, 813}, {4096, 2048, 426}});
  add(all, 256, kRagged, 1.08, {{6144, 7168, 719}, {7168, 3072, 371}, {4096, 4096, 285}, {4096, 2048, 153}});
  return all;
}

PackedRun::PackedRun(const PackedProblem& packed, const Operands& operands)
    : packed_(packed),
      groups_(reference::extents(packed.sizes)),
      k_blocks_((packed.problem.k + 127) / 128),
      sfa_ld_((packed.rows() + 3) / 4 * 4),
      a_(operands.a_codes(size(packed.rows() * packed.problem.k))),
      sfa_(operands.scales(size(k_blocks_ * sfa_ld_))),
      b_(operands.b_codes(size(packed.problem.groups * packed.problem.n * packed.problem.k))),
      sfb_(operands.scales(size(packed.problem.groups * ((packed.problem.n + 127) / 128) * k_blocks_))),
      d_(size(packed.rows() * packed.problem.n * 2)),
      splits_(test::splits_bytes(packed.sizes, packed.problem.splits.is_i64)) {}

GemmArgs PackedRun::args(const Gemm& gemm) const {
  GemmArgs args;
  args.a = {a_.at(), sfa_.at(), gemm.a_layout()};
  args.b = {b_.at(), sfb_.at(), gemm.b_layout()};
  args.d = d_.at();
  args.splits = splits_.at();
  args.capacity = packed_.rows();
  return args;
}

Row PackedRun::measure(const Gemm& gemm, const Timer& timer, test::Random& random) {
  const GemmProblem& problem = packed_.problem;
  const test::Buffer workspace(gemm.workspace_bytes(packed_.rows()));
  GemmArgs arguments = args(gemm);
  arguments.workspace = workspace.at();

  Row row;
  row.table = "packed";
  row.name = packed_.name();
  row.config = to_string(gemm.spec().config);
  row.g = problem.groups;
  row.m = packed_.expected_m;
  row.n = problem.n;
  row.k = problem.k;
  row.rows = packed_.rows();
  row.peer_us = packed_.deepgemm_us;
  row.limit = packed_.limit;
  d_.poison();
  gemm.launch(arguments, timer.stream());
  row.fault = spot_check(random);
  row.us = timer.median_us([&] { gemm.launch(arguments, timer.stream()); });
  row.tflops = 2.0 * static_cast<double>(row.rows * problem.n * problem.k) / row.us / 1e6;
  row.gbps = static_cast<double>(a_.bytes() + sfa_.bytes() + b_.bytes() + sfb_.bytes() + d_.bytes()) / row.us / 1e3;
  return row;
}

std::string PackedRun::spot_check(test::Random& random) const {
  if (!d_.guards_intact()) return "wrote outside D";
  const std::vector<float> sfa = sfa_.values<float>();
  for (std::size_t group = 0; group < groups_.begin.size(); ++group) {
    std::string fault = spot_check_group(group, sfa, random);
    if (!fault.empty()) return fault;
  }
  return "";
}

// A few rows by one slab of 128 columns, as a small GEMM of its own.
std::string PackedRun::spot_check_group(std::size_t group, const std::vector<float>& sfa, test::Random& random) const {
  constexpr std::int64_t kRows = 8, kSlab = 128;
  const std::int64_t n = packed_.problem.n, k = packed_.problem.k;
  const std::int64_t slabs = (n + kSlab - 1) / kSlab, slab = random.integer(0, slabs - 1);
  GemmProblem part = packed_.problem;
  part.groups = 1;
  part.n = std::min(kSlab, n - slab * kSlab);

  const std::int64_t first_weight = static_cast<std::int64_t>(group) * n + slab * kSlab;
  std::vector<std::uint8_t> b(size(part.n * k)), a(size(kRows * k));
  b_.download(b.data(), b.size(), size(first_weight * k));
  std::vector<float> part_sfb(size(k_blocks_)), part_sfa(size(k_blocks_ * kRows));
  sfb_.download(part_sfb.data(), part_sfb.size() * sizeof(float),
                size((static_cast<std::int64_t>(group) * slabs + slab) * k_blocks_) * sizeof(float));
  std::vector<std::uint16_t> d(size(kRows * part.n));
  for (std::int64_t i = 0; i < kRows; ++i) {
    const std::int64_t begin = groups_.begin[group], last = groups_.end[group] - 1;
    const std::int64_t row = i == 0 ? begin : i == 1 ? last : random.integer(begin, last);
    a_.download(a.data() + i * k, size(k), size(row * k));
    d_.download(d.data() + i * part.n, size(part.n * 2), size(row * n + slab * kSlab) * 2);
    for (std::int64_t kb = 0; kb < k_blocks_; ++kb) part_sfa[size(kb * kRows + i)] = sfa[size(kb * sfa_ld_ + row)];
  }
  const auto threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const reference::GroupError error =
      reference::compare_gemm(part.to_problem(), {a.data(), part_sfa.data(), b.data(), part_sfb.data()},
                              reference::extents({kRows}), kRows, d.data(), nullptr, kRows * part.n, 1, threads)
          .front();
  if (reference::within_bounds(error, part.d)) return "";
  return fmt::format("group {}: relative error {:.3g}", group, error.frobenius);
}

}  // namespace octet::bench
