// The GEMM family as a table: recipe pairs by layout by pass by epilogue, and every config of what stands for the rest.
#include "tests/gpu/family_cells.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

const std::string kBlocks = " a=e4m3:1x128 b=e4m3:128x128", kVectors = " a=e4m3:1x128 b=e4m3:1x128",
                  kTensor = " a=e4m3:tensor b=e4m3:tensor", kRow = " a=e4m3:row b=e4m3:row",
                  kMx = " a=e4m3:1x32 b=e4m3:1x32@swizzled";
const Sizes kRagged = {0, 1, 127, 128, 129, 31, 33, 0}, kCounts = {0, 1, 127, 128, 129, 31, 144, 0};

}  // namespace

// One test each, so that they run in processes of their own.
#define OCTET_FAMILY_TEST(title, pass, part)                                                        \
  TEST_CASE_METHOD(GpuTest, "gemm: every cell, " title) {                                           \
    INFO(random.note());                                                                            \
    const std::vector<FamilyCell> cells = share(family_cells(pass), part, 2);                       \
    REQUIRE(shortfall(check_family_cells("GEMM, " title, cells, random), std::ssize(cells)) == ""); \
  }
OCTET_FAMILY_TEST("forward, even", Pass::forward, 0)
OCTET_FAMILY_TEST("forward, odd", Pass::forward, 1)
OCTET_FAMILY_TEST("dgrad, even", Pass::dgrad, 0)
OCTET_FAMILY_TEST("dgrad, odd", Pass::dgrad, 1)
OCTET_FAMILY_TEST("wgrad, even", Pass::wgrad, 0)
OCTET_FAMILY_TEST("wgrad, odd", Pass::wgrad, 1)

TEST_CASE_METHOD(GpuTest, "gemm: every config of the forward pass, packed and padded") {
  INFO(random.note());
  const std::vector<FamilyCell> cells = {
      {"gemm.packed g8 n576 k912" + kBlocks + " d=f32 +bias +acc", kRagged, 2, 0.5F},
      {"gemm.packed g8 n1024 k512 a=e5m2:1x128 b=e4m3:1x128 d=bf16 splits=i64/ends", kRagged, 1, 1, 32},
      {"gemm.packed g8 n136 k272" + kTensor + " d=fp16 +acc", kRagged},
      {"gemm.padded g8 n264 k2048 al32" + kRow + " d=bf16 +bias", kRagged},
      {"gemm.padded g8 n256 k128 al8 a=e4m3:1x128:pow2 b=e4m3:128x128@block2d_t d=fp16", kRagged, 1, 1, 16}};
  REQUIRE(shortfall(check_every_config("GEMM configs, forward", cells, random), 60) == "");
}

TEST_CASE_METHOD(GpuTest, "gemm: every config of masked and dense") {
  INFO(random.note());
  const std::vector<FamilyCell> cells = {
      {"gemm.masked g8 m144 n576 k912" + kBlocks + " d=bf16", kCounts},
      {"gemm.masked g6 m8 n1024 k512" + kBlocks + " d=bf16 +bias", {0, 1, 7, 8, 3, 0}},
      {"gemm.masked g8 m144 n264 k2048" + kRow + " d=f32 +acc", kCounts, 2, 0.5F, 32},
      {"gemm.masked g8 m144 n136 k272 a=e4m3:1x128 b=e5m2:1x128 d=fp16 splits=i64", kCounts},
      {"gemm.dense g1 n576 k912" + kTensor + " d=bf16 +fastacc", {333}}};
  REQUIRE(shortfall(check_every_config("GEMM configs, masked and dense", cells, random), 60) == "");
}

TEST_CASE_METHOD(GpuTest, "gemm: every config of dgrad") {
  INFO(random.note());
  const std::vector<FamilyCell> cells = {
      {"gemm.packed g8 n576 k912 a=e5m2:1x128 b=e4m3:128x128 d=bf16 dir=col", kRagged},
      {"gemm.packed g8 n272 k2048" + kVectors + " d=f32 dir=col +acc", kRagged},
      {"gemm.masked g8 m144 n144 k272" + kRow + " d=fp16 dir=col +bias", kCounts},
      {"gemm.padded g8 n256 k128 al32" + kTensor + " d=bf16 dir=col +acc", kRagged, 2, 0.5F, 16},
      {"gemm.dense g1 n1024 k512" + kBlocks + " d=bf16 dir=col", {129}}};
  REQUIRE(shortfall(check_every_config("GEMM configs, dgrad", cells, random), 60) == "");
}

TEST_CASE_METHOD(GpuTest, "gemm: every config of wgrad") {
  INFO(random.note());
  const std::vector<FamilyCell> cells = {
      {"wgrad.packed g8 n576 k912" + kVectors + " d=f32 +acc", kRagged},
      {"wgrad.packed g8 n144 k272" + kRow + " d=bf16 splits=i32/starts", kRagged, 1, 1, 32},
      {"wgrad.padded g8 n272 k2048 al32" + kBlocks + " d=bf16", kRagged},
      {"wgrad.masked g8 m144 n256 k128" + kTensor + " d=fp16 +acc", kCounts, 2, 0.5F},
      {"wgrad.dense g1 n576 k912 a=e5m2:1x128 b=e4m3:1x128 d=f32", {1000}}};
  REQUIRE(shortfall(check_every_config("GEMM configs, wgrad", cells, random), 40) == "");
}

TEST_CASE_METHOD(GpuTest, "gemm: every portable config of MX and of pointers") {
  INFO(random.note());
  const std::vector<FamilyCell> cells = {
      {"gemm.packed g8 n576 k912" + kMx + " d=bf16 +bias", kRagged},
      {"gemm.masked g8 m144 n264 k400 a=e4m3:1x32@swizzled b=e5m2:32x32 d=f32", kCounts, 1, 1, 16},
      {"wgrad.packed g8 n272 k400" + kMx + " d=f32 +acc", kRagged},
      {"gemm.packed g8 n264 k400" + kVectors + " d=bf16 w=pointers", kRagged},
      {"wgrad.packed g8 n272 k400" + kVectors + " d=f32 w=pointers +acc", kRagged, 2, 0.5F, 16, true}};
  REQUIRE(shortfall(check_every_config("GEMM configs, portable", cells, random), 20) == "");
}

}  // namespace octet::test
