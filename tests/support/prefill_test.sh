#!/usr/bin/env bash
# The accepting libcuda lets a GPU test ask for its kernels: prefill_test.sh GPU_TESTS LIBRARY
set -euo pipefail
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
LD_LIBRARY_PATH=$(dirname "$2")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} OCTET_CACHE_DIR=$cache/c \
  "$1" "quantize rows: small and ragged" >"$cache/log" 2>&1 && { echo "the test passed without a GPU"; exit 1; }
entries=$(find "$cache/c" -name '*.octet' | wc -l)
[[ $entries -gt 0 ]] || { cat "$cache/log"; echo "no kernel in the cache"; exit 1; }
echo "$entries kernel(s) in the cache"
