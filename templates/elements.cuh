// Elements of the input's type: eight neighbours of a row as they lie in memory, and their largest magnitudes.
// Magnitudes of 16-bit types travel in pairs, which halves the exchanges between lanes.
#pragma once

#include "ptx.cuh"

namespace octet {

#if OCTET_IN_BF16 || OCTET_IN_FP16
using Element = u16;
using Eight = uint4;
constexpr u32 kMagnitudes = 0x7fff7fffu;  // both halves of a pair without their signs
// Word `i` of four; `i` is a constant wherever this is called.
__device__ __forceinline__ u32 word(const Eight& x, i32 i) { return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w; }
__device__ __forceinline__ Eight zero_eight() { return make_uint4(0, 0, 0, 0); }
#endif
#if OCTET_IN_BF16
constexpr u32 kLargestInput = 0x7f7f0000u;  // largest finite value, as f32 bits
__device__ __forceinline__ float low(u32 pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float high(u32 pair) { return __uint_as_float(pair & 0xffff0000u); }
__device__ __forceinline__ u32 pack(float first, float second) { return pack_bf16(first, second); }
__device__ __forceinline__ u32 larger(u32 a, u32 b) { return max_bf16x2(a, b); }
#endif
#if OCTET_IN_FP16
constexpr u32 kLargestInput = 0x477fe000u;  // 65504
__device__ __forceinline__ float low(u32 pair) { return low_fp16(pair); }
__device__ __forceinline__ float high(u32 pair) { return low_fp16(pair >> 16); }
__device__ __forceinline__ u32 pack(float first, float second) { return pack_fp16(first, second); }
__device__ __forceinline__ u32 larger(u32 a, u32 b) { return max_fp16x2(a, b); }
#endif
#if OCTET_IN_BF16 || OCTET_IN_FP16
__device__ __forceinline__ float element(const Eight& x, i32 i) {
  return i % 2 == 0 ? low(word(x, i / 2)) : high(word(x, i / 2));
}
__device__ __forceinline__ Eight pack_eight(const float (&v)[8]) {
  return make_uint4(pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), pack(v[6], v[7]));
}

// Largest magnitudes of two rows, columns or halves at a time; NaN elements lose against numbers.
using Magnitude = u32;
constexpr i32 kPerMagnitude = 2;
// Of eight neighbours, one for each parity of the index.
__device__ __forceinline__ u32 max_magnitude(const Eight& x) {
  return larger(larger(x.x & kMagnitudes, x.y & kMagnitudes), larger(x.z & kMagnitudes, x.w & kMagnitudes));
}
// 0 where there is nothing but NaN.
__device__ __forceinline__ float amax_of(Magnitude magnitude) {
  return fmaxf(fmaxf(low(magnitude), high(magnitude)), 0.f);
}
// Of both parities, for two rows: row 0 in the low half.
__device__ __forceinline__ Magnitude row_magnitudes(const Eight* rows) {
  const u32 even = max_magnitude(rows[0]), odd = max_magnitude(rows[1]);
  return larger(__byte_perm(even, odd, 0x5410), __byte_perm(even, odd, 0x7632));
}
// Value `i` of a magnitude that stands for two.
__device__ __forceinline__ float magnitude_value(Magnitude magnitude, i32 i) {
  return fmaxf(i == 0 ? low(magnitude) : high(magnitude), 0.f);
}
#endif

#if OCTET_IN_F32
using Element = float;
struct Eight {
  float4 first, second;
};
constexpr u32 kLargestInput = 0x7f7fffffu;
__device__ __forceinline__ Eight zero_eight() { return {make_float4(0, 0, 0, 0), make_float4(0, 0, 0, 0)}; }
__device__ __forceinline__ float element(const Eight& x, i32 i) {
  const float4& half = i < 4 ? x.first : x.second;
  return i % 4 == 0 ? half.x : i % 4 == 1 ? half.y : i % 4 == 2 ? half.z : half.w;
}
__device__ __forceinline__ Eight pack_eight(const float (&v)[8]) {
  return {make_float4(v[0], v[1], v[2], v[3]), make_float4(v[4], v[5], v[6], v[7])};
}
using Magnitude = float;
constexpr i32 kPerMagnitude = 1;
__device__ __forceinline__ float larger(float a, float b) { return fmaxf(a, b); }  // a NaN loses against a number
__device__ __forceinline__ float max_magnitude(const Eight& x) {
  float largest = 0.f;
#pragma unroll
  for (i32 i = 0; i < 8; ++i) largest = fmaxf(largest, fabsf(element(x, i)));
  return largest;
}
__device__ __forceinline__ float amax_of(Magnitude magnitude) { return magnitude; }
__device__ __forceinline__ Magnitude row_magnitudes(const Eight* rows) { return max_magnitude(rows[0]); }
__device__ __forceinline__ float magnitude_value(Magnitude magnitude, i32) { return magnitude; }
#endif

#if OCTET_PAIRWISE
__device__ __forceinline__ float to_float(Element x) {
#if OCTET_IN_F32
  return x;
#endif
#if !OCTET_IN_F32
  return low(x);
#endif
}
#endif
#if OCTET_CURRENT
__device__ __forceinline__ Eight load_eight(const Element* from, u64 policy) {
#if OCTET_IN_F32
  const uint4 first = load_16(from, policy), second = load_16(from + 4, policy);
  return {make_float4(__uint_as_float(first.x), __uint_as_float(first.y), __uint_as_float(first.z),
                      __uint_as_float(first.w)),
          make_float4(__uint_as_float(second.x), __uint_as_float(second.y), __uint_as_float(second.z),
                      __uint_as_float(second.w))};
#endif
#if !OCTET_IN_F32
  return load_16(from, policy);
#endif
}
#endif
__device__ __forceinline__ Eight load_eight(const Element* from) { return *reinterpret_cast<const Eight*>(from); }

// The largest of a magnitude over `kWidth` lanes.
template <i32 kWidth>
__device__ __forceinline__ Magnitude lanes_max(Magnitude magnitude) {
#pragma unroll
  for (i32 width = kWidth / 2; width > 0; width /= 2) {
    magnitude = larger(magnitude, __shfl_xor_sync(~0u, magnitude, width));
  }
  return magnitude;
}

// The same for kCount magnitudes at once: lanes halve the work until `kKeep` magnitudes are left in each. `first` is
// the index of the first one that this lane holds. 5 exchanges for 8 rows of 16-bit elements over 16 lanes. Lanes are
// kWidth neighbours, or every kStride-th.
template <i32 kCount, i32 kWidth, i32 kKeep, i32 kStride = 1>
__device__ __forceinline__ void halving_max(Magnitude (&m)[kCount], i32 lane, i32& first) {
  first = 0;
  i32 count = kCount;
#pragma unroll
  for (i32 width = kWidth / 2; width > 0; width /= 2) {
    if (count > kKeep) {
      const bool upper = lane & width * kStride;
      count /= 2;
#pragma unroll
      for (i32 i = 0; i < kCount / 2; ++i) {
        if (i < count) {
          const Magnitude kept = upper ? m[i + count] : m[i], sent = upper ? m[i] : m[i + count];
          m[i] = larger(kept, __shfl_xor_sync(~0u, sent, width * kStride));
        }
      }
      if (upper) first += count;
    } else {
#pragma unroll
      for (i32 i = 0; i < kKeep; ++i) {
        m[i] = larger(m[i], __shfl_xor_sync(~0u, m[i], width * kStride));
      }
    }
  }
}

}  // namespace octet
