// Inline PTX of the warpgroup matrix multiply of bf16 with the left operand in registers, and nothing else. (PTX ISA
// 9.7.15 Asynchronous warpgroup level matrix instructions)
#pragma once

#include "types.cuh"

namespace octet {

// One block of 64 along K: D (64 x kStep, f32, kStep / 2 registers per thread) += left * right^T, in four steps of 16,
// issued and committed. left: four registers per step. right: in shared memory behind a matrix descriptor; 32 bytes are
// 2 units of its address. One statement, since every operand list costs compile time. D and the left registers may be
// touched after wgmma_wait.
#if OCTET_STEP_32
#define OCTET_WGMMA_K16(left, right)                                         \
  "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 "                    \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, " \
  "{" left "}, " right ", 1, 1, 1, 0;\n"
__device__ __forceinline__ void wgmma_block(float (&d)[16], const u32 (&left)[16], u64 right) {
  asm volatile(
      "{\n"
      ".reg .b64 r1, r2, r3;\n"
      "add.s64 r1, %32, 2;\nadd.s64 r2, %32, 4;\nadd.s64 r3, %32, 6;\n"
      "wgmma.fence.sync.aligned;\n"  //
      OCTET_WGMMA_K16("%16, %17, %18, %19", "%32")
      OCTET_WGMMA_K16("%20, %21, %22, %23", "r1")
      OCTET_WGMMA_K16("%24, %25, %26, %27", "r2")
      OCTET_WGMMA_K16("%28, %29, %30, %31", "r3")
      "wgmma.commit_group.sync.aligned;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(left[4]), "r"(left[5]), "r"(left[6]), "r"(left[7]), "r"(left[8]), "r"(left[9]), "r"(left[10]), "r"(left[11]), "r"(left[12]), "r"(left[13]), "r"(left[14]), "r"(left[15]), "l"(right)
      : "memory");
}
#endif
#if OCTET_STEP_64
#define OCTET_WGMMA_K16(left, right)                                                                 \
  "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "                                            \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, " \
  "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "                                         \
  "{" left "}, " right ", 1, 1, 1, 0;\n"
__device__ __forceinline__ void wgmma_block(float (&d)[32], const u32 (&left)[16], u64 right) {
  asm volatile(
      "{\n"
      ".reg .b64 r1, r2, r3;\n"
      "add.s64 r1, %48, 2;\nadd.s64 r2, %48, 4;\nadd.s64 r3, %48, 6;\n"
      "wgmma.fence.sync.aligned;\n"  //
      OCTET_WGMMA_K16("%32, %33, %34, %35", "%48")
      OCTET_WGMMA_K16("%36, %37, %38, %39", "r1")
      OCTET_WGMMA_K16("%40, %41, %42, %43", "r2")
      OCTET_WGMMA_K16("%44, %45, %46, %47", "r3")
      "wgmma.commit_group.sync.aligned;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(left[4]), "r"(left[5]), "r"(left[6]), "r"(left[7]), "r"(left[8]), "r"(left[9]), "r"(left[10]), "r"(left[11]), "r"(left[12]), "r"(left[13]), "r"(left[14]), "r"(left[15]), "l"(right)
      : "memory");
}
#endif
#if OCTET_STEP_128
#define OCTET_WGMMA_K16(left, right)                                                                 \
  "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "                                           \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, " \
  "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, "  \
  "%40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, "  \
  "%59, %60, %61, %62, %63}, "                                                                       \
  "{" left "}, " right ", 1, 1, 1, 0;\n"
__device__ __forceinline__ void wgmma_block(float (&d)[64], const u32 (&left)[16], u64 right) {
  asm volatile(
      "{\n"
      ".reg .b64 r1, r2, r3;\n"
      "add.s64 r1, %80, 2;\nadd.s64 r2, %80, 4;\nadd.s64 r3, %80, 6;\n"
      "wgmma.fence.sync.aligned;\n"  //
      OCTET_WGMMA_K16("%64, %65, %66, %67", "%80")
      OCTET_WGMMA_K16("%68, %69, %70, %71", "r1")
      OCTET_WGMMA_K16("%72, %73, %74, %75", "r2")
      OCTET_WGMMA_K16("%76, %77, %78, %79", "r3")
      "wgmma.commit_group.sync.aligned;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(left[4]), "r"(left[5]), "r"(left[6]), "r"(left[7]), "r"(left[8]), "r"(left[9]), "r"(left[10]), "r"(left[11]), "r"(left[12]), "r"(left[13]), "r"(left[14]), "r"(left[15]), "l"(right)
      : "memory");
}
#endif
#if OCTET_STEP_256
#define OCTET_WGMMA_K16(left, right)                                                                 \
  "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "                                           \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, " \
  "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, "  \
  "%40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, "  \
  "%59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, "  \
  "%78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, "  \
  "%97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, "    \
  "%113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "      \
  "{" left "}, " right ", 1, 1, 1, 0;\n"
__device__ __forceinline__ void wgmma_block(float (&d)[128], const u32 (&left)[16], u64 right) {
  asm volatile(
      "{\n"
      ".reg .b64 r1, r2, r3;\n"
      "add.s64 r1, %144, 2;\nadd.s64 r2, %144, 4;\nadd.s64 r3, %144, 6;\n"
      "wgmma.fence.sync.aligned;\n"  //
      OCTET_WGMMA_K16("%128, %129, %130, %131", "%144")
      OCTET_WGMMA_K16("%132, %133, %134, %135", "r1")
      OCTET_WGMMA_K16("%136, %137, %138, %139", "r2")
      OCTET_WGMMA_K16("%140, %141, %142, %143", "r3")
      "wgmma.commit_group.sync.aligned;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(left[4]), "r"(left[5]), "r"(left[6]), "r"(left[7]), "r"(left[8]), "r"(left[9]), "r"(left[10]), "r"(left[11]), "r"(left[12]), "r"(left[13]), "r"(left[14]), "r"(left[15]), "l"(right)
      : "memory");
}
#endif
#undef OCTET_WGMMA_K16

// Waits for everything issued, whose registers may be neither read nor written before.
template <i32 kCount>
__device__ __forceinline__ void wgmma_wait(float (&d)[kCount], u32 (&left)[16]) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (i32 i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
#pragma unroll
  for (i32 i = 0; i < 16; ++i) asm volatile("" : "+r"(left[i])::"memory");
}

}  // namespace octet
