// Inline PTX, and nothing else: one thin wrapper per instruction. Section names are those of the PTX ISA.
#pragma once

#include "types.cuh"

namespace octet {

#if OCTET_GEMM || OCTET_MX || OCTET_PORTABLE
// Address of a shared-memory object in the shared window. (5.1.6 Shared state space, 9.7.9 cvta)
__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}
#endif
#if OCTET_PORTABLE

// --- Copies to shared memory (9.7.9.25 cp.async), matrix loads and multiplies (9.7.14.5 ldmatrix, mma) ---

// Of the 16 bytes (or 4) the first `bytes` come from `from`, which is not read for 0; the rest becomes 0.
__device__ __forceinline__ void copy_async_16(u32 to, const void* from, u32 bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
#if OCTET_BLOCK_SCALES
__device__ __forceinline__ void copy_async_4(u32 to, const void* from, u32 bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
#endif
__device__ __forceinline__ void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most kPending of this thread's latest groups are under way.
template <i32 kPending>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
// Four matrices of 8 rows of 16 bytes; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void ldmatrix_x4(u32 (&m)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}
#if OCTET_A_E4M3
#define OCTET_MMA_A "e4m3"
#endif
#if OCTET_A_E5M2
#define OCTET_MMA_A "e5m2"
#endif
#if OCTET_B_E4M3
#define OCTET_MMA_B "e4m3"
#endif
#if OCTET_B_E5M2
#define OCTET_MMA_B "e5m2"
#endif
// D (16 x 8, f32) += A (16 x 32) * B (32 x 8).
__device__ __forceinline__ void mma_m16n8k32(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32." OCTET_MMA_A "." OCTET_MMA_B
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#undef OCTET_MMA_A
#undef OCTET_MMA_B
#endif
#if OCTET_PROGRAMMATIC
// Waits until the kernels that this one may overlap have ended and what they wrote can be read. (9.7.13.13
// griddepcontrol)
__device__ __forceinline__ void wait_for_earlier_kernels() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#endif
#if OCTET_GEMM || OCTET_MX

// --- mbarrier (9.7.13.15 Parallel synchronization: mbarrier) ---

__device__ __forceinline__ void mbarrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
// Makes the initialized barriers visible to the other blocks of the cluster and to the copy engine.
__device__ __forceinline__ void mbarrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void mbarrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra READY;\n"
      "bra WAIT;\n"
      "READY:\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
__device__ __forceinline__ void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void mbarrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
#if OCTET_CLUSTER
// Arrives at the same barrier of another block of the cluster. The default semantics, on purpose: an explicit
// .release.cluster costs 20 % and more, and what follows it there is the copy engine's alone.
__device__ __forceinline__ void mbarrier_arrive_remote(u32 barrier, u32 block_rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(barrier),
      "r"(block_rank)
      : "memory");
}
#endif
#if OCTET_SPLIT_K
// The same once what this thread did before is seen by the block that waits: it writes here next.
__device__ __forceinline__ void mbarrier_release_remote(u32 barrier, u32 block_rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(barrier),
      "r"(block_rank)
      : "memory");
}
// As mbarrier_wait, for what other blocks of the cluster did.
__device__ __forceinline__ void mbarrier_wait_cluster(u32 barrier, u32 parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@done bra READY;\n"
      "bra WAIT;\n"
      "READY:\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
// Where an object of this block lies in another block of the cluster, or in this one. (9.7.9.23 mapa)
__device__ __forceinline__ u32 address_in_block(u32 address, u32 block_rank) {
  u32 remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(block_rank));
  return remote;
}
// Stores 16 bytes in a block of the cluster and counts them on a barrier there, which is how that block knows that they
// have come: no fence, and nothing to wait for here. (9.7.9.12 st.async)
__device__ __forceinline__ void store_async_16(u32 remote_address, float x, float y, float z, float w,
                                               u32 remote_barrier) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                   remote_address),
               "r"(__float_as_uint(x)), "r"(__float_as_uint(y)), "r"(__float_as_uint(z)), "r"(__float_as_uint(w)),
               "r"(remote_barrier)
               : "memory");
}
#endif

// --- Tensor copies (9.7.9.27 cp.async.bulk.tensor) ---

