#include "tests/gpu/bench/gemm_tables.h"

#include <fmt/format.h>

namespace octet::bench {
namespace {

using Sizes = std::vector<std::int64_t>;

// int(m * random.uniform(0.7, 1.3)) after random.seed(0), in Python. Numbers, not a generator: a group's share of m
// rounds down differently for every m.
const Sizes kEightLarge = {4942, 4729, 3900, 3503, 4123, 3862, 4793, 3612};
const Sizes kFourLarge = {9884, 9459, 7801, 7007};
const Sizes kRagged = {308, 295, 243, 218, 257, 241, 299, 225, 252, 268, 318, 256, 222, 295, 274, 217,
                       318, 330, 303, 317, 226, 291, 317, 284, 251, 194, 245, 273, 319, 327, 252, 312};
const Sizes kMasked32By192 = {231, 221, 182, 164, 193, 181, 224, 169, 189, 201, 239, 192, 166, 221, 205, 163,
                              239, 247, 227, 238, 170, 218, 237, 213, 188, 146, 184, 204, 239, 245, 189, 234};
const Sizes kMasked6By1024 = {1235, 1182, 975, 875, 1030, 965};
const Sizes kMasked32By20 = {24, 23, 19, 17, 20, 18, 23, 17, 19, 21, 24, 20, 17, 23, 21, 17,
                             24, 25, 23, 24, 17, 22, 24, 22, 19, 15, 19, 21, 24, 25, 19, 24};
const Sizes kMasked6By20 = {24, 23, 19, 17, 20, 18};
const Sizes kMasked64By4 = {4, 4, 3, 3, 4, 3, 4, 3, 3, 4, 4, 4, 3, 4, 4, 3, 4, 5, 4, 4, 3, 4,
                            4, 4, 3, 3, 3, 4, 4, 5, 3, 4, 3, 4, 4, 2, 4, 3, 4, 4, 2, 3, 4, 3,
                            3, 4, 3, 4, 3, 5, 4, 3, 2, 3, 4, 5, 3, 4, 4, 4, 4, 4, 5, 4};
// The same, rounded up to 128: the peer takes no other groups. So no group has padding in the columnwise data.
const Sizes kWgrad4 = {9984, 9472, 7808, 7040};
const Sizes kWgrad8 = {4992, 4736, 3968, 3584, 4224, 3968, 4864, 3712};
const Sizes kWgrad16 = {2560, 2432, 2048, 1792, 2176, 2048, 2432, 1920, 2048, 2176, 2560, 2176, 1792, 2432, 2304, 1792};

struct Peer {
  std::int64_t n, k;
  double us, limit;  // limit: times the peer's time
};
// A target of the peer table, in microseconds on its machine.
Peer against(std::int64_t n, std::int64_t k, double us, double target_us) { return {n, k, us, target_us / us}; }

class Tables {
 public:
  GemmBenchmark& add(const char* table, const std::string& problem, const Sizes& sizes, std::int64_t expected_m) {
    GemmBenchmark row;
    row.table = table;
    row.problem = Problem::parse(problem);
    row.sizes = sizes;
    row.expected_m = expected_m;
    all.push_back(std::move(row));
    return all.back();
  }

  // `format` has a place for g, n and k each.
  void add(const char* table, const char* format, const Sizes& sizes, std::int64_t expected_m, Bound bound,
           const std::vector<Peer>& peers) {
    for (const Peer& peer : peers) {
      GemmBenchmark& row =
          add(table, fmt::format(fmt::runtime(format), sizes.size(), peer.n, peer.k), sizes, expected_m);
      row.peer_us = peer.us;
      row.limit = peer.limit;
      row.bound = bound;
    }
  }

  void add_dense(std::int64_t m, std::int64_t n, std::int64_t k, double us, Bound bound) {
    // Never slower than the peer.
    add("dense", "gemm.dense g{} n{} k{} a=e4m3:1x128 b=e4m3:128x128 d=bf16", {m}, m, bound, {{n, k, us, 1}});
  }

