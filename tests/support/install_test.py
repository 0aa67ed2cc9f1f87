#!/usr/bin/env python3
"""install_test.py CMAKE BUILD CXX: installs BUILD into a scratch folder and lets other programs link it."""

import pathlib
import subprocess
import sys
import tempfile

CMAKELISTS = """
cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES CXX)
find_package(octet 0.1 REQUIRED)
foreach(library octet octet_static)
  add_executable(with_${library} main.cc)
  target_link_libraries(with_${library} PRIVATE octet::${library})
endforeach()
"""
# Parsing, the rule table and the exception's type all lie in the library.
MAIN = """
#include <cstdio>
#include "octet/octet.h"

int main() {
  const octet::Problem problem = octet::Problem::parse("gemm.packed g8 n512 k576 a=e4m3:1x128 b=e4m3:128x128 d=bf16");
  std::puts(octet::select(problem, octet::DeviceFacts::for_arch("sm_90a")).name().c_str());
  try {
    octet::Problem::parse("cake");
  } catch (const octet::Error&) {
    return 0;
  }
  return 1;
}
"""


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    cmake, build, cxx = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        prefix, consumer = pathlib.Path(folder, "prefix"), pathlib.Path(folder, "consumer")
        run(cmake, "--install", build, "--prefix", prefix)
        consumer.mkdir()
        (consumer / "CMakeLists.txt").write_text(CMAKELISTS)
        (consumer / "main.cc").write_text(MAIN)
        run(cmake, "-S", consumer, "-B", consumer / "build", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={cxx}")
        run(cmake, "--build", consumer / "build")
        names = {run(consumer / "build" / f"with_{library}") for library in ("octet", "octet_static")}
        assert len(names) == 1 and names.pop().startswith("gemm_packed_g8_n512_k576"), names
        example = pathlib.Path(__file__).resolve().parents[2] / "examples" / "plan"
        run(cmake, "-S", example, "-B", consumer / "plan", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={cxx}")
        run(cmake, "--build", consumer / "plan")
        assert "mean magnitude: y " in run(consumer / "plan" / "plan")
        assert "gemm" in run(prefix / "bin/octet", "rules")
        for file in prefix.rglob("*.cmake"):
            assert str(pathlib.Path(build).resolve()) not in file.read_text(), f"{file} leads back to the build folder"


if __name__ == "__main__":
    main()
