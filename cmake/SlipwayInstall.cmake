# Install rules: headers, libraries, and a package that find_package(Slipway) finds.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/slipway DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(SLIPWAY_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Slipway)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/SlipwayConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/SlipwayConfig.cmake INSTALL_DESTINATION ${SLIPWAY_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SlipwayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT SlipwayTargets NAMESPACE slipway:: DESTINATION ${SLIPWAY_CMAKE_DIR})
install(FILES ${PROJECT_BINARY_DIR}/SlipwayConfig.cmake ${PROJECT_BINARY_DIR}/SlipwayConfigVersion.cmake
        DESTINATION ${SLIPWAY_CMAKE_DIR})
