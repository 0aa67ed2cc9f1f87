#!/usr/bin/env bash
# Runs on a GPU what CI cannot, and writes the result to tests/gpu/record.json (and to OUTDIR).
#
#   tools/gpu_check.sh [OUTDIR]   tests, compute-sanitizer, benchmark; exit with 1 when any of them is not right
#   tools/gpu_check.sh --digest   print the SHA-256 of what the record speaks of; needs no GPU and no git
#   tools/gpu_check.sh --status   say whether the record is of these sources; needs no GPU
#   tools/gpu_check.sh --stamp PROGRAM   write the digest to PROGRAM.digest; the build does so at every link
#   tools/gpu_check.sh --prefill DIR     fill the kernel cache DIR with most of what the tests ask for; needs no GPU. With
#                                        OCTET_CACHE_DIR=DIR on the GPU machine they then hardly compile there
#
# The programs are built first. Where the build folder is of another machine (a checkout with only its build/bin carried
# along), they are run as they are, if their digests say that they are of these sources.
#
# Environment:
#   OCTET_BUILD_DIR        build folder (default: build)
#   OCTET_CACHE_DIR        kernel cache (default: a new one for this run)
#   OCTET_GPU_CHECK_SKIP   "sanitizer", "bench", "tests" or a list with commas: leave these out, and write no record
#   OCTET_GPU_TEST_JOBS    how many tests run at a time (default: half of the processors, at most 8)
#   OCTET_FUZZ_COUNT       random problems of the tests tagged [fuzz] (default: 500)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$OCTET_ROOT"
RECORD=tests/gpu/record.json

# Files an editor or an interpreter leaves behind are no source.
digest() {
  find templates runtime cache include tests/gpu -type f ! -path "$RECORD" ! -name '*.pyc' ! -name '.*' ! -name '*~' \
    -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1
}

# The tests run against a driver that accepts everything and computes nothing. They fail, after they have asked for their
# kernels; those that stop at their first wrong result leave some for the GPU machine.
prefill() {
  local folder build reports
  folder=$(absolute "$1") build=$(absolute "${OCTET_BUILD_DIR:-build}")
  [[ -e $build/tests/accepting/libcuda.so.1 && -x $build/bin/octet-gpu-tests ]] ||
    fail "$build has no GPU tests; build them: cmake --build build --target octet-gpu-tests octet_accepting_libcuda"
  reports=$(mktemp -d)
  LD_LIBRARY_PATH=$build/tests/accepting${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} OCTET_CACHE_DIR=$folder OCTET_FUZZ_COUNT=1 \
    python3 tools/gpu_tests.py "$build/bin/octet-gpu-tests" "$reports" --jobs "$(nproc)" --limit 3600 >"$reports/log" || true
  rm -rf "$reports"
  say "$(find "$folder" -name '*.octet' | wc -l) kernels in $folder"
}

case ${1:-} in
  --digest) digest; exit ;;
  --stamp) digest >"${2:?--stamp needs a program}.digest"; exit ;;
  --status) exec python3 tools/gpu_record.py status "$RECORD" "$(digest)" ;;
  --prefill) prefill "${2:?--prefill needs a folder}"; exit ;;
  -h | --help) usage "$0"; exit 0 ;;
  -*) fail "unknown option '$1'; see tools/gpu_check.sh --help" ;;
esac
outdir=${1:+$(absolute "$1")}
build=$(absolute "${OCTET_BUILD_DIR:-build}")
skipped() { [[ ,${OCTET_GPU_CHECK_SKIP:-}, == *",$1,"* ]]; }

PROGRAMS=(octet-gpu-tests octet-bench)
built() { [[ -x $build/bin/octet-gpu-tests && -x $build/bin/octet-bench ]]; }
configured_here() { have cmake && grep -Fqx "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$build/CMakeCache.txt" 2>/dev/null; }

# The digest of what is built, not of what an editor makes of it while the tests run.
sources=$(digest)
if ! built; then
  step "Build"
  bash tools/deps.sh --for gpu --build-dir "$build"
  use_cuda "$build"
  cmake -S . -B "$build" -G Ninja --log-level=WARNING "${OCTET_CMAKE_CUDA[@]}" -DCMAKE_BUILD_TYPE=Release -DOCTET_TESTS=ON
  cmake --build "$build" --target "${PROGRAMS[@]}" octet_cli
elif configured_here; then
  step "Build"
  use_cuda "$build"
  cmake -S . -B "$build" --log-level=WARNING -DOCTET_TESTS=ON
  cmake --build "$build" --target "${PROGRAMS[@]}"
else
  use_cuda "$build"
fi

# The record speaks of these sources, so what runs must be of them. Built-in templates are part of that.
for program in "${PROGRAMS[@]}"; do
  [[ $(cat "$build/bin/$program.digest" 2>/dev/null) == "$sources" ]] ||
    fail "$build/bin/$program is not of these sources (see --digest); rebuild it where they are: cmake --build build --target ${PROGRAMS[*]}"
done
unset OCTET_TEMPLATE_DIR

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OCTET_CACHE_DIR=${OCTET_CACHE_DIR:-$work/cache}

# phase NAME SECONDS COMMAND...: runs it under a time limit; its output goes to the terminal and to NAME.log, its exit
# status (124: out of time) to NAME.status. Never ends the script: a failed phase belongs in the record.
phase() {
  local name=$1 limit=$2 status=0
  shift 2
  step "$name"
  timeout --kill-after=10 "$limit" "$@" 2>&1 | tee "$work/$name.log" || status=${PIPESTATUS[0]}
  printf '%s\n' "$status" >"$work/$name.status"
}

find_sanitizer() {
  local folder
  command -v compute-sanitizer && return
  for folder in ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda; do
    [[ -x $folder/bin/compute-sanitizer ]] && { printf '%s\n' "$folder/bin/compute-sanitizer"; return; }
  done
  say "compute-sanitizer is not installed" >&2
}

if ! skipped tests; then
  # The reports go to files and are summed up below. The runner ends first, so that it says what was left.
  OCTET_FUZZ_COUNT=${OCTET_FUZZ_COUNT:-500} phase tests 1200 \
    python3 tools/gpu_tests.py "$build/bin/octet-gpu-tests" "$work" --limit 1190
fi
# After the tests: what these compile is then in the cache.
if ! skipped sanitizer; then
  sanitizer=$(find_sanitizer)
  for tool in memcheck racecheck; do
    [[ -z $sanitizer ]] || phase "$tool" 900 "$sanitizer" --tool "$tool" --error-exitcode 86 \
      "$build/bin/octet-gpu-tests" '[sanitizer]'
  done
fi
if ! skipped bench; then
  phase bench 900 "$build/bin/octet-bench" --json "$work/bench.json"
fi
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader >"$work/device.csv" 2>/dev/null || true

step "Result"
if [[ -n ${OCTET_GPU_CHECK_SKIP:-} ]]; then
  exec_record=(partial "$work")
else
  exec_record=(write "$work" --digest "$sources" --record "$RECORD")
fi
status=0
python3 tools/gpu_record.py "${exec_record[@]}" || status=$?
if [[ -n $outdir ]]; then
  mkdir -p "$outdir"
  cp "$work"/*.log "$work"/*.xml "$work"/*.json "$outdir"/ 2>/dev/null || true
  [[ -n ${OCTET_GPU_CHECK_SKIP:-} ]] || cp "$RECORD" "$outdir/"
fi
exit "$status"
