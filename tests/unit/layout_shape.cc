// Sizes of every operand against numbers worked out by hand from docs/numerics.md.
#include <string>

#include "octet/error.h"
#include "octet/layout.h"
#include "tests/support/catch.h"

namespace {

using octet::Error;
using octet::ErrorCode;
using octet::Problem;
using octet::QuantizedBytes;
using octet::QuantizeShape;
using octet::ScaleLayout;

struct Case {
  const char* recipe;
  std::int64_t row, col;  // bytes of scales
};

// Three groups and 208 columns: 2 blocks of 128, 7 of 32 that take 8, 256 when they are rounded up to 128.
constexpr std::int64_t kCapacity = 301;
struct Groups {
  const char* text;
  const char* columns;
  std::int64_t rows, ld_col, ld_sf, row_blocks;
  std::int64_t row_data, col_data;
  std::vector<Case> cases;
};
const std::vector<Case> kTokenCases = {
    // 301 rows: 304 rounded up, 3 + 3 blocks of 128, 10 + 3 of 32.
    {"tensor", 4 * 3, 4 * 3},
    {"row", 4 * 304, 4 * 3 * 208},
    {"1x128", 4 * 2 * 304, 4 * 6 * 208},
    {"1x128:pow2", 4 * 2 * 304, 4 * 6 * 208},
    {"1x128@k_major", 4 * 301 * 2, 4 * 6 * 208},
    {"128x128", 4 * 6 * 2, 4 * 6 * 2},
    {"1x32", 301 * 8, 13 * 256},
    {"1x32@swizzled", 6 * 128 * 8, 256 * 4 * 6},
};
const std::vector<Groups> kGroups = {
    {"packed g3", " c208", 301, 384 + 384, 304, 6, 301 * 208, 208 * 768, kTokenCases},
    {"padded g3", " c208 al16", 301, 384 + 384, 304, 6, 301 * 208, 208 * 768, kTokenCases},
    // 3 x 70 rows: one block of 128 and three of 32 in each group.
    {"masked g3 m70",
     " c208",
     210,
     256 + 384,
     72,
     3,
     210 * 208,
     208 * 640,
     {{"tensor", 4 * 3, 4 * 3},
      {"row", 4 * 212, 4 * 3 * 208},
      {"1x128", 4 * 3 * 2 * 72, 4 * 3 * 208},
      {"1x128@k_major", 4 * 210 * 2, 4 * 3 * 208},
      {"128x128", 4 * 3 * 2, 4 * 3 * 2},
      {"1x32", 210 * 8, 9 * 256},
      {"1x32@swizzled", 3 * 128 * 8, 256 * 4 * 3}}},
    // 3 x 144 rows: two blocks of 128 and five of 32 in each group. Columnwise data is [G][K][N].
    {"uniform g3 n144",
     " k208",
     432,
     144,
     432,
     6,
     432 * 208,
     3 * 208 * 144,
     {{"tensor", 4 * 3, 4 * 3},
      {"row", 4 * 432, 4 * 3 * 208},
      {"1x128", 4 * 2 * 432, 4 * 6 * 208},
      {"1x128@k_major", 4 * 432 * 2, 4 * 6 * 208},
      {"128x128", 4 * 3 * 2 * 2, 4 * 3 * 2 * 2},
      {"128x128@block2d_t", 4 * 3 * 2 * 2, 4 * 3 * 2 * 2},
      {"1x32", 432 * 8, 15 * 256},
      {"1x32@swizzled", 6 * 128 * 8, 256 * 4 * 6},
      {"32x32", 3 * 5 * 7, 3 * 5 * 7}}},
};

QuantizeShape shape_of(const std::string& text, std::int64_t capacity = kCapacity) {
  return octet::quantize_shape(Problem::parse(text), capacity);
}

void check_bytes(const QuantizedBytes& got, std::int64_t data, std::int64_t sf) {
  CHECK(got.data == data);
  CHECK(got.sf == sf);
}

ErrorCode code_of(const std::string& text, std::int64_t capacity = kCapacity) {
  try {
    shape_of(text, capacity);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).size() > 10);
    return error.code();
  }
  FAIL("accepted: " << text);
  return ErrorCode::cache;
}

}  // namespace