__device__ __forceinline__ void tma_load(u32 destination, const void* map, u32 barrier, i32 x, i32 y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}
#if OCTET_READ_ONCE
// For weights that few tokens meet: read once, or a few times soon after each other, they make room in L2 first.
// (9.7.9.18 createpolicy)
__device__ __forceinline__ u64 policy_read_once() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
__device__ __forceinline__ void tma_load_hinted(u32 destination, const void* map, u32 barrier, i32 x, i32 y,
                                                u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, "
      "%4}], [%2], %5;" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "l"(policy)
      : "memory");
}
#endif
#if OCTET_MULTICAST
// Writes the box to the same offset of every block in `mask`, and counts it on each one's own barrier.
__device__ __forceinline__ void tma_load_multicast(u32 destination, const void* map, u32 barrier, i32 x, i32 y,
                                                   u16 mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(mask)
      : "memory");
}
#endif
__device__ __forceinline__ void tma_store(const void* map, u32 source, i32 x, i32 y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), "r"(source),
               "r"(x), "r"(y)
               : "memory");
}
#if OCTET_WGRAD
__device__ __forceinline__ void tma_store_3d(const void* map, u32 source, i32 x, i32 y, i32 z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
               "r"(source), "r"(x), "r"(y), "r"(z)
               : "memory");
}
#if OCTET_REDUCE
// Adds to what is there. (9.7.9.27 cp.reduce.async.bulk.tensor)
__device__ __forceinline__ void tma_reduce_add_3d(const void* map, u32 source, i32 x, i32 y, i32 z) {
  asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
               "r"(source), "r"(x), "r"(y), "r"(z)
               : "memory");
}
#endif
#endif
__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Waits until the stores of this thread have read their shared memory.
__device__ __forceinline__ void tma_store_wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
// Waits until the stores of this thread are complete.
__device__ __forceinline__ void tma_store_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
#if OCTET_MAPS
// Sets where the matrix of a map in global memory begins. (9.7.9.29 tensormap.replace)
__device__ __forceinline__ void set_map_address(void* map, const void* address) {
  asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(map), "l"(address) : "memory");
}
#if OCTET_DEEPGEMM
// The same of its row length and the distance of its rows in bytes.
__device__ __forceinline__ void set_map_rows(void* map, u32 columns, u64 stride_bytes) {
  asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], 0, %1;" ::"l"(map), "r"(columns) : "memory");
  asm volatile("tensormap.replace.tile.global_stride.global.b1024.b64 [%0], 0, %1;" ::"l"(map), "l"(stride_bytes)
               : "memory");
}
#endif
// Makes maps that this thread wrote visible to copies of other kernels, which acquire them. (9.7.13.4 fence.proxy)
__device__ __forceinline__ void publish_maps() {
  asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
}
__device__ __forceinline__ void acquire_map(const void* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}
#endif
__device__ __forceinline__ void tma_prefetch_map(const void* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
// Orders ordinary writes to shared memory before the copy engine's reads of it. (9.7.13.4 membar / fence.proxy)
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// --- Registers of a warpgroup (9.7.19.5 setmaxnreg) ---

template <int kRegisters>
__device__ __forceinline__ void registers_increase() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void registers_decrease() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// --- Barriers among threads (9.7.13.1 barrier, 9.7.13.3 barrier.cluster) ---

__device__ __forceinline__ void named_barrier(i32 id, i32 threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
#if OCTET_CLUSTER
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
#if OCTET_SPLIT_K
// Its two halves, for what mbarrier_init_fence makes visible and nothing else.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }
#endif
__device__ __forceinline__ u32 cluster_block_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
#endif

// Lets the next kernel start, where it is one that waits. (9.7.13.13 griddepcontrol)
__device__ __forceinline__ void let_next_kernel_start() { asm volatile("griddepcontrol.launch_dependents;"); }

// --- Shared memory (9.7.9 ld, st, stmatrix) ---

__device__ __forceinline__ float shared_load(u32 address) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address));
  return value;
}
#if OCTET_RIGHT_VECTOR
__device__ __forceinline__ float2 shared_load_8(u32 address) {
  float2 v;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address));
  return v;
}
#endif
#if OCTET_MX
__device__ __forceinline__ void shared_store(u32 address, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}
#endif
#if OCTET_DIRECT
__device__ __forceinline__ void shared_load_words(u32 (&v)[4], u32 address) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "r"(address));
}
__device__ __forceinline__ void shared_load_words(u32 (&v)[2], u32 address) {
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(address));
}
__device__ __forceinline__ void shared_load_words(u32 (&v)[1], u32 address) {
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v[0]) : "r"(address));
}
__device__ __forceinline__ void shared_store_16(u32 address, u32 x, u32 y, u32 z, u32 w) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
#endif
#if OCTET_D_F32
__device__ __forceinline__ void shared_store_8(u32 address, float x, float y) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}
#endif
__device__ __forceinline__ uint4 shared_load_16(u32 address) {
  uint4 v;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(address));
  return v;
}
#if !OCTET_D_F32
#if !OCTET_SWAPPED || OCTET_D_TURNED
// Four 8 x 8 matrices of 16-bit elements; lane l gives the row address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void stmatrix_x4(u32 address, u32 m0, u32 m1, u32 m2, u32 m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(m0), "r"(m1),
               "r"(m2), "r"(m3)
               : "memory");
}
#endif
#if OCTET_SWAPPED
// As above, but what a matrix's columns hold becomes rows: lane l gives the address of column l % 8 of matrix l / 8.
__device__ __forceinline__ void stmatrix_x4_turned(u32 address, u32 m0, u32 m1, u32 m2, u32 m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(m0),
               "r"(m1), "r"(m2), "r"(m3)
               : "memory");
}
#endif
#endif

