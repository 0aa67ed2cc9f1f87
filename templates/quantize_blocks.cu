// Weights: bf16 [G, N, K] -> e4m3 [G, N, K] and one f32 scale per 128 x 128 block.
//
// Scales: [G][ceil(N/128)][ceil(K/128)] (block2d). Blocks at the edges are smaller; nothing outside the tensor is read
// or written. Bit for bit what docs/numerics.md says.
//
// 256 threads hold one block, eight rows of eight columns each; one barrier per block shares its largest magnitude.
#include "abi.h"
#include "scale.cuh"
#include "types.cuh"

namespace octet {

constexpr i32 kRows = 8;
constexpr i32 kWarps = config::kThreads / 32;
static_assert(config::kThreads == 256, "16 row groups of 16 threads");

}  // namespace octet

extern "C" __global__ void __launch_bounds__(octet::config::kThreads, octet::config::kBlocksPerSm)
    OCTET_ENTRY(const __grid_constant__ octet::abi::QuantizeParams params) {
  using namespace octet;
  constexpr i32 kBlocksN = (config::kN + 127) / 128, kBlocksK = (config::kK + 127) / 128;
  constexpr i64 kBlocks = static_cast<i64>(config::kGroups) * kBlocksN * kBlocksK;
  __shared__ float warp_max[2][kWarps];  // two, so that one barrier per block is enough
  const i32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  i32 parity = 0;
  for (i64 block = blockIdx.x; block < kBlocks; block += gridDim.x, parity ^= 1) {
    const i32 block_k = static_cast<i32>(block % kBlocksK);
    const i64 block_row = block / kBlocksK;
    const i32 block_n = static_cast<i32>(block_row % kBlocksN), group = static_cast<i32>(block_row / kBlocksN);
    const i32 n = block_n * 128 + threadIdx.x / 16 * kRows;
    const i32 k = block_k * 128 + threadIdx.x % 16 * 8;
    const i64 offset = (static_cast<i64>(group) * config::kN + n) * config::kK + k;
    const u16* in = static_cast<const u16*>(params.in) + offset;
    uint4 x[kRows];
    u32 magnitude = 0;
#pragma unroll
    for (i32 r = 0; r < kRows; ++r) {
      x[r] = make_uint4(0, 0, 0, 0);
      // K is a multiple of 16, so eight columns are all in or all out.
      if (n + r < config::kN && k < config::kK) {
        x[r] = *reinterpret_cast<const uint4*>(in + static_cast<i64>(r) * config::kK);
      }
    }
#pragma unroll
    for (i32 r = 0; r < kRows; ++r) magnitude = max_bf16x2(magnitude, max_magnitude(x[r]));
#pragma unroll
    for (i32 offset_lanes = 16; offset_lanes > 0; offset_lanes /= 2) {
      magnitude = max_bf16x2(magnitude, __shfl_xor_sync(~0u, magnitude, offset_lanes));
    }
    if (lane == 0) warp_max[parity][warp] = fmaxf(low_bf16(magnitude), high_bf16(magnitude));
    __syncthreads();
    float amax = 0.f;
#pragma unroll
    for (i32 w = 0; w < kWarps; ++w) amax = fmaxf(amax, warp_max[parity][w]);
    const Scale scale = scale_of(amax);
    if (threadIdx.x == 0) params.sf[block] = scale.sf;
    u8* data = static_cast<u8*>(params.data) + offset;
#pragma unroll
    for (i32 r = 0; r < kRows; ++r) {
      if (n + r < config::kN && k < config::kK) {
        *reinterpret_cast<uint2*>(data + static_cast<i64>(r) * config::kK) = quantize(x[r], scale.q);
      }
    }
  }
}
