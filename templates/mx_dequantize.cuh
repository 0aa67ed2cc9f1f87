// FP8 times a power of two as bf16, exactly: two elements at a time by two masks, a shift and a multiplication.
//
// An FP8 code whose bits are moved into a bf16 is its value times 2^(FP8 bias - 127), subnormals included; what is
// missing goes into the multiplier of the scale. Three things do not fit that, and are rare:
//   large scales       need two multiplications, since their multiplier would pass 2^127;
//   NaN and infinity   e4m3 has no infinity, and its NaN is an ordinary code to the shift;
//   extreme scales     the product is not exact in bf16, or the scale is NaN.
// For the last two all elements of a piece become NaN. A NaN never gets lost in a sum of products, so whoever reads the
// sum finds out, and computes it in another way. A piece of zeros is zero under any scale but NaN.
#pragma once

#include "ptx.cuh"

namespace octet {

// What the arithmetic needs to know of e4m3 and e5m2.
template <bool kE5m2>
struct Fp8 {
  static constexpr i32 kShift = kE5m2 ? 3 : 4;               // from the upper byte of a bf16 to its exponent's place
  static constexpr i32 kRebias = kE5m2 ? 112 : 120;          // 127 - bias
  static constexpr u32 kFirstSpecial = kE5m2 ? 0x7c : 0x7f;  // codes from here on: infinity and NaN, or NaN
  // Scale bytes for which every finite code is exact in bf16, 2^-133 (its smallest) to below 2^128.
  static constexpr u32 kLowest = kE5m2 ? 10 : 3, kHighest = kE5m2 ? 239 : 246;
  static constexpr u32 kHighestAtOnce = 254 - kRebias;  // by one multiplication
};

constexpr u32 kTwoNans = 0x7fff7fffu;

// Two bf16 of this exponent field and no mantissa.
__device__ __forceinline__ u32 two_powers(u32 field) { return field * 0x00800080u; }

// Of four codes the first and third (kOdd: the second and fourth), to be multiplied by 2^kRebias.
template <bool kE5m2, bool kOdd>
__device__ __forceinline__ u32 moved_bits(u32 codes) {
  if (!kOdd) codes <<= 8;
  return (codes & 0x80008000u) | ((codes & 0x7f007f00u) >> Fp8<kE5m2>::kShift);
}

// What to multiply by where one multiplication, or bf16, does not do. The first of two multiplications happens here.
template <bool kE5m2, i32 kWords>
__device__ __forceinline__ u32 rare_multiplier(const u32 (&codes)[kWords], u32 scale, bool is_special,
                                               u32 (&even)[kWords], u32 (&odd)[kWords]) {
  using Type = Fp8<kE5m2>;
  u32 magnitudes = 0;
#pragma unroll
  for (i32 i = 0; i < kWords; ++i) magnitudes |= codes[i] & 0x7f7f7f7fu;
  const bool is_extreme = scale < Type::kLowest || scale > Type::kHighest;
  if (is_special || scale == 255 || (is_extreme && magnitudes != 0)) return kTwoNans;
  if (magnitudes == 0) return two_powers(127);
#pragma unroll
  for (i32 i = 0; i < kWords; ++i) {
    even[i] = multiply_bf16x2(even[i], two_powers(scale));
    odd[i] = multiply_bf16x2(odd[i], two_powers(scale));
  }
  return two_powers(127 + Type::kRebias);
}

// 4 * kWords codes that share a scale: even[i] gets the first and third of codes[i], odd[i] the second and fourth.
template <bool kE5m2, i32 kWords>
__device__ __forceinline__ void dequantize(const u32 (&codes)[kWords], u32 scale, u32 (&even)[kWords],
                                           u32 (&odd)[kWords]) {
  using Type = Fp8<kE5m2>;
  u32 marks = 0;  // the top bit of a byte: its code is special
#pragma unroll
  for (i32 i = 0; i < kWords; ++i) {
    marks |= (codes[i] & 0x7f7f7f7fu) + (0x80 - Type::kFirstSpecial) * 0x01010101u;
    even[i] = moved_bits<kE5m2, false>(codes[i]);
    odd[i] = moved_bits<kE5m2, true>(codes[i]);
  }
  u32 multiplier = two_powers(scale + Type::kRebias);
  const bool is_special = (marks & 0x80808080u) != 0;
  if (is_special || scale - Type::kLowest > Type::kHighestAtOnce - Type::kLowest) {
    multiplier = rare_multiplier<kE5m2, kWords>(codes, scale, is_special, even, odd);
  }
#pragma unroll
  for (i32 i = 0; i < kWords; ++i) {
    even[i] = multiply_bf16x2(even[i], multiplier);
    odd[i] = multiply_bf16x2(odd[i], multiplier);
  }
}

// One code as f32, exactly.
template <bool kE5m2>
__device__ __forceinline__ float fp8_value(u32 code) {
  using Type = Fp8<kE5m2>;
  const u32 bits = moved_bits<kE5m2, false>(code & 0xff) << 16;
  const u32 magnitude = code & 0x7f;
  if (magnitude >= Type::kFirstSpecial) {
    const bool is_infinite = kE5m2 && magnitude == Type::kFirstSpecial;
    return __uint_as_float(is_infinite ? (code << 24 & 0x80000000u) | 0x7f800000u : 0x7fffffffu);
  }
  return __uint_as_float(bits) * __uint_as_float(static_cast<u32>(127 + Type::kRebias) << 23);
}

// 2^exponent for -127 ... 127.
__device__ __forceinline__ float power_of_two(i32 exponent) {
  return __uint_as_float(exponent == -127 ? 0x00400000u : static_cast<u32>(exponent + 127) << 23);
}

// value * 2^(x - 127) * 2^(y - 127), NaN where a scale is 255. In two steps, since the product of both scales may be
// out of range where the result is not.
__device__ __forceinline__ float scaled(float value, u32 x, u32 y) {
  if (x == 255 || y == 255) return __uint_as_float(0x7fffffffu);
  const i32 exponent = static_cast<i32>(x + y) - 254, half = exponent >> 1;
  return value * power_of_two(half) * power_of_two(exponent - half);
}

}  // namespace octet
