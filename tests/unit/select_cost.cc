// The cost model against values worked out by hand or by brute force.
#include "runtime/cost.h"

#include <cmath>

#include "tests/support/catch.h"

namespace {

using octet::Problem;

const std::string kPair = " a=e4m3:1x128 b=e4m3:128x128 d=bf16";
// 10 TFLOPS per multiprocessor, a round number, half of it with scales of columns, and all of the memory's bandwidth.
const octet::GemmCandidate kCandidate{{128, 256, 2, 1, 4, 1, 2, false}, 1320, 660, 1.0, 1.0};

}  // namespace

TEST_CASE("buckets end at 16, 32, every 64 rows up to 4096, and unknown counts as 4096") {
  CHECK(octet::kBuckets == 66);
  CHECK(octet::bucket(1) == 1);
  CHECK(octet::bucket(16) == 1);
  CHECK(octet::bucket(17) == 2);
  CHECK(octet::bucket(32) == 2);
  CHECK(octet::bucket(33) == 3);
  CHECK(octet::bucket(64) == 3);
  CHECK(octet::bucket(65) == 4);
  CHECK(octet::bucket(4032) == 65);
  CHECK(octet::bucket(4033) == 66);
  CHECK(octet::bucket(4096) == 66);
  CHECK(octet::bucket(INT64_MAX) == 66);
  CHECK(octet::bucket(0) == octet::bucket(4096));
  CHECK(octet::bucket(-5) == octet::bucket(4096));
  for (int index = 1; index <= octet::kBuckets; ++index) {
    CHECK(octet::bucket(octet::first_rows(index)) == index);
    if (index > 1) CHECK(octet::bucket(octet::first_rows(index) - 1) == index - 1);
  }
}

TEST_CASE("one group needs the tiles of every M in its bucket exactly") {
  for (const int block_m : {64, 128, 192, 256}) {
    for (int m = 1; m <= 4096; ++m) {
      REQUIRE(octet::tiles_per_group(octet::bucket(m), block_m, 1) == (m + block_m - 1) / block_m);
    }
  }
}

TEST_CASE("many groups need the mean over their spread") {
  struct Bucket {
    int index;
    double middle;  // the last rows of it; of the first three the mean of those and of the last ones below
  };
  for (const auto& [index, middle] : {Bucket{1, 8}, {2, 24}, {3, 48}, {4, 128}, {6, 256}, {19, 1088}, {66, 4096}}) {
    for (const int block_m : {16, 64, 128, 192, 256}) {
      constexpr int kSteps = 200000;
      double sum = 0;
      for (int step = 0; step < kSteps; ++step) {
        sum += std::ceil(middle * (0.7 + 0.6 * (step + 0.5) / kSteps) / block_m);
      }
      CHECK(octet::tiles_per_group(index, block_m, 8) == Approx(sum / kSteps).epsilon(1e-4));
    }
  }
}

TEST_CASE("a GEMM's cost by hand") {
  // 32 tiles of 128 rows, 2 of 256 columns: 32 clusters, 66 run at once: one wave.
  // tile 2*128*256*1280 / 1e7 + 1 = 9.388608 us; weights 2 * 512*1280 / 60e6 = 0.02184533 us, since many row tiles read
  // them. Memory is less: (512*1280 + 4096*1280 + 2*4096*512) / 4e6 = 2.523136 us, times 1 + 0.4 * (66/32 - 1) = 1.425
  // because half of the wave is empty.
  const Problem problem = Problem::parse("gemm.packed g1 n512 k1280" + kPair);
  CHECK(octet::gemm_cost_us(problem, kCandidate, {}, octet::kBuckets) ==
        Approx(3 + 9.388608 * 1.01 + 0.02184533).epsilon(1e-8));

  // One cluster at a time: 32 waves.
  octet::DeviceFacts small;
  small.sm_count = 2;
  CHECK(octet::gemm_cost_us(problem, kCandidate, small, octet::kBuckets) ==
        Approx(3 + 32 * 9.388608 * 1.01 + 0.02184533).epsilon(1e-8));

  // A partial block along K costs a whole one of math, but its own bytes of weights.
  const Problem partial = Problem::parse("gemm.packed g1 n512 k1168" + kPair);
  CHECK(octet::gemm_cost_us(partial, kCandidate, {}, octet::kBuckets) ==
        Approx(3 + 9.388608 * 1.01 + 0.01993387).epsilon(1e-8));

  // Without a cluster 64 blocks run at once on 132.
  octet::GemmCandidate alone = kCandidate;
  alone.config.cluster_n = 1;
  CHECK(octet::gemm_cost_us(problem, alone, {}, octet::kBuckets) ==
        Approx(3 + 9.388608 * 1.01 + 0.02184533).epsilon(1e-8));

  // A cluster along M fetches the weights once.
  octet::GemmCandidate sharing = alone;
  sharing.config.cluster_m = 2;
  CHECK(octet::gemm_cost_us(problem, sharing, {}, octet::kBuckets) ==
        Approx(3 + 9.388608 * 1.01 + 0.01092267).epsilon(1e-8));

  // Scales of columns halve the rate of the math: 2 * 8.388608 + 1.
  const Problem columns = Problem::parse("gemm.packed g1 n512 k1280 a=e4m3:1x128 b=e4m3:1x128 d=bf16");
  CHECK(octet::gemm_cost_us(columns, kCandidate, {}, octet::kBuckets) ==
        Approx(3 + 17.777216 * 1.01 + 0.02184533).epsilon(1e-8));
}

