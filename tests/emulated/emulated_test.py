#!/usr/bin/env python3
"""Runs generated quantizers and converters on the host, thread by thread, and compares them with the reference.

emulated_test.py OCTET SOURCE_DIR COMPILER LIBRARY [LINK_FLAG...]

The source of each kernel comes from `octet show --source`, over templates whose ptx.cuh is the one of this folder; so
what runs is the kernel's own text but for its inline PTX. No GPU and no NVRTC.
"""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

EXACT = [
    "quantize.packed g5 c272 in=bf16 out=e4m3:1x128",
    "quantize.packed g33 c400 in=f32 out=e5m2:1x128@k_major splits=i64",
    "quantize.padded g5 c272 al32 in=bf16 out=e4m3:1x128 splits=i64/ends",
    "quantize.masked g5 m140 c272 in=bf16 out=e4m3:1x32",
    "quantize.packed g5 c272 in=bf16 out=e4m3:1x128 dir=row,col",
    "quantize.packed g5 c256 in=bf16 out=e5m2:1x128:pow2 dir=row,col splits=i32/starts",
    "quantize.packed g70 c272 in=f32 out=e4m3:1x128 dir=row,col splits=i32/ends",
    "quantize.packed g5 c272 in=bf16 out=e4m3:1x32 dir=row,col",
    "quantize.padded g70 c400 al16 in=bf16 out=e4m3:1x32 dir=row,col",
    "quantize.masked g5 m140 c272 in=bf16 out=e4m3:1x32@swizzled dir=row,col",
    "quantize.uniform g2 n144 k272 in=bf16 out=e4m3:1x32 dir=row,col",
    "quantize.dense g1 c272 in=bf16 out=e4m3:1x128 dir=row,col",
    "quantize.packed g5 c272 in=bf16 out=e4m3:1x32@swizzled",
    "quantize.packed g5 c272 in=bf16 out=e4m3:128x128 dir=row,col",
    "quantize.masked g5 m140 c272 in=bf16 out=e4m3:128x128",
    "quantize.uniform g2 n144 k272 in=bf16 out=e4m3:128x128@block2d_t dir=row,col",
    "quantize.uniform g2 n144 k272 in=bf16 out=e4m3:32x32 dir=row,col",
    "quantize.packed g5 c272 in=bf16 out=e4m3:tensor +amax splits=i32/ends",
    "quantize.packed g5 c272 in=bf16 out=e4m3:tensor dir=row,col",
    "quantize.packed g40 c272 in=bf16 out=e4m3:tensor +given +noop splits=i32/starts",
    "quantize.packed g5 c272 in=bf16 out=e4m3:tensor +given +amax dir=col",
    "quantize.packed g70 c272 in=bf16 out=e4m3:row dir=row,col splits=i64/ends",
    "quantize.packed g5 c272 in=bf16 out=e4m3:1x128 +grad +dbias dir=row,col",
    "activation.packed g5 c144 in=bf16 act=swiglu d=bf16 +bias +probs",
    "activation.padded g5 c128 al8 in=bf16 act=swiglu d=bf16 +probs +grad +dbias",
    "activation.masked g5 m140 c144 in=f32 act=gelu d=f32 +bias +grad +dbias",
    "activation.packed g5 c160 in=bf16 act=clamped_swiglu gate=second il=1 d=bf16 +probs +grad",
    "dequantize.packed g5 c272 a=e4m3:1x128 d=f32",
    "dequantize.masked g5 m140 c272 a=e5m2:1x32@swizzled d=bf16 dir=col",
    "convert.packed g5 c272 a=e4m3:1x32@swizzled out=e4m3:1x32 dir=col",
    "convert.packed g5 c272 a=e4m3:1x32 out=e4m3:1x32@swizzled",
    "convert.masked g5 m140 c272 a=e4m3:1x32 out=e4m3:1x32@swizzled dir=col",
    "convert.packed g5 c272 a=e4m3:1x128 out=e4m3:1x128 dir=col from=deepgemm",
    "convert.packed g5 c272 a=e4m3:1x32 out=e4m3:1x32 dir=col to=te",
]
# An activation and what is fused after it: equal to the reference's quantization of what the activation alone writes.
FUSED = [
    ("packed g5 c272 in=bf16 act=swiglu", "out=e4m3:1x128", ""),
    ("packed g5 c256 in=bf16 act=swiglu", "out=e4m3:1x128 dir=row,col", "+bias +probs +grad +dbias"),
    ("packed g5 c256 in=bf16 act=swiglu", "out=e4m3:1x32 dir=row,col", "+bias +probs +grad +dbias"),
    ("padded g5 c160 al16 in=bf16 act=geglu il=16", "out=e4m3:1x32 dir=row,col", "+grad"),
    ("masked g5 m140 c272 in=f32 act=gelu", "out=e5m2:1x32@swizzled dir=col", "+probs"),
    ("uniform g2 n144 k272 in=bf16 act=swiglu gate=second", "out=e4m3:32x32 dir=row,col", ""),
    ("packed g5 c144 in=bf16 act=srelu", "out=e4m3:tensor dir=row,col", "+bias +grad"),
]
# Whose ends or starts go up and down: nothing may be written outside the buffers.
IMPOSSIBLE = [
    "quantize.packed g65 c128 in=bf16 out=e4m3:1x128 dir=row,col splits=i32/ends",
    "quantize.padded g65 c128 al16 in=bf16 out=e4m3:1x32 dir=col splits=i64/ends",
    "quantize.packed g8 c128 in=bf16 out=e4m3:1x32 dir=col splits=i64/starts",
    "quantize.packed g65 c128 in=bf16 out=e4m3:tensor splits=i32/starts",
    "quantize.packed g65 c128 in=bf16 out=e4m3:row dir=col splits=i64/ends",
    "quantize.packed g65 c128 in=bf16 out=e4m3:1x128 +grad +dbias splits=i32/ends",
    "convert.packed g65 c128 a=e4m3:1x32 out=e4m3:1x32@swizzled dir=col splits=i32/ends",
]


