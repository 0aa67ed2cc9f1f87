// Takes the place of templates/ptx.cuh when a kernel runs in the emulator: the same wrappers, in plain C++. What the
// casts must give comes from the reference, whose casts are tested against other implementations.
#pragma once

#include "types.cuh"

namespace octet {

#if OCTET_PORTABLE
inline u32 shared_address(const void* pointer) {
  return static_cast<u32>(static_cast<const u8*>(pointer) - emulator::dynamic_shared());
}
inline void copy_async_16(u32 to, const void* from, u32 bytes) { emulator::start_copy(to, from, 16, bytes); }
inline void copy_async_4(u32 to, const void* from, u32 bytes) { emulator::start_copy(to, from, 4, bytes); }
inline void copy_async_commit() { emulator::end_copy_group(); }
template <i32 kPending>
void copy_async_wait() {
  emulator::finish_copies(kPending);
}
inline void ldmatrix_x4(u32 (&m)[4], u32 address) {
  const int lane = emulator::lane();
  const auto& addresses = emulator::show(address);
  for (int i = 0; i < 4; ++i) {
    std::memcpy(&m[i], emulator::dynamic_shared() + addresses[i * 8 + lane / 4] + lane % 4 * 4, 4);
  }
}
struct MmaOperands {
  u32 a[4], b[2];
};
// Byte k of a row (column) of the operand: which lane and register hold it. (9.7.14.5.8 Matrix fragments for m16n8k32)
inline u8 byte_of_a(const std::array<MmaOperands, 32>& lanes, int row, int k) {
  return lanes[row % 8 * 4 + k % 16 / 4].a[k / 16 * 2 + row / 8] >> k % 4 * 8 & 255;
}
inline u8 byte_of_b(const std::array<MmaOperands, 32>& lanes, int column, int k) {
  return lanes[column * 4 + k % 16 / 4].b[k / 16] >> k % 4 * 8 & 255;
}
inline const std::array<float, 256>& values_of(DType type) {
  const auto make = [](DType of) {
    std::array<float, 256> values;
    for (int byte = 0; byte < 256; ++byte) values[byte] = reference::from_fp8(static_cast<u8>(byte), of);
    return values;
  };
  static const std::array<float, 256> e4m3 = make(DType::e4m3), e5m2 = make(DType::e5m2);
  return type == DType::e4m3 ? e4m3 : e5m2;
}
inline void mma_m16n8k32(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
#if OCTET_A_E4M3
  constexpr DType kTypeA = DType::e4m3;
#endif
#if OCTET_A_E5M2
  constexpr DType kTypeA = DType::e5m2;
#endif
#if OCTET_B_E4M3
  constexpr DType kTypeB = DType::e4m3;
#endif
#if OCTET_B_E5M2
  constexpr DType kTypeB = DType::e5m2;
#endif
  const int lane = emulator::lane();
  const auto& lanes = emulator::show(MmaOperands{{a[0], a[1], a[2], a[3]}, {b0, b1}});
  const auto &of_a = values_of(kTypeA), &of_b = values_of(kTypeB);
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    double sum = d[i];
    for (int k = 0; k < 32; ++k) {
      sum += static_cast<double>(of_a[byte_of_a(lanes, row, k)]) * of_b[byte_of_b(lanes, column, k)];
    }
    d[i] = static_cast<float>(sum);
  }
}
inline void wait_for_earlier_kernels() {}
#endif
#if OCTET_D_FP16
inline u32 pack_fp16(float low, float high) {
  const _Float16 halves[2] = {static_cast<_Float16>(low), static_cast<_Float16>(high)};
  return std::bit_cast<u32>(halves);
}
#endif
#if OCTET_READS_FP16
inline float low_fp16(u32 pair) { return static_cast<float>(std::bit_cast<std::array<_Float16, 2>>(pair)[0]); }
#endif
#if OCTET_IN_BF16 || OCTET_D_BF16
inline u32 pack_bf16(float low, float high) {
  return reference::to_bf16(low) | static_cast<u32>(reference::to_bf16(high)) << 16;
}
#endif
#if OCTET_IN_BF16
inline u32 larger_bf16(u32 a, u32 b) {
  const float x = __uint_as_float(a << 16), y = __uint_as_float(b << 16);
  if (x != x) return y != y ? 0x7fffu : b;
  return y != y || x > y ? a : b;
}
inline u32 max_bf16x2(u32 a, u32 b) {
  return larger_bf16(a & 0xffffu, b & 0xffffu) | larger_bf16(a >> 16, b >> 16) << 16;
}
#endif
#if OCTET_OUT_E4M3 || OCTET_OUT_E5M2
inline u32 pack_fp8(float a, float b, float c, float d) {
#if OCTET_OUT_E4M3
  constexpr DType kType = DType::e4m3;
#endif
#if OCTET_OUT_E5M2
  constexpr DType kType = DType::e5m2;
#endif
  return reference::to_fp8(a, kType) | static_cast<u32>(reference::to_fp8(b, kType)) << 8 |
         static_cast<u32>(reference::to_fp8(c, kType)) << 16 | static_cast<u32>(reference::to_fp8(d, kType)) << 24;
}
#endif
#if OCTET_DEQUANTIZE
// The kernel unpacks one byte at a time to fp16; here its f32 value goes through a word of the same width.
inline u32 unpack_fp8(u32 byte) {
#if OCTET_A_E4M3
  constexpr DType kType = DType::e4m3;
#endif
#if OCTET_A_E5M2
  constexpr DType kType = DType::e5m2;
#endif
  return __float_as_uint(reference::from_fp8(static_cast<u8>(byte), kType));
}
inline float low_fp16(u32 word) { return __uint_as_float(word); }
#endif
#if OCTET_CURRENT
inline u64 policy_evict_first() { return 0; }
inline u64 policy_evict_last() { return 0; }
inline uint4 load_16(const void* from, u64) {
  uint4 v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
inline void add_release(u32* counter, u32 value) { *counter += value; }
inline u32 load_acquire(const u32* counter) { return *static_cast<const volatile u32*>(counter); }
#endif
#if OCTET_GUESSED
inline void prefetch_l2(const void*) {}
#endif
#if OCTET_QUANTIZE
inline float reciprocal_approx(float x) { return 1.0f / x; }
inline float exp2_approx(float x) { return std::exp2(x); }
#endif

}  // namespace octet
