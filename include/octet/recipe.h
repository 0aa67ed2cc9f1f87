// Element types and recipes: the numeric scheme of an operand. The rules are those of docs/numerics.md.
#pragma once

#include <cstdint>
#include <string>

#include "octet/export.h"

namespace octet {

enum class DType : std::uint8_t { bf16, fp16, f32, e4m3, e5m2 };

// Bytes of one element.
OCTET_API int size_bytes(DType type) noexcept;
OCTET_API const char* to_string(DType type) noexcept;

// How many elements share one scale factor.
enum class Granularity : std::uint8_t {
  tensor,         // one f32 per group
  row,            // one f32 per row of A, per output row of B
  block_1x128,    // one f32 per 128 elements along the inner axis
  block_128x128,  // one f32 per 128 x 128 elements
  mx_1x32,        // one E8M0 byte per 32 elements along the inner axis (MXFP8)
  mx_32x32,       // one E8M0 byte per 32 x 32 elements
};
// The spelling used in problems: "tensor", "row", "1x128", "128x128", "1x32", "32x32".
OCTET_API const char* to_string(Granularity granularity) noexcept;

// How scale factors lie in memory. Shapes and index formulas: docs/numerics.md, "Scale layouts".
enum class ScaleLayout : std::uint8_t {
  mn_major,      // [ceil(K/128)][ld], ld = up(capacity, 4); index (k/128)*ld + row
  k_major,       // [row][ceil(K/128)]
  block2d,       // [G][ceil(N/128)][ceil(K/128)]
  block2d_t,     // [G][ceil(K/128)][ceil(N/128)]
  col_mn_major,  // columnwise 1x128
  per_group,     // [G]
  per_row,       // [ld] for A, [G][N] for B
  mx_compact,
  mx_32x32,
  swizzled,
};
OCTET_API const char* to_string(ScaleLayout layout) noexcept;

// A value. Two operands agree exactly when their recipes compare equal.
struct OCTET_API Recipe {
  DType type = DType::e4m3;
  Granularity granularity = Granularity::block_1x128;
  bool power_of_two = false;  // scales rounded to powers of two (":pow2")
  ScaleLayout scale_layout =
      ScaleLayout::mn_major;  // printed as "@name" only where it is not the granularity's default

  friend bool operator==(const Recipe& x, const Recipe& y) noexcept {
    return x.type == y.type && x.granularity == y.granularity && x.power_of_two == y.power_of_two &&
           x.scale_layout == y.scale_layout;
  }
  friend bool operator!=(const Recipe& x, const Recipe& y) noexcept { return !(x == y); }
};

// The layout that a granularity uses unless the problem says otherwise.
OCTET_API ScaleLayout default_scale_layout(Granularity granularity) noexcept;
OCTET_API Recipe make_recipe(DType type, Granularity granularity) noexcept;
inline Recipe e4m3_1x128() noexcept { return make_recipe(DType::e4m3, Granularity::block_1x128); }
inline Recipe e4m3_128x128() noexcept { return make_recipe(DType::e4m3, Granularity::block_128x128); }

// "e4m3:1x128", "e4m3:128x128:pow2@block2d_t". parse throws Error{invalid_problem} naming the nearest known word.
OCTET_API std::string to_string(const Recipe& recipe);
OCTET_API Recipe parse_recipe(const std::string& text);

}  // namespace octet
