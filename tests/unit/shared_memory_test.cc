// Shared memory of a GEMM, summed by hand.
#include "runtime/shared_memory.h"
#include "runtime/gemm_traits.h"

#include "tests/support/catch.h"

namespace {

using octet::GemmConfig;

std::int64_t bytes(const std::string& sizes, const GemmConfig& config) {
  return octet::gemm_shared_memory_bytes(
      octet::Problem::parse("gemm.packed " + sizes + " a=e4m3:1x128 b=e4m3:128x128 d=bf16"), config);
}

}  // namespace

TEST_CASE("shared memory: a whole tile staged, one box of scales") {
  const std::int64_t ab = 4 * (192 + 128) * 128;
  const std::int64_t staging = 192 * 128 * 2;
  const std::int64_t sfa = 4 * 224 * 4;        // 192 + 4 rows, in whole 128 bytes
  const std::int64_t tiles = 2 * 16;           // two tiles of four 32-bit numbers
  const std::int64_t sfb = 2 * 16 * 4;         // 2048 / 128 scales for each of two tiles
  const std::int64_t barriers = (4 + 2) * 16;  // a full and an empty one for each stage
  const std::int64_t groups = 8 + 8 * (3 * 4 + 2);
  const std::int64_t sum = ab + staging + sfa + tiles + sfb + barriers + groups;
  CHECK(sum == 216952);
  CHECK(bytes("g8 n7168 k2048", {192, 128, 3, 1, 4, 1, 2, true}) == 217088);  // 212 KiB
}

TEST_CASE("shared memory: 1024 groups and a tile whose scales take two boxes fill a block to its last byte") {
  const std::int64_t ab = 3 * (256 + 128) * 128;
  const std::int64_t staging = 256 * 128 * 2;
  const std::int64_t sfa = 3 * 2 * 160 * 4;  // 128 + 4 rows each, in whole 128 bytes
  const std::int64_t rest = 2 * 16 + 2 * 56 * 4 + (3 + 2) * 16;
  const std::int64_t groups = 8 + 1024 * (3 * 4 + 2);
  CHECK(ab + staging + sfa + rest + groups == 231736);
  CHECK(bytes("g1024 n7168 k7168", {256, 128, 2, 1, 3, 1, 2, true}) == 232448);  // 227 KiB
}

TEST_CASE("shared memory: a tile stored by 64 columns, a partial block along K, an odd count of groups") {
  const std::int64_t ab = 4 * (64 + 128) * 128;
  const std::int64_t staging = 64 * 64 * 2;
  const std::int64_t sfa = 4 * 96 * 4;
  const std::int64_t rest = 2 * 16 + 2 * 23 * 4 + (4 + 2) * 16;  // 2880 / 128 is 22.5
  const std::int64_t groups = 8 + 3 * (3 * 4 + 2) + 2;           // in whole 4 bytes
  CHECK(ab + staging + sfa + rest + groups == 108396);
  CHECK(bytes("g3 n576 k2880", {64, 128, 1, 1, 4, 1, 1, false}) == 108544);  // 106 KiB
}

TEST_CASE("shared memory: boxes of scales cover a tile from any row and have at most 256 rows") {
  for (int block_m = 64; block_m <= 256; block_m += 64) {
    const octet::GemmTraits traits(octet::Problem::parse("gemm.packed g8 n576 k512 a=e4m3:1x128 b=e4m3:128x128 d=bf16"),
                                   {block_m, 128, 1, 1, 4, 1, 1, false});
    const octet::ScaleBoxes boxes = traits.left_boxes;
    INFO(block_m);
    CHECK(boxes.rows <= 256);
    CHECK(boxes.count * boxes.rows >= block_m + 3);
    CHECK(boxes.rows * 4 % (boxes.count == 1 ? 16 : 128) == 0);
  }
}

TEST_CASE("shared memory: an impossible config does not wrap into a possible one") {
  CHECK(bytes("g8 n7168 k2048", {1 << 20, 1 << 20, 1, 1, 1 << 10, 1, 1, true}) > (std::int64_t{1} << 38));
}
