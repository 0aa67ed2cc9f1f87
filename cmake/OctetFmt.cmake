# octet_fmt: fmt without its shared library. OCTET_FMT_SOURCES goes into the library once.
get_target_property(octet_fmt_include fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
try_compile(OCTET_FMT_ONCE ${CMAKE_BINARY_DIR}/fmt-probe
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/fmt_once.cc ${CMAKE_CURRENT_LIST_DIR}/fmt_probe.cc
  CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${octet_fmt_include}"
  CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
add_library(octet_fmt INTERFACE)
target_include_directories(octet_fmt SYSTEM INTERFACE ${octet_fmt_include})
if(OCTET_FMT_ONCE)
  set(OCTET_FMT_SOURCES ${CMAKE_CURRENT_LIST_DIR}/fmt_once.cc)
else()
  message(STATUS "fmt ${fmt_VERSION}: used from its headers, which builds slower")
  target_link_libraries(octet_fmt INTERFACE fmt::fmt-header-only)
endif()
