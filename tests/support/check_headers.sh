#!/usr/bin/env bash
# check_headers.sh COMPILER INCLUDE: every public header compiles by itself as C++17 and as C++20, without CUDA's
# headers and without a warning. A header's own include guard is exercised by including it twice.
set -euo pipefail
compiler=$1 include=$2
failed=0
for header in "$include"/octet/*.h; do
  name=octet/$(basename "$header")
  for standard in c++17 c++20; do
    printf '#include "%s"\n#include "%s"\n' "$name" "$name" |
      "$compiler" -std=$standard -Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only -I"$include" -x c++ - || {
      echo "$name does not stand alone as $standard"
      failed=1
    }
  done
done
exit $failed
