# cmake --install: headers, both libraries, the command, and a package: find_package(octet) gives octet::octet (shared)
# and octet::octet_static. Neither leads to fmt or any other library that only the build needs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(octet_package ${CMAKE_INSTALL_LIBDIR}/cmake/octet)

install(TARGETS octet octet_static EXPORT octet-targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/octet TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
if(TARGET octet_cli)
  install(TARGETS octet_cli)
endif()

install(EXPORT octet-targets NAMESPACE octet:: DESTINATION ${octet_package})
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/octet-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_SOURCE_DIR}/cmake/octet-config.cmake ${CMAKE_BINARY_DIR}/generated/octet-config-version.cmake
        DESTINATION ${octet_package})
