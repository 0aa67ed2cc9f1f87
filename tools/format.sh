#!/usr/bin/env bash
# Formats the C++ and CUDA sources, templates included, by .clang-format.
#
#   tools/format.sh            rewrite in place
#   tools/format.sh --check    change nothing; exit with 1 and show where when something is not formatted
#
# clang-format's output differs between major versions; the repository's is that of 14 (Debian 12). With another one
# --check only warns.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
FORMAT_MAJOR=14

check=0
case ${1:-} in
  '') ;;
  --check) check=1 ;;
  -h | --help) usage "$0"; exit 0 ;;
  *) fail "unknown option '$1'; see tools/format.sh --help" ;;
esac

cd "$OCTET_ROOT"
have clang-format || fail "clang-format is missing; run tools/deps.sh --for check"
sources() {
  local names=('*.cc' '*.h' '*.c' '*.cpp' '*.cu' '*.cuh')
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    # Without those that are tracked but deleted in the work tree.
    git ls-files -z --cached --others --exclude-standard -- "${names[@]}" | while IFS= read -r -d '' file; do
      [[ ! -f $file ]] || printf '%s\0' "$file"
    done
  else
    local find=(-false)
    for name in "${names[@]}"; do find+=(-o -name "$name"); done
    find . -path './build*' -prune -o -type f \( "${find[@]}" \) -print0
  fi
}
mapfile -d '' -t files < <(sources)

if ((check == 0)); then
  clang-format -i "${files[@]}"
elif clang-format --dry-run --Werror "${files[@]}"; then
  say "${#files[@]} files are formatted"
else
  major=$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')
  ((major == FORMAT_MAJOR)) || { say "warning only: this is clang-format $major, the repository's is $FORMAT_MAJOR"; exit 0; }
  fail "not formatted, see above; run tools/format.sh"
fi
