// Kernel parameters: one definition for the host that fills them and the device that reads them.
#pragma once

namespace octet::abi {

#if OCTET_GEMM || !OCTET_RENDERED
// A CUtensorMap, opaque here.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

// D[g] = A[g] * B[g]^T over packed or padded groups.
struct GemmParams {
  TensorMap a;         // [capacity, K] bytes, box 128 x block_m, 128-byte swizzle
  TensorMap b;         // [G*N, K] bytes, box 128 x block_n, 128-byte swizzle
  TensorMap sfa;       // [ceil(K/128), capacity] f32, box (rows of one load) x 1, no swizzle
  TensorMap d;         // [capacity, N] bf16, box 64 x 64, 128-byte swizzle
  const void* splits;  // device array, type and form as the problem says
  const float* sfb;    // [G][ceil(N/128)][ceil(K/128)]
  void* d_data;        // the buffer behind `d`, for slabs that TMA cannot store
  long long capacity;  // rows of A and D
};
static_assert(sizeof(GemmParams) == 576, "host and device lay out the parameters alike");
#endif
#if OCTET_QUANTIZE || !OCTET_RENDERED
// bf16 -> FP8 and scales.
struct QuantizeParams {
  const void* in;      // [capacity, C], or [G, N, K] for weights
  void* data;          // same shape, bytes
  float* sf;           // tokens: [ceil(C/128)][up(capacity, 4)]; weights: [G][ceil(N/128)][ceil(K/128)]
  const void* splits;  // device array, type and form as the problem says; unused for weights
  long long capacity;  // rows
};
static_assert(sizeof(QuantizeParams) == 40, "host and device lay out the parameters alike");
#endif

}  // namespace octet::abi
