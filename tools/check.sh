#!/usr/bin/env bash
# Everything that can be checked without a GPU: format, warnings, headers, unit, compile, command line and script tests.
# It says what it will install and installs what is missing. Its last lines are ctest's summary.
#
#   tools/check.sh [--no-install] [--build-dir DIR] [--sanitize] [--heavy] [--tidy]
#
#   --no-install     stop with the list of what is missing instead of installing it
#   --build-dir DIR  default: build
#   --sanitize       also the unit tests under the address, undefined-behaviour and thread sanitizers
#   --heavy          also the long sweeps (test cases tagged [.heavy])
#   --tidy           also clang-tidy (.clang-tidy), which takes minutes
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build=$OCTET_ROOT/build
purpose=check sanitize=0 heavy=0 tidy=0 deps_options=()
while (($#)); do
  case $1 in
    --no-install) deps_options+=(--no-install) ;;
    --build-dir) build=$(absolute "${2:?--build-dir needs a value}"); shift ;;
    --sanitize) sanitize=1 ;;
    --heavy) heavy=1 ;;
    --tidy) tidy=1 purpose=tidy ;;
    -h | --help) usage "$0"; exit 0 ;;
    *) fail "unknown option '$1'; see tools/check.sh --help" ;;
  esac
  shift
done
cd "$OCTET_ROOT"
started=$SECONDS

# Tests must not depend on, nor fill, the cache and the settings of whoever runs them.
for name in "${!OCTET_@}"; do
  case $name in
    OCTET_ROOT | OCTET_IGNORE_TOOLKIT | OCTET_NVRTC_LIBRARY | OCTET_TEST_*) ;;
    *) unset "$name" ;;
  esac
done

configure_and_build() { # folder, target, cmake options
  local folder=$1 target=$2
  shift 2
  cmake -S . -B "$folder" -G Ninja --log-level=WARNING "${OCTET_CMAKE_CUDA[@]}" "$@"
  cmake --build "$folder" --target "$target"
}

step "Packages"
bash tools/deps.sh --for "$purpose" --build-dir "$build" "${deps_options[@]}"
use_cuda "$build"

step "Format"
bash tools/format.sh --check

step "Build (warnings are errors)"
configure_and_build "$build" all -DCMAKE_BUILD_TYPE=Release -DOCTET_TESTS=ON -DOCTET_WERROR=ON

if ((tidy)); then
  step "clang-tidy"
  git ls-files -z 'cache/*.cc' 'runtime/*.cc' 'tools/*.cc' |
    xargs -0 -r -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet --warnings-as-errors='*'
fi

if ((sanitize)); then
  for kind in asan tsan; do
    step "Unit tests under $kind"
    sanitizers=address,undefined
    [[ $kind == asan ]] || sanitizers=thread
    configure_and_build "$build/$kind" octet-unit-tests -DCMAKE_BUILD_TYPE=Debug -DOCTET_TESTS=ON \
      "-DOCTET_SANITIZE=$sanitizers"
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1 \
      "$build/$kind/bin/octet-unit-tests"
  done
fi

if ((heavy)); then
  for tests in "$build"/bin/octet-unit-tests "$build"/bin/octet-compile-tests; do
    step "Long sweeps of $(basename "$tests")"
    "$tests" '[heavy]'
  done
fi

step "GPU record"
bash tools/gpu_check.sh --status

step "Tests ($((SECONDS - started)) s so far)"
# Ends with ctest's own summary; nothing is printed after it.
exec ctest --test-dir "$build" --output-on-failure --no-tests=error -j2
