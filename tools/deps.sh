#!/usr/bin/env bash
# Installs what is missing to build Octet, after saying what that is. Debian and Ubuntu; elsewhere it lists what to get.
#
#   tools/deps.sh [--for build|check|tidy|gpu] [--build-dir DIR] [--no-install]
#
#   --for build      the library and the command line (default)
#   --for check      and what tools/check.sh needs: Catch2, clang-format, ccache
#   --for tidy       and clang-tidy
#   --for gpu        build, and what tools/gpu_check.sh needs
#   --build-dir DIR  where CUDA's headers and NVRTC go when there is no CUDA toolkit (default: build)
#   --no-install     change nothing: list what is missing and exit with 1 when something is
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The kernels are tested with this CUDA release (tests/gpu/record.json names it). Any 12.x or 13.x should do.
CUDA_WHEELS=("nvidia-cuda-runtime==13.0.*" "nvidia-cuda-nvrtc==13.0.*")

purpose=build
build=$OCTET_ROOT/build
install=1
while (($#)); do
  case $1 in
    --for) purpose=${2:?--for needs a value}; shift 2 ;;
    --build-dir) build=$(absolute "${2:?--build-dir needs a value}"); shift 2 ;;
    --no-install) install=0; shift ;;
    -h | --help) usage "$0"; exit 0 ;;
    *) fail "unknown option '$1'; see tools/deps.sh --help" ;;
  esac
done

# --- What is missing, found by looking for the thing itself, so that other sources than apt count ---------------------
missing=() # apt package names
need_command() { have "$1" || missing+=("$2"); }
need_header() {
  if ! have "${CXX:-g++}" || ! printf '#include <%s>\n' "$1" | "${CXX:-g++}" -x c++ -E - >/dev/null 2>&1; then
    missing+=("$2")
  fi
}
need_catch() {
  if ! have "${CXX:-g++}" || ! printf '#if __has_include(<catch2/catch_all.hpp>)\n#else\n#include <catch2/catch.hpp>\n#endif\n' |
    "${CXX:-g++}" -x c++ -E - >/dev/null 2>&1; then
    missing+=(catch2)
  fi
}

need_command "${CXX:-g++}" g++
need_command cmake cmake
need_command ninja ninja-build
need_header fmt/format.h libfmt-dev
need_header nlohmann/json.hpp nlohmann-json3-dev
need_header CLI/CLI.hpp libcli11-dev
need_header xxhash.h libxxhash-dev
case $purpose in
  build) ;;
  check | tidy)
    need_catch
    need_command clang-format clang-format
    need_command ccache ccache
    need_command readelf binutils
    need_command python3 python3
    [[ $purpose == tidy ]] && need_command clang-tidy clang-tidy
    ;;
  gpu)
    need_catch
    need_command python3 python3
    ;;
  *) fail "--for $purpose: expected build, check, tidy or gpu" ;;
esac

# --- CUDA: a toolkit, or wheels ---------------------------------------------------------------------------------------
# A Python with pip; the first python3 of PATH may be one without.
python_with_pip() {
  local python
  for python in python3 /usr/bin/python3; do
    if have "$python" && "$python" -m pip --version >/dev/null 2>&1; then
      printf '%s\n' "$python"
      return
    fi
  done
}
wheels=0
if ! toolkit_suffices && [[ -z $(wheel_include "$build") || -z $(wheel_nvrtc "$build") ]]; then
  wheels=1
  [[ -n $(python_with_pip) ]] || missing+=(python3-pip)
fi

# --- Say it, then do it -----------------------------------------------------------------------------------------------
if ((${#missing[@]} == 0 && wheels == 0)); then
  say "nothing to install"
  exit 0
fi
((${#missing[@]} == 0)) || say "missing, from apt: ${missing[*]}"
((wheels == 0)) || say "no CUDA toolkit (cuda.h, nvrtc.h and libnvrtc, 12.3 or later); from PyPI into" \
  "$build/cuda-wheels: ${CUDA_WHEELS[*]}"
if ((install == 0)); then
  say "--no-install: nothing was changed"
  exit 1
fi

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif have sudo; then
    sudo "$@"
  else
    fail "installing needs root or sudo; as root run: $*"
  fi
}
apt_install() {
  have apt-get || fail "no apt-get on this system; install by its own means what stands above (names are Debian's)"
  # What a package says while it unpacks is of no interest; what goes wrong is on stderr.
  as_root apt-get -qq update </dev/null
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" </dev/null >/dev/null
}
fetch_wheels() {
  local python folder=$build/cuda-wheels
  python=$(python_with_pip)
  rm -rf "$folder.part" # what an interrupted run left
  mkdir -p "$folder.part/download"
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --dest "$folder.part/download" "${CUDA_WHEELS[@]}" </dev/null ||
    fail "pip could not download the wheels; install a CUDA toolkit and set CUDA_HOME, or see to pip's access to PyPI"
  for wheel in "$folder.part/download"/*.whl; do
    "$python" -m zipfile -e "$wheel" "$folder.part"
  done
  rm -r "$folder.part/download"
  rm -rf "$folder"
  mv "$folder.part" "$folder"
  [[ -n $(wheel_include "$build") && -n $(wheel_nvrtc "$build") ]] ||
    fail "the wheels in $folder hold no cuda.h or no libnvrtc; their layout is not the one that tools/lib.sh knows"
}
((${#missing[@]} == 0)) || apt_install "${missing[@]}"
((wheels == 0)) || fetch_wheels
say "installed"
