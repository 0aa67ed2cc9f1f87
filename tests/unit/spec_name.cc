#include <map>
#include <string>

#include "octet/explain.h"
#include "octet/spec.h"
#include "tests/support/catch.h"

using octet::GemmConfig;
using octet::Problem;
using octet::QuantizeConfig;
using octet::Spec;

TEST_CASE("a spec's name spells its problem, its config and its arch") {
  Spec spec;
  spec.problem = Problem::parse("gemm.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128 d=bf16");
  CHECK(spec.name() ==
        "gemm_packed_g8_n7168_k2048_a_e4m3_1x128_b_e4m3_128x128_d_bf16__bm128_bn256_wg2x1_st4_cl1x2__sm90a");
  spec.config = GemmConfig{64, 128, 1, 1, 8, 1, 1, true};
  CHECK(spec.name() ==
        "gemm_packed_g8_n7168_k2048_a_e4m3_1x128_b_e4m3_128x128_d_bf16__bm64_bn128_wg1x1_st8_cl1x1_tile__sm90a");
  spec.problem = Problem::parse("quantize.padded g8 c64 al16 in=bf16 out=e4m3:1x128 splits=i64/ends");
  spec.config = QuantizeConfig{};
  CHECK(spec.name() == "quantize_padded_g8_c64_al16_in_bf16_out_e4m3_1x128_splits_i64_ends__t256_r8_b3__sm90a");
}

TEST_CASE("configs print short") {
  CHECK(to_string(octet::Config(GemmConfig{192, 128, 3, 1, 4, 1, 2, true})) == "bm192 bn128 wg3x1 st4 cl1x2 tile");
  CHECK(to_string(octet::Config(GemmConfig{64, 256, 1, 2, 5, 1, 1, false})) == "bm64 bn256 wg1x2 st5 cl1x1");
  CHECK(to_string(octet::Config(GemmConfig{64, 32, 1, 1, 5, 1, 1, false, true, 3, 2})) ==
        "bm64 bn32 wg1x1 st5 cl1x1 swap b3 sk2");
  CHECK(to_string(octet::Config(GemmConfig{64, 128, 1, 1, 7, 1, 1, false, true, 1, 4})) ==
        "bm64 bn128 wg1x1 st7 cl1x1 swap sk4");
  CHECK(to_string(octet::Config(QuantizeConfig{128, 4, 2})) == "t128 r4 b2");
}

TEST_CASE("different specs have different names, equal specs the same") {
  std::map<std::string, Spec> by_name;
  const auto add = [&](const Spec& spec) {
    const auto [at, added] = by_name.emplace(spec.name(), spec);
    REQUIRE(added);
    REQUIRE(at->second == spec);
  };
  const Problem problem = Problem::parse("gemm.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128 d=bf16");
  for (const int block_m : {64, 128, 192}) {
    for (const int block_n : {128, 256}) {
      for (const int warpgroups_m : {1, 2, 3}) {
        for (const int warpgroups_n : {1, 2}) {
          for (const int stages : {2, 12}) {
            for (const int cluster_n : {1, 2}) {
              for (const bool tile : {false, true}) {
                for (const char* arch : {"sm_90a", "sm_100a"}) {
                  add({problem, GemmConfig{block_m, block_n, warpgroups_m, warpgroups_n, stages, 1, cluster_n, tile},
                       arch});
                }
              }
            }
          }
        }
      }
    }
  }
  for (const int threads : {64, 256}) {
    for (const int rows : {4, 8}) {
      for (const int blocks : {1, 3}) add({problem, QuantizeConfig{threads, rows, blocks}, "sm_90a"});
    }
  }
}

TEST_CASE("specs compare by problem, config and arch") {
  const Spec spec{Problem::parse("gemm.packed g8 n64 k64"), GemmConfig{}, "sm_90a"};
  Spec other = spec;
  CHECK(other == spec);
  other.arch = "sm_100a";
  CHECK_FALSE(other == spec);
  other = spec;
  other.problem.g = 9;
  CHECK_FALSE(other == spec);
  other = spec;
  other.config = QuantizeConfig{};
  CHECK_FALSE(other == spec);
  for (int GemmConfig::*field : {&GemmConfig::block_m, &GemmConfig::block_n, &GemmConfig::warpgroups_m,
                                 &GemmConfig::warpgroups_n, &GemmConfig::stages, &GemmConfig::cluster_m,
                                 &GemmConfig::cluster_n, &GemmConfig::blocks_per_sm, &GemmConfig::split_k}) {
    GemmConfig config;
    config.*field += 1;
    CHECK_FALSE(config == GemmConfig{});
  }
  for (int QuantizeConfig::*field :
       {&QuantizeConfig::threads, &QuantizeConfig::rows_per_thread, &QuantizeConfig::blocks_per_sm}) {
    QuantizeConfig config;
    config.*field += 1;
    CHECK_FALSE(config == QuantizeConfig{});
  }
}
