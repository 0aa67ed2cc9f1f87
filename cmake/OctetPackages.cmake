# Libraries from the distribution, and CUDA's headers. Nothing of CUDA is linked.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_path(OCTET_XXHASH_INCLUDE xxhash.h REQUIRED)

# cuda.h and nvrtc.h: told, or a toolkit, or the PyPI wheels that tools/deps.sh unpacks into the build tree.
file(GLOB octet_wheel_headers ${CMAKE_BINARY_DIR}/cuda-wheels/nvidia/*/include)
find_path(OCTET_CUDA_H cuda.h
  HINTS ${OCTET_CUDA_INCLUDE} $ENV{CUDA_HOME}/include /usr/local/cuda/include ${octet_wheel_headers})
find_path(OCTET_NVRTC_H nvrtc.h
  HINTS ${OCTET_CUDA_INCLUDE} $ENV{CUDA_HOME}/include /usr/local/cuda/include ${octet_wheel_headers})
if(NOT OCTET_CUDA_H OR NOT OCTET_NVRTC_H)
  message(FATAL_ERROR "cuda.h and nvrtc.h not found. Run tools/deps.sh, which fetches them from PyPI, "
                      "or set OCTET_CUDA_INCLUDE to a folder that holds them.")
endif()
set(OCTET_CUDA_HEADERS ${OCTET_CUDA_H} ${OCTET_NVRTC_H})
list(REMOVE_DUPLICATES OCTET_CUDA_HEADERS)