TEST_CASE("a pass that makes tensor maps costs a launch for each array of pointers") {
  const auto cost = [](const std::string& text) {
    return octet::gemm_cost_us(Problem::parse(text), kCandidate, {}, octet::kBuckets);
  };
  const std::string rest = " n512 k1280" + kPair, by_pointer = rest + " w=pointers";
  // 69 maps and pointers fit the parameters.
  CHECK(cost("gemm.packed g69" + by_pointer) == cost("gemm.packed g69" + rest));
  CHECK(cost("gemm.packed g70" + by_pointer) == Approx(cost("gemm.packed g70" + rest) + 2 * 3).epsilon(1e-9));
  CHECK(cost("gemm.packed g449" + by_pointer) == Approx(cost("gemm.packed g449" + rest) + 4 * 3).epsilon(1e-9));
  const std::string wgrad = "wgrad.packed g8 n512 k1280 a=e4m3:1x128 b=e4m3:1x128 d=f32";
  CHECK(cost(wgrad + " from=deepgemm") == Approx(cost(wgrad) + 2 * 3).epsilon(1e-9));
}

TEST_CASE("a swapped GEMM's cost by hand") {
  // 256 tiles of 16 rows, 8 of 64 columns: 2048 blocks, 396 run at once: 6 waves. A block has a third of the rate:
  // 2*64*16*128 / 3.333e6 + 1 = 1.0786432 us. The weights' way to L2 is part of its rate.
  const octet::GemmCandidate swapped{{64, 16, 1, 1, 6, 1, 1, false, true, 3}, 1320, 1320, 1.0, 1.0};
  const Problem problem = Problem::parse("gemm.packed g1 n512 k128" + kPair);
  CHECK(octet::gemm_cost_us(problem, swapped, {}, octet::kBuckets) == Approx(3 + 6 * 1.0786432 * 1.01).epsilon(1e-8));

  // Ten times as long, each of the 256 tiles reads ten times the weights from L2, and that decides: 256*512*1280 / 8e6
  // = 20.97152 us, against 6 * 1.786432 of math.
  const Problem longer = Problem::parse("gemm.packed g1 n512 k1280" + kPair);
  CHECK(octet::gemm_cost_us(longer, swapped, {}, octet::kBuckets) ==
        Approx(3 + 20.97152 + 0.01 * 6 * 1.786432).epsilon(1e-8));
}

TEST_CASE("a split GEMM's cost by hand") {
  // One tile of 16 rows for up to 16 of them, 8 of 64 columns: 8 clusters, 198 of two blocks run at once: one wave. Of
  // K's 9 blocks of 128 one half of the cluster sums 5: 2*64*16*640 / 3.333e6 + 1 = 1.393216 us. Memory: of 8 rows,
  // (512*1152 + 8*1152 + 2*8*512) / 4e6 = 0.151808 us, times 1 + 0.4 * (198/8 - 1) = 10.5, since most of the wave is
  // empty.
  octet::GemmCandidate split{{64, 16, 1, 1, 6, 1, 1, false, true, 3, 2}, 1320, 1320, 1.0, 1.0};
  const Problem problem = Problem::parse("gemm.packed g1 n512 k1152" + kPair);
  CHECK(octet::gemm_cost_us(problem, split, {}, 1) == Approx(3 + 0.151808 * 10.5 + 0.01 * 1.393216).epsilon(1e-8));

  // Without a split the same 8 blocks are alone with all of K: 2*64*16*1152 / 3.333e6 + 1 = 1.7077888 us, and use less
  // of the memory: 1 + 0.4 * (396/8 - 1) = 20.4.
  split.config.split_k = 1;
  CHECK(octet::gemm_cost_us(problem, split, {}, 1) == Approx(3 + 0.151808 * 20.4 + 0.01 * 1.7077888).epsilon(1e-8));
}