TEST_CASE("layout: bytes of every recipe, in every layout of groups and direction") {
  for (const Groups& groups : kGroups) {
    for (const Case& c : groups.cases) {
      for (const std::string type : {"e4m3:", "e5m2:"}) {
        const std::string operand = type + c.recipe, sizes = std::string(groups.text) + groups.columns;
        INFO(sizes << " " << operand);
        const QuantizeShape row = shape_of("quantize." + sizes + " in=bf16 out=" + operand),
                            col = shape_of("quantize." + sizes + " in=bf16 out=" + operand + " dir=col"),
                            both = shape_of("quantize." + sizes + " in=bf16 out=" + operand + " dir=row,col");
        check_bytes(row.row, groups.row_data, c.row);
        check_bytes(row.col, 0, 0);
        check_bytes(col.row, 0, 0);
        check_bytes(col.col, groups.col_data, c.col);
        check_bytes(both.row, groups.row_data, c.row);
        check_bytes(both.col, groups.col_data, c.col);
        // What is converted to, and what is dequantized.
        check_bytes(shape_of("convert." + sizes + " out=" + operand + " dir=col").col, groups.col_data, c.col);
        const QuantizeShape back = shape_of("dequantize." + sizes + " a=" + operand + " d=f32");
        check_bytes(back.row, groups.row_data, c.row);
        CHECK(back.d_bytes == groups.rows * 208 * 4);
      }
    }
  }
}

TEST_CASE("layout: rows, row lengths and blocks follow from what the host knows") {
  for (const Groups& groups : kGroups) {
    INFO(groups.text);
    const Problem problem =
        Problem::parse(std::string("quantize.") + groups.text + groups.columns + " in=bf16 out=e4m3:1x128");
    const QuantizeShape shape = octet::quantize_shape(problem, kCapacity);
    CHECK(octet::buffer_rows(problem, kCapacity) == groups.rows);
    CHECK(shape.rows == groups.rows);
    CHECK(shape.ld_col == groups.ld_col);
    CHECK(shape.ld_sf == groups.ld_sf);
    CHECK(shape.row_blocks == groups.row_blocks);
    CHECK(shape.in_bytes == groups.rows * 208 * 2);
  }
}

TEST_CASE("layout: a gated activation reads twice the columns, its gradient writes them") {
  const std::string tokens = "quantize.packed g3 c208 in=f32 out=e4m3:1x128 dir=row,col";
  const QuantizeShape forward = shape_of(tokens + " act=swiglu +bias +probs");
  CHECK(forward.in_columns == 416);
  CHECK(forward.pre_columns == 0);
  CHECK(forward.out_columns == 208);
  CHECK(forward.in_bytes == 301 * 416 * 4);
  CHECK(forward.pre_bytes == 0);
  CHECK(forward.bias_bytes == 3 * 416 * 4);
  CHECK(forward.probs_bytes == 301 * 4);
  CHECK(forward.dbias_bytes == 0);
  CHECK(forward.d_bytes == 0);

  const QuantizeShape backward = shape_of(tokens + " act=swiglu +bias +probs +grad +dbias");
  CHECK(backward.in_columns == 208);
  CHECK(backward.pre_columns == 416);
  CHECK(backward.out_columns == 416);
  CHECK(backward.in_bytes == 301 * 208 * 4);
  CHECK(backward.pre_bytes == 301 * 416 * 4);
  CHECK(backward.bias_bytes == 3 * 416 * 4);
  CHECK(backward.dbias_bytes == 3 * 416 * 4);
  check_bytes(backward.row, 301 * 416, 4 * 4 * 304);  // 416 columns: four blocks of 128
  check_bytes(backward.col, 416 * 768, 4 * 6 * 416);

  const QuantizeShape ungated = shape_of(tokens + " act=gelu +grad");
  CHECK(ungated.in_columns == 208);
  CHECK(ungated.pre_columns == 208);
  CHECK(ungated.out_columns == 208);
  const QuantizeShape sums = shape_of(tokens + " +grad +dbias");
  CHECK(sums.pre_columns == 0);
  CHECK(sums.out_columns == 208);
  CHECK(sums.dbias_bytes == 3 * 208 * 4);

  const QuantizeShape plain = shape_of("activation.uniform g3 n144 k208 d=fp16 in=fp16 act=glu");
  CHECK(plain.in_bytes == 432 * 416 * 2);
  CHECK(plain.d_bytes == 432 * 208 * 2);
  check_bytes(plain.row, 0, 0);
  CHECK(shape_of("quantize.packed g3 c208 in=bf16 out=e4m3:tensor +amax").amax_bytes == 3 * 4);
}

