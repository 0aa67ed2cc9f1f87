#!/usr/bin/env bash
# From a fresh checkout to a model's kernels: builds Octet, compiles the expert kernels of DeepSeek-V3 into a cache (no
# GPU needed), does it again to show that nothing is compiled twice, looks inside one kernel, and runs one: on the GPU if
# there is one, else on the CPU reference.
#
#   tools/demo.sh [--no-install] [--build-dir DIR]
#
#   --no-install     stop with the list of what is missing instead of installing it
#   --build-dir DIR  default: build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build=$OCTET_ROOT/build deps_options=()
while (($#)); do
  case $1 in
    --no-install) deps_options+=(--no-install) ;;
    --build-dir) build=$(absolute "${2:?--build-dir needs a value}"); shift ;;
    -h | --help) usage "$0"; exit 0 ;;
    *) fail "unknown option '$1'; see tools/demo.sh --help" ;;
  esac
  shift
done
cd "$OCTET_ROOT"

# One of 32 devices that share the 256 experts of DeepSeek-V3 has 8 of them; this is its first matrix product.
MODEL=examples/models/deepseek-v3.json
GEMM='gemm.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=bf16'
SIZES=100,0,28,1,0,0,513,7
# The same kind of problem, of a size that plain loops on a CPU do in a moment.
SMALL_GEMM='gemm.packed g8 n512 k576 a=e4m3:1x128 b=e4m3:128x128 d=bf16'

# Prints a command as one would type it, then runs it.
run() {
  printf '$ octet'
  printf ' %s' "${@@Q}" | sed "s/'\([A-Za-z0-9_.,=/:-]*\)'/\1/g"
  printf '\n'
  "$build/bin/octet" "$@"
}
has_gpu() { have nvidia-smi && nvidia-smi -L >/dev/null 2>&1; }

step "Packages"
bash tools/deps.sh --for build --build-dir "$build" "${deps_options[@]}"
use_cuda "$build"

step "Build $build/bin/octet"
# A folder that was configured before keeps its settings.
[[ -f $build/build.ninja ]] ||
  cmake -S . -B "$build" -G Ninja --log-level=WARNING "${OCTET_CMAKE_CUDA[@]}" -DCMAKE_BUILD_TYPE=Release -DOCTET_TESTS=OFF
cmake --build "$build" --target octet_cli

# A cache of its own, empty at the start, so that the first build has something to compile.
export OCTET_CACHE_DIR=$build/demo-cache
rm -rf "$OCTET_CACHE_DIR"

step "Compile every kernel that DeepSeek-V3 can need on one of 32 devices, for any batch up to 16384 rows per expert"
run build --hf-config "$MODEL" --ep 32 --max-m 16384 --arch sm_90a

step "Again: all of them are in the cache"
run build --hf-config "$MODEL" --ep 32 --max-m 16384 --arch sm_90a

step "Why this kernel, and what it takes"
run explain "$GEMM"
run show "$GEMM" --resources

if has_gpu; then
  step "Run it on the GPU, with ragged group sizes, and compare with the reference"
  run run "$GEMM" --sizes "$SIZES"
else
  step "No GPU here: a smaller problem on the CPU reference"
  run run "$SMALL_GEMM" --sizes "$SIZES" --device reference
fi

printf '\nThe cache that was built is in %s.\n' "$OCTET_CACHE_DIR"
[[ -z ${OCTET_NVRTC_LIBRARY:-} ]] || printf 'NVRTC came from PyPI; to use it by hand: export OCTET_NVRTC_LIBRARY=%s\n' "$OCTET_NVRTC_LIBRARY"
