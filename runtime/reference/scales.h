// Scale factors of blocks, for the loops of this folder.
#pragma once

#include <cstdint>

#include "octet/recipe.h"
#include "octet/reference.h"

namespace octet::reference {

// A block's scale in the form that its recipe stores, and the factor of its cast.
struct BlockScale {
  float q = 1;
  float sf = 1;           // f32 recipes
  std::uint8_t e8m0 = 0;  // MX recipes
};

// Whether scales are bytes of E8M0.
bool is_e8m0(Granularity granularity) noexcept;

// f32: `cap` is what q becomes where fp8_max / amax overflows.
Scale f32_scale(float amax, DType out, float cap, bool power_of_two);
// The scale that a recipe gives a block of elements of type `in`; `floor` is QuantizeInputs::amax_floor.
BlockScale recipe_scale(const Recipe& recipe, DType in, float amax, float floor);
// The number that an array of a recipe's scales holds.
float load_scale(Granularity granularity, const void* scales, std::int64_t index);
// The caller's scale factor.
BlockScale given_scale(float sf);

// An array of scales in the form of a recipe. Pads with 1, or with byte 0.
class ScaleArray {
 public:
  ScaleArray(Granularity granularity, void* scales) : e8m0_(is_e8m0(granularity)), scales_(scales) {}
  void set(std::int64_t index, const BlockScale& scale) const {
    if (e8m0_) {
      static_cast<std::uint8_t*>(scales_)[index] = scale.e8m0;
    } else {
      static_cast<float*>(scales_)[index] = scale.sf;
    }
  }
  void pad(std::int64_t index) const { set(index, BlockScale{}); }

 private:
  bool e8m0_;
  void* scales_;
};

}  // namespace octet::reference