TEST_CASE("layout: is_gated tells activations with an up half") {
  for (const char* name : {"none", "relu", "srelu", "gelu", "qgelu", "silu"}) {
    CHECK_FALSE(octet::is_gated(Problem::parse(std::string("activation.packed act=") + name).act));
  }
  for (const char* name : {"swiglu", "geglu", "qgeglu", "reglu", "sreglu", "glu", "clamped_swiglu", "situ_glu"}) {
    CHECK(octet::is_gated(Problem::parse(std::string("activation.packed act=") + name).act));
  }
}

TEST_CASE("layout: columnwise, scales of rows of blocks have one layout and the others keep theirs") {
  CHECK(octet::columnwise_scale_layout(ScaleLayout::mn_major) == ScaleLayout::col_mn_major);
  CHECK(octet::columnwise_scale_layout(ScaleLayout::k_major) == ScaleLayout::col_mn_major);
  for (const ScaleLayout layout :
       {ScaleLayout::block2d, ScaleLayout::block2d_t, ScaleLayout::per_group, ScaleLayout::per_row,
        ScaleLayout::mx_compact, ScaleLayout::mx_32x32, ScaleLayout::swizzled, ScaleLayout::col_mn_major}) {
    CHECK(octet::columnwise_scale_layout(layout) == layout);
  }
}

TEST_CASE("layout: no rows take no data, and sizes past 32 bits are counted") {
  const QuantizeShape empty = shape_of("quantize.packed g3 c208 in=bf16 out=e4m3:1x128 dir=row,col", 0);
  check_bytes(empty.row, 0, 0);
  check_bytes(empty.col, 208 * 384, 4 * 3 * 208);
  CHECK(empty.in_bytes == 0);
  const QuantizeShape large =
      shape_of("quantize.packed g1024 c16777216 in=f32 act=swiglu out=e4m3:1x128", std::int64_t{1} << 30);
  CHECK(large.in_bytes == (std::int64_t{1} << 57));
  CHECK(large.row.data == (std::int64_t{1} << 54));
  CHECK(large.row.sf == (std::int64_t{1} << 49));
}

TEST_CASE("layout: a size that is missing or negative is an error that tells which") {
  CHECK(code_of("quantize.packed c208 in=bf16 out=e4m3:1x128") == ErrorCode::invalid_problem);
  CHECK(code_of("quantize.packed g3 in=bf16 out=e4m3:1x128") == ErrorCode::invalid_problem);
  CHECK(code_of("quantize.masked g3 c208 in=bf16 out=e4m3:1x128") == ErrorCode::invalid_problem);
  CHECK(code_of("quantize.uniform g3 k208 in=bf16 out=e4m3:1x128") == ErrorCode::invalid_problem);
  CHECK(code_of("quantize.uniform g3 n144 in=bf16 out=e4m3:1x128") == ErrorCode::invalid_problem);
  CHECK(code_of("quantize.packed g3 c208 in=bf16 out=e4m3:1x128", -1) == ErrorCode::invalid_argument);
}
