# How every target of ours is compiled.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# -O3 only makes the build slower: nothing on the host is hot.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(OCTET_CCACHE ccache)
if(OCTET_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${OCTET_CCACHE})
endif()

find_package(Threads REQUIRED)

add_library(octet_options INTERFACE)
target_compile_features(octet_options INTERFACE cxx_std_20)
target_compile_options(octet_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC bug 105651: a false alarm inside std::string for "literal" + std::string&&.
  target_compile_options(octet_options INTERFACE -Wno-restrict)
endif()
if(OCTET_WERROR)
  target_compile_options(octet_options INTERFACE -Werror)
endif()
if(OCTET_SANITIZE)
  target_compile_options(octet_options INTERFACE -fsanitize=${OCTET_SANITIZE} -fno-omit-frame-pointer -g)
  target_link_options(octet_options INTERFACE -fsanitize=${OCTET_SANITIZE})
endif()
