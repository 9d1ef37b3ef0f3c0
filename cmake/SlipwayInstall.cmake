# Install rules: headers, libraries, and a package that find_package(Slipway) finds.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/slipway DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(SLIPWAY_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Slipway)
get_property(SLIPWAY_COMPONENTS GLOBAL PROPERTY SLIPWAY_COMPONENTS)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/SlipwayConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/SlipwayConfig.cmake INSTALL_DESTINATION ${SLIPWAY_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SlipwayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# One file a library, so that a program that links only the driver layer needs nothing of the others' dependencies.
foreach(component IN LISTS SLIPWAY_COMPONENTS)
  install(EXPORT Slipway_${component} NAMESPACE slipway:: DESTINATION ${SLIPWAY_CMAKE_DIR})
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/SlipwayConfig.cmake ${PROJECT_BINARY_DIR}/SlipwayConfigVersion.cmake
        DESTINATION ${SLIPWAY_CMAKE_DIR})
