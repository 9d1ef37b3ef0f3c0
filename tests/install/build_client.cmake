# Configures, builds and runs one client program against an installed Slipway, as a user would.
#   cmake -D CLIENT=<folder> -D PREFIX=<installation> -D BUILD=<folder> -D GENERATOR=... -D COMPILER=... -D FLAGS=...
#         -D PACKAGES=<where LLVM and Abseil were found> -D FORBIDDEN=<regex of libraries that it may not need>
#         -P build_client.cmake
get_filename_component(name ${CLIENT} NAME)
file(REMOVE_RECURSE ${BUILD})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${CLIENT} -B ${BUILD} -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER}
                        -D CMAKE_BUILD_TYPE=None -D CMAKE_CXX_FLAGS=${FLAGS} -D CMAKE_PREFIX_PATH=${PREFIX};${PACKAGES}
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${BUILD}/${name} COMMAND_ERROR_IS_FATAL ANY)
if(FORBIDDEN)
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${BUILD}/${name} RESOLVED_DEPENDENCIES_VAR libraries
       UNRESOLVED_DEPENDENCIES_VAR unresolved)
  list(FILTER libraries INCLUDE REGEX "${FORBIDDEN}")
  if(libraries)
    message(FATAL_ERROR "${name} needs ${libraries}, and should not")
  endif()
endif()
