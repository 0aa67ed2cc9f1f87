# Sourced by the scripts of this folder: messages, and where CUDA's headers and NVRTC come from.
# shellcheck shell=bash disable=SC2034  # the variables are the callers'

OCTET_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# A heading on a terminal, in a log, and in CI alike.
step() { printf '\n== %s\n' "$*"; }
say() { printf '   %s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# The comment block at the top of a script is its help text.
usage() { awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$1"; }

absolute() { case $1 in /*) printf '%s\n' "$1" ;; *) printf '%s/%s\n' "$PWD" "$1" ;; esac; }

# --- CUDA ------------------------------------------------------------------------------------------------------------
# Octet needs two things of CUDA, and links neither: the headers cuda.h and nvrtc.h (12.3 or later) to build, libnvrtc to
# compile kernels. Both come from a toolkit, or else from PyPI's wheels, unpacked into <build>/cuda-wheels.
# OCTET_IGNORE_TOOLKIT=1 takes the wheels although there is a toolkit: that is how the second way is tested.

toolkit_folders() {
  if [[ ${OCTET_IGNORE_TOOLKIT:-0} != 1 ]]; then
    printf '%s\n' ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda /usr
  fi
}

# The first folder that holds both headers, from CUDA 12.3 or later; nothing when there is none.
toolkit_include() {
  local folder version
  while read -r folder; do
    [[ -f $folder/include/cuda.h && -f $folder/include/nvrtc.h ]] || continue
    version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$folder/include/cuda.h" | head -n 1)
    if ((${version:-0} >= 12030)); then
      printf '%s\n' "$folder/include"
      return
    fi
  done < <(toolkit_folders)
}

# Succeeds when the runtime's own search will find a libnvrtc.
toolkit_has_nvrtc() {
  local folder
  [[ -n ${OCTET_NVRTC_LIBRARY:-} ]] && return 0
  [[ ${OCTET_IGNORE_TOOLKIT:-0} == 1 ]] && return 1
  while read -r folder; do
    compgen -G "$folder/lib64/libnvrtc.so*" >/dev/null && return 0
  done < <(toolkit_folders)
  # Read to the end: under pipefail an early exit of the reader would make ldconfig's broken pipe the answer.
  [[ -n $(ldconfig -p 2>/dev/null | sed -n '/libnvrtc\.so/p') ]]
}

toolkit_suffices() { [[ -n $(toolkit_include) ]] && toolkit_has_nvrtc; }

# Prints the wheels' header folder and libnvrtc, one a line, when both are unpacked in build folder $1.
wheel_include() { compgen -G "$1/cuda-wheels/nvidia/*/include/cuda.h" | sed 's,/cuda\.h$,,;q'; }
wheel_nvrtc() { compgen -G "$1/cuda-wheels/nvidia/*/lib/libnvrtc.so.*" | sed q; }

# use_cuda BUILD: what configure and run need where the wheels take a toolkit's place. Fills OCTET_CMAKE_CUDA and exports
# OCTET_NVRTC_LIBRARY. Where there are no wheels either, it leaves both alone: CMake and the runtime say what is missing.
use_cuda() {
  local include nvrtc
  OCTET_CMAKE_CUDA=()
  toolkit_suffices && return
  include=$(wheel_include "$1") || return 0
  nvrtc=$(wheel_nvrtc "$1") || return 0
  OCTET_CMAKE_CUDA=("-DOCTET_CUDA_INCLUDE=$include")
  export OCTET_NVRTC_LIBRARY=${OCTET_NVRTC_LIBRARY:-$nvrtc}
}