class Emulation:
    def __init__(self, octet, source_dir, compiler, library, link_flags, work):
        self.octet, self.source_dir = octet, source_dir
        self.link = [library, *link_flags]
        self.work = pathlib.Path(work)
        templates = self.work / "templates"
        shutil.copytree(pathlib.Path(source_dir) / "templates", templates)
        shutil.copy(pathlib.Path(source_dir) / "tests/emulated/ptx.cuh", templates / "ptx.cuh")
        self.compile = [compiler, "-std=c++20", "-O1", "-w", "-ffp-contract=off", f"-I{source_dir}",
                        f"-I{source_dir}/include"]
        # What all of them include, compiled once.
        prelude = self.work / "prelude.h"
        prelude.write_text('#include "tests/emulated/emulator.h"\n#include "octet/octet.h"\n'
                           '#include "tests/emulated/case.h"\n')
        subprocess.run([*self.compile, "-x", "c++-header", str(prelude), "-o", f"{prelude}.gch"], check=True)
        self.environment = dict(os.environ, OCTET_TEMPLATE_DIR=str(templates), OCTET_CACHE_DIR="")

    def source(self, problem, *options):
        shown = subprocess.run([self.octet, "show", problem, "--source", *options], env=self.environment,
                               capture_output=True, text=True, check=False)
        if shown.returncode != 0:
            raise RuntimeError(shown.stderr)
        return shown.stdout

    def run_fused(self, number, source, out, flags):
        """The activation alone, then the quantizer that has it fused."""
        activated = str(self.work / f"activated_{number}")
        kind = "f32" if "in=f32" in source else "bf16"
        alone = self.run(f"{number}_activation", f"activation.{source} d={kind} {flags}", False, activated)
        return alone or self.run(number, f"quantize.{source} {out} {flags}", False, activated)

    def run(self, number, problem, impossible, *arguments):
        """What is wrong; empty when nothing is."""
        try:
            kernel = self.source(problem)
            main = "convert_main.h" if problem.startswith(("dequantize", "convert")) else "quantize_main.h"
            defines = f'#define PROBLEM "{problem}"\n#define IMPOSSIBLE {str(impossible).lower()}\n'
            if "kRowsPerThread = 4;" in kernel:
                defines += "#define ROWS_PER_THREAD 4\n"
            return self.run_source(number, defines, kernel, main, arguments)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return str(error)

    def run_gemm(self, number, problem, config, impossible, strided, zero_beta):
        """What is wrong with a portable GEMM; empty when nothing is."""
        try:
            kernel = self.source(problem, "--config", config)
            kernel = kernel.replace("extern __shared__ __align__(128) u8 shared_bytes[];",
                                    "u8* shared_bytes = emulator::dynamic_shared();")
            defines = (f'#define PROBLEM "{problem}"\n#define IMPOSSIBLE {str(impossible).lower()}\n'
                       f"#define STRIDED {str(strided).lower()}\n#define ZERO_BETA {str(zero_beta).lower()}\n")
            return self.run_source(number, defines, kernel, "gemm_main.h", [])
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return str(error)

    def link_gemm_case(self):
        """What every GEMM's main() calls."""
        compiled = self.work / "gemm_case.o"
        subprocess.run([*self.compile, "-c", f"{self.source_dir}/tests/emulated/gemm_case.cc", "-o", str(compiled)],
                       check=True)
        self.link.insert(0, str(compiled))

    def run_source(self, number, defines, kernel, main, arguments):
        file = self.work / f"kernel_{number}.cc"
        file.write_text(f'#include "prelude.h"\n{defines}{kernel}#include "tests/emulated/{main}"\n')
        program = self.work / f"kernel_{number}"
        compiled = subprocess.run([*self.compile, str(file), *self.link, "-o", str(program)], capture_output=True,
                                  text=True, check=False)
        if compiled.returncode != 0:
            return compiled.stderr[:2000]
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=120)
        return "" if done.returncode == 0 else done.stdout + done.stderr + f"exit status {done.returncode}"


def report(jobs):
    """Runs (name, function, arguments) jobs, prints what is wrong with each, and returns the exit status."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = list(pool.map(lambda job: job[1][1](job[0], *job[1][2]), enumerate(jobs)))
    failed = 0
    for (name, _, _), fault in zip(jobs, faults):
        print("ok    " if not fault else "FAILED", name)
        if fault:
            failed += 1
            print("       ", fault.strip().replace("\n", "\n        "))
    print(f"{len(jobs)} kernels emulated, {failed} wrong")
    return 1 if failed or not jobs else 0


def main():
    octet, source_dir, compiler, library, *link_flags = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        emulation = Emulation(octet, source_dir, compiler, library, link_flags, work)
        jobs = [(problem, emulation.run, (problem, False)) for problem in EXACT]
        jobs += [(f"{problem} (impossible splits)", emulation.run, (problem, True)) for problem in IMPOSSIBLE]
        jobs += [(f"quantize.{' '.join(case)} (fused)", emulation.run_fused, case) for case in FUSED]
        return report(jobs)


if __name__ == "__main__":
    sys.exit(main())
