# Settings that every target shares, and the functions that declare targets.

include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_package(Threads REQUIRED)
find_package(absl REQUIRED)
if(SLIPWAY_LLVM_STATIC)
  # What LLVM's static libraries want besides; without them LLVM's own CMake files fail with a riddle.
  find_path(SLIPWAY_ZLIB_H zlib.h)
  find_path(SLIPWAY_ZSTD_H zstd.h)
  if(NOT SLIPWAY_ZLIB_H OR NOT SLIPWAY_ZSTD_H)
    message(FATAL_ERROR "SLIPWAY_LLVM_STATIC needs zlib.h and zstd.h: apt-get install zlib1g-dev libzstd-dev")
  endif()
endif()
if(SLIPWAY_JIT OR SLIPWAY_CPU_DEVICE)
  find_package(LLVM 22.1 REQUIRED CONFIG)
endif()

# Designated initialisers name what differs from the defaults: leaving the rest out is the point.
set(SLIPWAY_WARNINGS -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers $<$<BOOL:${SLIPWAY_WERROR}>:-Werror>)

# slipway_library(NAME SOURCES... [LINK ...] [PRIVATE_LINK ...]), or slipway_library(NAME INTERFACE)
# A library `slipway_NAME` (the umbrella is `slipway` itself), known to users as slipway::NAME.
function(slipway_library name)
  cmake_parse_arguments(arg "INTERFACE" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  if(name STREQUAL "slipway")
    set(target slipway)
  else()
    set(target slipway_${name})
  endif()
  if(arg_INTERFACE)
    add_library(${target} INTERFACE)
  else()
    add_library(${target} ${arg_SOURCES})
    target_compile_options(${target} PRIVATE ${SLIPWAY_WARNINGS} -fno-exceptions)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                         PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_link_libraries(${target} PUBLIC ${arg_LINK} PRIVATE ${arg_PRIVATE_LINK})
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  add_library(slipway::${name} ALIAS ${target})
  set_property(GLOBAL APPEND PROPERTY SLIPWAY_COMPONENTS ${name})
  install(TARGETS ${target} EXPORT Slipway_${name} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                                   LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# Gives `target` LLVM: headers as system headers, and libLLVM.so or the static components named after it.
function(slipway_use_llvm target)
  target_include_directories(${target} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  separate_arguments(definitions UNIX_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_definitions(${target} PRIVATE ${definitions})
  if(SLIPWAY_LLVM_STATIC)
    llvm_map_components_to_libnames(libraries ${ARGN})
    target_link_libraries(${target} PRIVATE ${libraries})
  else()
    target_link_libraries(${target} PRIVATE LLVM)
  endif()
endfunction()

# slipway_program(NAME SOURCES... [LINK ...]): a program in build/<preset>/bin that may include internal headers.
function(slipway_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE ${SLIPWAY_WARNINGS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
endfunction()

# slipway_test(NAME SOURCES... [LINK ...] [LABELS ...]): a GoogleTest program, each of whose tests ctest runs by itself.
# It also links what the folder's variable slipway_test_link names.
function(slipway_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;LABELS" ${ARGN})
  slipway_program(${name} SOURCES ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/no_disk_cache.cc
                          LINK ${arg_LINK} ${slipway_test_link} GTest::gmock_main)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300 LABELS "${arg_LABELS}"
                       WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()