TEST_CASE("few rows cost the weights' way from memory") {
  // 32 * 6144 * 7168 bytes of weights at 4 TB/s: 352 us, whatever the tile.
  const Problem problem = Problem::parse("gemm.packed g32 n6144 k7168" + kPair);
  const double cost = octet::gemm_cost_us(problem, kCandidate, {}, 1);
  CHECK(cost > 352);
  CHECK(cost < 1.15 * 352);

  // By hand, of 8 rows a group. Memory: (32*6144*7168 + 256*7168 + 2*256*6144) / 4e6 = 353.56672 us, times
  // 1 + 0.4 * (6 / (384/66) - 1) = 1.0125, since 384 clusters fill 66 places 5.8 times. Math: 47.9762048 us a tile, and
  // 4860 / 768 waves, the mean over 0 ... 768 clusters.
  CHECK(cost == Approx(3 + 353.56672 * 1.0125 + 0.01 * 47.9762048 * 4860 / 768).epsilon(1e-8));
  octet::GemmCandidate half = kCandidate;
  half.memory_share = 0.5;
  CHECK(octet::gemm_cost_us(problem, half, {}, 1) ==
        Approx(3 + 2 * 353.56672 * 1.0125 + 0.01 * 47.9762048 * 4860 / 768).epsilon(1e-8));
}

TEST_CASE("the cheapest legal row is taken, the first of equals") {
  CHECK(octet::choose({3.0, 2.0, 2.5}, -1) == 1);
  CHECK(octet::choose({2.0, 2.0, 2.0}, -1) == 0);
  CHECK(octet::choose({std::nullopt, 3.0, 3.0}, -1) == 1);
  CHECK(octet::choose({std::nullopt, 3.0, std::nullopt}, -1) == 1);
  CHECK(octet::choose({std::nullopt, std::nullopt}, -1) == -1);
  CHECK(octet::choose({}, -1) == -1);
}

TEST_CASE("a row that was taken for more rows is kept until switching pays") {
  CHECK(octet::choose({100.0, 101.9}, 1) == 1);
  CHECK(octet::choose({100.0, 102.1}, 1) == 0);
  CHECK(octet::choose({100.0, 99.0, 100.5}, 2) == 2);
  CHECK(octet::choose({100.0, 50.0, 100.0}, 2) == 1);
}

TEST_CASE("a quantizer's cost is its bytes") {
  const octet::QuantizeCandidate candidate{{256, 8, 3}, 4000};
  // 4096 rows * 7168 columns * (2 + 1 + 4/128) bytes at 4e6 bytes per us.
  const Problem tokens = Problem::parse("quantize.packed g1 c7168 in=bf16 out=e4m3:1x128");
  CHECK(octet::quantize_cost_us(tokens, candidate, {}, octet::kBuckets) == Approx(3 + 22.2495).epsilon(1e-4));
  // Weights: their own rows, whatever M.
  const Problem weights = Problem::parse("quantize.uniform g2 n2032 k7168 in=bf16 out=e4m3:128x128");
  CHECK(octet::quantize_cost_us(weights, candidate, {}, 1) == Approx(3 + 21.8502).epsilon(1e-4));
  CHECK(octet::quantize_cost_us(weights, candidate, {}, 1) ==
        octet::quantize_cost_us(weights, candidate, {}, octet::kBuckets));
}

TEST_CASE("every operand counts in a quantizer's cost, once") {
  const octet::QuantizeCandidate candidate{{256, 8, 3}, 4000};
  const auto bytes = [&](const char* text) {
    return (octet::quantize_cost_us(Problem::parse(text), candidate, {}, octet::kBuckets) - 3) * 4e6;
  };
  constexpr double kRows = 4096, kColumns = 7168, kTile = 128;
  // A gated forward pass reads both halves and writes one.
  CHECK(bytes("activation.packed g1 c7168 d=bf16 in=bf16 act=swiglu") == Approx(kRows * kColumns * 6));
  // Backward: gradient and pre-activation in, the gradient of both halves out, in both directions: up(rows, 128) + 128
  // columns of transposed data, 33 blocks of 128 rows.
  CHECK(bytes("quantize.packed g1 c7168 in=bf16 act=swiglu out=e4m3:1x128 dir=row,col +grad") ==
        Approx(kRows * kColumns * (2 + 4) + kRows * 2 * kColumns * (1 + 4 / kTile) +
               2 * kColumns * ((4096 + 128) + 4 * 33)));
  // FP8 and scales in, bf16 out.
  CHECK(bytes("dequantize.packed g1 c7168 a=e4m3:1x128 d=bf16") == Approx(kRows * kColumns * (3 + 4 / kTile)));
}
