// Inline PTX of the warpgroup matrix multiply, and nothing else. (PTX ISA 9.7.15 Asynchronous warpgroup level matrix
// instructions)
#pragma once

#include "types.cuh"

namespace octet {

#if OCTET_LEFT_E4M3_RIGHT_E4M3
#define OCTET_WGMMA_TYPES "e4m3.e4m3"
#endif
#if OCTET_LEFT_E4M3_RIGHT_E5M2
#define OCTET_WGMMA_TYPES "e4m3.e5m2"
#endif
#if OCTET_LEFT_E5M2_RIGHT_E4M3
#define OCTET_WGMMA_TYPES "e5m2.e4m3"
#endif
#if OCTET_LEFT_E5M2_RIGHT_E5M2
#define OCTET_WGMMA_TYPES "e5m2.e5m2"
#endif

// One block of 128 along K: D (64 x kStep, f32, kStep / 2 registers per thread) = left * right^T, or with kAdd D + left
// * right^T, in four steps of 32, issued and committed. Both operands are FP8 in shared memory behind matrix
// descriptors; 32 bytes are 2 units of their address. One statement, since every operand list costs compile time. D is
// ready after wgmma_wait.
#if OCTET_STEP_16
#define OCTET_WGMMA_K32(left, right, add)                         \
  "wgmma.mma_async.sync.aligned.m64n16k32.f32." OCTET_WGMMA_TYPES \
  " "                                                             \
  "{%0, %1, %2, %3, %4, %5, %6, %7}, " left ", " right ", " add ", 1, 1;\n"
template <bool kAdd>
__device__ __forceinline__ void wgmma_block(float (&d)[8], u64 left, u64 right) {
  asm volatile(
      "{\n"
      ".reg .b64 l1, r1, l2, r2, l3, r3;\n"
      ".reg .pred add;\n"
      "setp.ne.b32 add, %10, 0;\n"
      "add.s64 l1, %8, 2;\nadd.s64 r1, %9, 2;\n"
      "add.s64 l2, %8, 4;\nadd.s64 r2, %9, 4;\n"
      "add.s64 l3, %8, 6;\nadd.s64 r3, %9, 6;\n"
      "wgmma.fence.sync.aligned;\n"  //
      OCTET_WGMMA_K32("%8", "%9", "add")
      OCTET_WGMMA_K32("l1", "r1", "1")
      OCTET_WGMMA_K32("l2", "r2", "1")
      OCTET_WGMMA_K32("l3", "r3", "1")
      "wgmma.commit_group.sync.aligned;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
      : "l"(left), "l"(right), "n"(kAdd ? 1 : 0)
      : "memory");
}
#endif
#if OCTET_STEP_32
#define OCTET_WGMMA_K32(left, right, add)                         \
  "wgmma.mma_async.sync.aligned.m64n32k32.f32." OCTET_WGMMA_TYPES \
  " "                                                             \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, " left ", " right ", " add ", 1, 1;\n"
template <bool kAdd>
__device__ __forceinline__ void wgmma_block(float (&d)[16], u64 left, u64 right) {
  asm volatile(
      "{\n"
      ".reg .b64 l1, r1, l2, r2, l3, r3;\n"
      ".reg .pred add;\n"
      "setp.ne.b32 add, %18, 0;\n"
      "add.s64 l1, %16, 2;\nadd.s64 r1, %17, 2;\n"
      "add.s64 l2, %16, 4;\nadd.s64 r2, %17, 4;\n"
      "add.s64 l3, %16, 6;\nadd.s64 r3, %17, 6;\n"
      "wgmma.fence.sync.aligned;\n"  //
      OCTET_WGMMA_K32("%16", "%17", "add")
      OCTET_WGMMA_K32("l1", "r1", "1")
      OCTET_WGMMA_K32("l2", "r2", "1")
      OCTET_WGMMA_K32("l3", "r3", "1")
      "wgmma.commit_group.sync.aligned;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
      : "l"(left), "l"(right), "n"(kAdd ? 1 : 0)
      : "memory");
}
#endif
#if OCTET_STEP_64
#define OCTET_WGMMA_K32(left, right, add)                                                                      \
  "wgmma.mma_async.sync.aligned.m64n64k32.f32." OCTET_WGMMA_TYPES                                              \
  " "                                                                                                          \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                    \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, " left ", " right ", " add \
  ", 1, 1;\n"
template <bool kAdd>
__device__ __forceinline__ void wgmma_block(float (&d)[32], u64 left, u64 right) {
  asm volatile(
      "{\n"
      ".reg .b64 l1, r1, l2, r2, l3, r3;\n"
      ".reg .pred add;\n"
      "setp.ne.b32 add, %34, 0;\n"
      "add.s64 l1, %32, 2;\nadd.s64 r1, %33, 2;\n"
      "add.s64 l2, %32, 4;\nadd.s64 r2, %33, 4;\n"
      "add.s64 l3, %32, 6;\nadd.s64 r3, %33, 6;\n"
      "wgmma.fence.sync.aligned;\n"  //
      OCTET_WGMMA_K32("%32", "%33", "add")
      OCTET_WGMMA_K32("l1", "r1", "1")
      OCTET_WGMMA_K32("l2", "r2", "1")
      OCTET_WGMMA_K32("l3", "r3", "1")
      "wgmma.commit_group.sync.aligned;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(left), "l"(right), "n"(kAdd ? 1 : 0)
      : "memory");
}
#endif
#if OCTET_STEP_128
#define OCTET_WGMMA_K32(left, right, add)                                                                      \
  "wgmma.mma_async.sync.aligned.m64n128k32.f32." OCTET_WGMMA_TYPES                                             \
  " "                                                                                                          \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                    \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                           \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                           \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, " left ", " right ", " add \
  ", 1, 1;\n"
template <bool kAdd>
__device__ __forceinline__ void wgmma_block(float (&d)[64], u64 left, u64 right) {
  asm volatile(
      "{\n"
      ".reg .b64 l1, r1, l2, r2, l3, r3;\n"
      ".reg .pred add;\n"
      "setp.ne.b32 add, %66, 0;\n"
      "add.s64 l1, %64, 2;\nadd.s64 r1, %65, 2;\n"
      "add.s64 l2, %64, 4;\nadd.s64 r2, %65, 4;\n"
      "add.s64 l3, %64, 6;\nadd.s64 r3, %65, 6;\n"
      "wgmma.fence.sync.aligned;\n"  //
      OCTET_WGMMA_K32("%64", "%65", "add")
      OCTET_WGMMA_K32("l1", "r1", "1")
      OCTET_WGMMA_K32("l2", "r2", "1")
      OCTET_WGMMA_K32("l3", "r3", "1")
      "wgmma.commit_group.sync.aligned;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(left), "l"(right), "n"(kAdd ? 1 : 0)
      : "memory");
}
#endif
#undef OCTET_WGMMA_K32
#undef OCTET_WGMMA_TYPES

// Waits for everything issued, whose registers may be neither read nor moved before.
template <i32 kCount>
__device__ __forceinline__ void wgmma_wait(float (&d)[kCount]) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (i32 i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

}  // namespace octet
