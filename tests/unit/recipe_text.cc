#include "octet/error.h"
#include "octet/recipe.h"
#include "tests/support/catch.h"

using octet::DType;
using octet::Granularity;
using octet::Recipe;
using octet::ScaleLayout;

TEST_CASE("recipes print as the problem's text spells them") {
  CHECK(to_string(octet::e4m3_1x128()) == "e4m3:1x128");
  CHECK(to_string(octet::e4m3_128x128()) == "e4m3:128x128");
  CHECK(to_string(octet::make_recipe(DType::e5m2, Granularity::mx_1x32)) == "e5m2:1x32");
  CHECK(to_string(Recipe{DType::e4m3, Granularity::block_128x128, true, ScaleLayout::block2d_t}) ==
        "e4m3:128x128:pow2@block2d_t");
  CHECK(to_string(Recipe{DType::e4m3, Granularity::block_1x128, false, ScaleLayout::col_mn_major}) ==
        "e4m3:1x128@col_mn_major");
}

TEST_CASE("a granularity's default scale layout is the one that its usual tensor has") {
  CHECK(octet::default_scale_layout(Granularity::tensor) == ScaleLayout::per_group);
  CHECK(octet::default_scale_layout(Granularity::row) == ScaleLayout::per_row);
  CHECK(octet::default_scale_layout(Granularity::block_1x128) == ScaleLayout::mn_major);
  CHECK(octet::default_scale_layout(Granularity::block_128x128) == ScaleLayout::block2d);
  CHECK(octet::default_scale_layout(Granularity::mx_1x32) == ScaleLayout::mx_compact);
  CHECK(octet::default_scale_layout(Granularity::mx_32x32) == ScaleLayout::mx_32x32);
}

TEST_CASE("elements have their bytes") {
  CHECK(octet::size_bytes(DType::f32) == 4);
  CHECK(octet::size_bytes(DType::bf16) == 2);
  CHECK(octet::size_bytes(DType::fp16) == 2);
  CHECK(octet::size_bytes(DType::e4m3) == 1);
  CHECK(octet::size_bytes(DType::e5m2) == 1);
}

TEST_CASE("a recipe with anything too many or too few is refused") {
  for (const char* text :
       {"", ":", "e4m3", "e4m3:", "e4m3:1x128:", "e4m3:1x128:pow2:pow2", "e4m3:1x128@", "e4m3@mn_major",
        "e4m3:1x128@mn_major@mn_major", "e4m3:1x128@mn_major:pow2", " e4m3:1x128", "E4M3:1x128"}) {
    INFO(text);
    CHECK_THROWS_AS(octet::parse_recipe(text), octet::Error);
  }
}
