#!/usr/bin/env python3
"""Runs portable GEMMs on the host, thread by thread, and compares D with a plain loop over dequantized operands.

gemm_emulated_test.py OCTET SOURCE_DIR COMPILER LIBRARY [LINK_FLAG...]

Between them the problems have every recipe, layout, operation, type, form of splits, layout of scales and flag; configs
take turns, and every other problem has gaps between the rows of its matrices.
"""

import sys
import tempfile

from emulated_test import Emulation, report

CONFIGS = ["portable bm64 bn64 w2x2 st4", "portable bm16 bn128 w1x4 st4", "portable bm64 bn128 w2x4 st3",
           "portable bm128 bn128 w2x4 st2"]

PROBLEMS = [
    "gemm.packed g5 n72 k208 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
    "gemm.packed g5 n136 k656 a=e4m3:1x128 b=e5m2:128x128@block2d_t d=f32 splits=i64/ends +acc",
    "gemm.padded g5 n72 k208 al32 a=e5m2:1x128@k_major b=e4m3:128x128 d=fp16 splits=i32/ends +bias",
    "gemm.masked g5 m140 n72 k400 a=e4m3:1x128 b=e4m3:128x128 d=bf16 +acc +bias splits=i64",
    "gemm.packed g5 n144 k208 a=e4m3:1x128 b=e4m3:128x128 d=bf16 dir=col w=pointers splits=i32/starts",
    "gemm.packed g40 n80 k208 a=e4m3:1x128 b=e4m3:128x128@block2d_t d=bf16 dir=col splits=i64/starts +checked",
    "gemm.packed g5 n136 k400 a=e4m3:1x128 b=e5m2:1x128 d=f32",
    "gemm.masked g5 m140 n72 k208 a=e5m2:1x128@k_major b=e5m2:1x128@k_major d=bf16 w=pointers +checked",
    "gemm.padded g5 n80 k208 al16 a=e4m3:1x128 b=e4m3:1x128 d=fp16 dir=col +acc",
    "gemm.dense g1 n72 k528 a=e4m3:1x128:pow2 b=e4m3:1x128 d=bf16 w=pointers",
    "gemm.packed g5 n80 k272 a=e4m3:1x128 b=e4m3:1x128 d=f32 dir=col w=pointers",
    "gemm.packed g5 n72 k208 a=e4m3:tensor b=e4m3:tensor d=bf16 +checked",
    "gemm.masked g5 m140 n136 k528 a=e4m3:tensor b=e5m2:tensor d=f32 +fastacc +acc w=pointers",
    "gemm.padded g5 n80 k208 al32 a=e5m2:tensor b=e4m3:tensor d=fp16 dir=col +bias splits=i64/ends",
    "gemm.packed g5 n136 k400 a=e4m3:row b=e4m3:row d=bf16",
    "gemm.masked g5 m140 n72 k208 a=e5m2:row b=e4m3:row d=fp16 +bias +acc",
    "gemm.padded g5 n80 k208 al16 a=e4m3:row b=e4m3:row d=f32 dir=col +fastacc w=pointers +checked",
    "gemm.dense g1 n72 k208 a=e4m3:row b=e5m2:row d=f32 +bias",
    "gemm.packed g5 n136 k656 a=e4m3:1x32 b=e4m3:1x32 d=bf16",
    "gemm.packed g5 n72 k208 a=e4m3:1x32@swizzled b=e5m2:1x32@swizzled d=f32 splits=i64 +acc",
    "gemm.packed g70 n72 k272 a=e4m3:1x32@swizzled b=e4m3:32x32 d=bf16 splits=i32/ends",
    "gemm.padded g5 n136 k208 al32 a=e5m2:1x32@swizzled b=e4m3:1x32 d=fp16 +bias +checked",
    "gemm.masked g5 m140 n72 k400 a=e4m3:1x32@swizzled b=e4m3:1x32@swizzled d=bf16 w=pointers",
    "gemm.dense g1 n136 k528 a=e5m2:1x32@swizzled b=e5m2:32x32 d=bf16 w=pointers",
    "gemm.packed g5 n144 k208 a=e4m3:1x32 b=e4m3:1x32 d=bf16 dir=col",
    "gemm.packed g5 n80 k400 a=e4m3:1x32 b=e4m3:1x32@swizzled d=f32 dir=col splits=i64/starts",
    "gemm.masked g5 m140 n144 k208 a=e4m3:1x32 b=e4m3:32x32 d=fp16 dir=col w=pointers",
    "gemm.packed g5 n144 k208 a=e4m3:1x32@swizzled b=e4m3:1x32@swizzled d=bf16 dir=col w=pointers",
    "gemm.packed g5 n8 k16 a=e4m3:1x32 b=e4m3:1x32 d=bf16 +bias",

    "wgrad.packed g5 n80 k144 a=e4m3:1x128 b=e4m3:1x128 d=f32",
    "wgrad.packed g5 n144 k80 a=e5m2:1x128 b=e4m3:128x128 d=bf16 splits=i64/ends +acc",
    "wgrad.padded g5 n80 k144 al16 a=e5m2:1x128 b=e4m3:1x128 d=f32 +acc +checked",
    "wgrad.masked g5 m300 n80 k144 a=e4m3:1x128 b=e4m3:128x128 d=fp16",
    "wgrad.masked g5 m140 n144 k80 a=e4m3:1x128 b=e5m2:1x128 d=f32 +acc w=pointers splits=i64",
    "wgrad.dense g1 n80 k144 a=e4m3:1x128 b=e4m3:128x128 d=f32 +acc",
    "wgrad.packed g5 n80 k144 a=e4m3:tensor b=e5m2:tensor d=bf16 w=pointers splits=i32/starts",
    "wgrad.masked g5 m140 n80 k144 a=e4m3:tensor b=e4m3:tensor d=f32 +fastacc +checked",
    "wgrad.padded g5 n144 k80 al32 a=e4m3:row b=e4m3:row d=f32 splits=i32/ends",
    "wgrad.packed g33 n16 k144 a=e4m3:row b=e4m3:row d=fp16 +acc +fastacc",
    "wgrad.packed g5 n80 k144 a=e4m3:1x32 b=e4m3:1x32 d=f32 +acc",
    "wgrad.packed g33 n48 k80 a=e5m2:1x32@swizzled b=e4m3:1x32@swizzled d=bf16 splits=i64/starts",
    "wgrad.padded g5 n144 k80 al16 a=e5m2:1x32 b=e4m3:1x32@swizzled d=f32 splits=i64/ends +checked",
    "wgrad.masked g5 m300 n80 k144 a=e4m3:1x32@swizzled b=e4m3:1x32 d=f32 w=pointers",
    "wgrad.dense g1 n144 k80 a=e4m3:1x32@swizzled b=e5m2:1x32 d=fp16 +acc",
]
# Whose splits go up and down: nothing may be read or written outside the buffers.
IMPOSSIBLE = [
    "gemm.packed g65 n72 k208 a=e4m3:1x32@swizzled b=e4m3:1x32 d=bf16 splits=i32/ends +checked",
    "gemm.padded g8 n72 k208 al16 a=e4m3:1x128 b=e4m3:128x128 d=bf16 splits=i64 +checked",
    "gemm.masked g5 m140 n72 k208 a=e4m3:row b=e4m3:row d=f32 +checked",
    "wgrad.packed g65 n16 k80 a=e4m3:1x32 b=e4m3:1x32 d=f32 splits=i32/starts +checked",
    "wgrad.padded g8 n16 k80 al16 a=e4m3:1x128 b=e4m3:128x128 d=f32 splits=i64/ends",
]
# With beta 0, over a D of NaN.
ZERO_BETA = [
    "gemm.packed g5 n72 k208 a=e4m3:1x128 b=e4m3:128x128 d=bf16 +acc +bias",
    "gemm.masked g5 m140 n72 k208 a=e4m3:1x32 b=e4m3:1x32 d=f32 +acc",
    "wgrad.packed g5 n80 k144 a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc",
    "wgrad.packed g5 n16 k80 a=e4m3:row b=e4m3:row d=fp16 +acc w=pointers",
]


def main():
    octet, source_dir, compiler, library, *link_flags = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        emulation = Emulation(octet, source_dir, compiler, library, link_flags, work)
        emulation.link_gemm_case()
        cases = [(problem, "") for problem in PROBLEMS]
        cases += [(problem, "impossible splits") for problem in IMPOSSIBLE]
        cases += [(problem, "beta 0") for problem in ZERO_BETA]
        jobs = []
        for number, (problem, special) in enumerate(cases):
            config = CONFIGS[number % len(CONFIGS)]
            strided = number // len(CONFIGS) % 2 == 1
            name = f"{problem}, {config}{', strided' if strided else ''}{f' ({special})' if special else ''}"
            variant = (special == "impossible splits", strided, special == "beta 0")
            jobs.append((name, emulation.run_gemm, (problem, config, *variant)))
        return report(jobs)


if __name__ == "__main__":
    sys.exit(main())
