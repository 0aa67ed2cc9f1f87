# What find_package(octet) reads; see OctetInstall.cmake.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/octet-targets.cmake)