  std::vector<GemmBenchmark> all;
};

void add_packed(Tables& tables) {
  const char* format = "gemm.packed g{} n{} k{} a=e4m3:1x128 b=e4m3:128x128 d=bf16";
  const auto add = [&](const Sizes& sizes, std::int64_t m, const std::vector<Peer>& peers) {
    tables.add("packed", format, sizes, m, Bound::tensor, peers);
  };
  add(kEightLarge, 4096,
      {{6144, 7168, 2175, 1.05}, {7168, 3072, 1071, 1.05}, {4096, 4096, 817, 1.05}, {4096, 2048, 441, 1.05}});
  add(kFourLarge, 8192,
      {{6144, 7168, 2206, 1.05}, {7168, 3072, 1082, 1.05}, {4096, 4096, 813, 1.05}, {4096, 2048, 426, 1.05}});
  add(kRagged, 256,
      {{6144, 7168, 719, 1.08}, {7168, 3072, 371, 1.08}, {4096, 4096, 285, 1.08}, {4096, 2048, 153, 1.08}});
}

void add_masked(Tables& tables) {
  const auto add = [&](const Sizes& sizes, std::int64_t m, Bound bound, const std::vector<Peer>& peers) {
    const char* format = sizes.size() == 64 ? "gemm.masked g{} m512 n{} k{} a=e4m3:1x128 b=e4m3:128x128 d=bf16"
                                            : "gemm.masked g{} m4096 n{} k{} a=e4m3:1x128 b=e4m3:128x128 d=bf16";
    tables.add("masked", format, sizes, m, bound, peers);
  };
  add(kMasked32By192, 192, Bound::tensor,
      {against(6144, 7168, 547, 506), against(7168, 3072, 293, 271), against(4096, 4096, 225, 208),
       against(4096, 2048, 126, 117)});
  add(kMasked6By1024, 1024, Bound::tensor, {against(6144, 7168, 410, 398), against(4096, 2048, 94, 90)});
  add(kMasked32By20, 20, Bound::copy,
      {against(6144, 7168, 361, 355), against(7168, 3072, 195, 185), against(4096, 4096, 147, 141),
       against(4096, 2048, 80.6, 75)});
  add(kMasked6By20, 20, Bound::copy,
      {against(6144, 7168, 78.2, 74), against(7168, 3072, 45.9, 40), against(4096, 4096, 39.3, 33),
       against(4096, 2048, 23.2, 20)});
  add(kMasked64By4, 4, Bound::copy, {against(6144, 7168, 709, 697), against(4096, 2048, 153, 143)});
}

void add_wgrad(Tables& tables) {
  const char* format = "wgrad.packed g{} n{} k{} a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc";
  const auto add = [&](const Sizes& sizes, std::int64_t m, const std::vector<Peer>& peers) {
    tables.add("wgrad", format, sizes, m, Bound::tensor, peers);
  };
  add(kWgrad4, 8192, {against(4096, 7168, 1972, 1690), against(7168, 2048, 1009, 860)});
  add(kWgrad8, 4096, {against(4096, 7168, 2054, 1740), against(7168, 2048, 1048, 890)});
  add(kWgrad16, 2048, {against(4096, 7168, 2281, 1900), against(7168, 2048, 1148, 960)});
}

double us_at(std::int64_t m, std::int64_t n, std::int64_t k, double tflops) {
  return 2.0 * static_cast<double>(m * n * k) / tflops / 1e6;
}

void add_dense(Tables& tables) {
  tables.add_dense(8192, 8192, 8192, us_at(8192, 8192, 8192, 1459), Bound::tensor);
  tables.add_dense(4096, 4096, 7168, us_at(4096, 4096, 7168, 1434), Bound::tensor);
  tables.add_dense(4096, 7168, 2048, us_at(4096, 7168, 2048, 1294), Bound::tensor);
  tables.add_dense(4096, 24576, 1536, us_at(4096, 24576, 1536, 1323), Bound::tensor);
  tables.add_dense(128, 4096, 7168, 16.1, Bound::copy);
  tables.add_dense(1, 4096, 7168, 18.4, Bound::copy);
}

// Without peers: the figures are kept, to see them change.
void add_recipes(Tables& tables) {
  const auto packed = [&](const char* a, const char* b) {
    tables.add("recipes", fmt::format("gemm.packed g8 n6144 k7168 a=e4m3:{} b=e4m3:{} d=bf16", a, b), kEightLarge,
               4096);
  };
  packed("tensor", "tensor");
  packed("row", "row");
  packed("1x128", "1x128");
  const char* mx = "gemm.dense g1 n8192 k8192 a=e4m3:1x32 b=e4m3:1x32 d=bf16";
  tables.add("recipes", mx, {8192}, 8192).tflops_bar = 720;
  GemmBenchmark& direct = tables.add("recipes", mx, {8192}, 8192);
  direct.no_workspace = true;
  direct.tflops_bar = 540;
  const auto mx_decode = [&](const Sizes& sizes, std::int64_t m, std::int64_t n, std::int64_t k) {
    const char* format = "gemm.masked g{} m512 n{} k{} a=e4m3:1x32 b=e4m3:1x32 d=bf16";
    tables.add("recipes", fmt::format(fmt::runtime(format), sizes.size(), n, k), sizes, m);
  };
  mx_decode(kMasked32By20, 20, 6144, 7168);
  mx_decode(kMasked32By20, 20, 4096, 2048);
  mx_decode(kMasked6By20, 20, 6144, 7168);
  mx_decode(kMasked64By4, 4, 4096, 2048);
  tables.add("recipes", "wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=f32 +acc", kWgrad8, 4096);
}

}  // namespace

std::vector<GemmBenchmark> gemm_benchmarks() {
  Tables tables;
  add_packed(tables);
  add_masked(tables);
  add_wgrad(tables);
  add_dense(tables);
  add_recipes(tables);
  return std::move(tables.all);
}

}  // namespace octet::bench