#endif
// --- Conversions (9.7.9.21 cvt) ---

#if OCTET_IN_BF16 || OCTET_D_BF16
// Two f32 to bf16, nearest even; `low` in the low half.
__device__ __forceinline__ u32 pack_bf16(float low, float high) {
  u32 packed;
  asm("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(packed) : "f"(low), "f"(high));
  return packed;
}
#endif
#if OCTET_IN_BF16
// Larger of each half; a NaN loses against a number. (9.7.4.8 max)
__device__ __forceinline__ u32 max_bf16x2(u32 a, u32 b) {
  u32 result;
  asm("max.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
#endif
#if OCTET_MX
// Of each half, nearest even, subnormals kept. (9.7.4.3 mul)
__device__ __forceinline__ u32 multiply_bf16x2(u32 a, u32 b) {
  u32 result;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
#endif
#if OCTET_IN_FP16
__device__ __forceinline__ u32 max_fp16x2(u32 a, u32 b) {
  u32 result;
  asm("max.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
#endif
#if OCTET_IN_FP16 || OCTET_D_FP16
__device__ __forceinline__ u32 pack_fp16(float low, float high) {
  u32 packed;
  asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(packed) : "f"(low), "f"(high));
  return packed;
}
#endif
#if OCTET_IN_FP16 || OCTET_DEQUANTIZE || OCTET_D_FP16 || OCTET_READS_FP16
__device__ __forceinline__ float low_fp16(u32 pair) {
  float value;
  asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %1;\ncvt.f32.f16 %0, low;\n}" : "=f"(value) : "r"(pair));
  return value;
}
#endif
#if OCTET_OUT_E4M3
// Four f32 to FP8, nearest even, saturating, NaN to 0x7F; `a` in the lowest byte.
__device__ __forceinline__ u32 pack_fp8(float a, float b, float c, float d) {
  u32 packed;
  asm("{\n"
      ".reg .b16 low, high;\n"
      "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
      "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
      "mov.b32 %0, {low, high};\n"
      "}"
      : "=r"(packed)
      : "f"(a), "f"(b), "f"(c), "f"(d));
  return packed;
}
#endif
#if OCTET_OUT_E5M2
__device__ __forceinline__ u32 pack_fp8(float a, float b, float c, float d) {
  u32 packed;
  asm("{\n"
      ".reg .b16 low, high;\n"
      "cvt.rn.satfinite.e5m2x2.f32 low, %2, %1;\n"
      "cvt.rn.satfinite.e5m2x2.f32 high, %4, %3;\n"
      "mov.b32 %0, {low, high};\n"
      "}"
      : "=r"(packed)
      : "f"(a), "f"(b), "f"(c), "f"(d));
  return packed;
}
#endif
#if OCTET_DEQUANTIZE
// Two FP8 to two fp16, exactly; the first in the low half.
__device__ __forceinline__ u32 unpack_fp8(u32 pair) {
  u32 result;
#if OCTET_A_E4M3
  asm("{\n.reg .b16 two;\ncvt.u16.u32 two, %1;\ncvt.rn.f16x2.e4m3x2 %0, two;\n}" : "=r"(result) : "r"(pair));
#endif
#if OCTET_A_E5M2
  asm("{\n.reg .b16 two;\ncvt.u16.u32 two, %1;\ncvt.rn.f16x2.e5m2x2 %0, two;\n}" : "=r"(result) : "r"(pair));
#endif
  return result;
}
#endif
#if OCTET_CURRENT
// How long what a load brings stays in L2: until other data needs the room, or longer than other data. (9.7.9.18
// createpolicy, 9.7.9.8 ld with a cache hint)
__device__ __forceinline__ u64 policy_evict_first() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
__device__ __forceinline__ u64 policy_evict_last() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
__device__ __forceinline__ uint4 load_16(const void* from, u64 policy) {
  uint4 v;
  asm volatile("ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from), "l"(policy));
  return v;
}
// Adds after all that this thread wrote before, and reads before all that it reads later, at the scope of the device.
// (9.7.13.7 red, 9.7.9.8 ld, 8.5 memory consistency)
__device__ __forceinline__ void add_release(u32* counter, u32 value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(counter), "r"(value) : "memory");
}
__device__ __forceinline__ u32 load_acquire(const u32* counter) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}
#endif
#if OCTET_GUESSED
// Brings a line to L2. (9.7.9.16 prefetch)
__device__ __forceinline__ void prefetch_l2(const void* line) { asm volatile("prefetch.global.L2 [%0];" ::"l"(line)); }
#endif
#if OCTET_QUANTIZE
// 1/x and 2^x to about two ulp. (9.7.3.13 rcp, 9.7.3.21 ex2)
__device__ __forceinline__ float reciprocal_approx(float x) {
  float result;
  asm("rcp.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
__device__ __forceinline__ float exp2_approx(float x) {
  float result;
  asm("ex2.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
#endif

}  // namespace octet
