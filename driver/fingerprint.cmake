# Writes a source file with a hash of the library's sources, which is a part of every key of the disk cache: what other
# sources would compile is never taken for what these do.
#   cmake -DROOT=... -DOUTPUT=... -P fingerprint.cmake
file(GLOB_RECURSE sources ${ROOT}/jit/*.cc ${ROOT}/jit/*.h ${ROOT}/driver/*.cc ${ROOT}/driver/*.h ${ROOT}/launch/*.cc
                          ${ROOT}/launch/*.h ${ROOT}/include/slipway/*.h)
list(SORT sources)
set(hashes "")
foreach(source IN LISTS sources)
  file(SHA256 ${source} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 fingerprint "${hashes}")
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#include "driver/disk_cache.h"
namespace slipway::internal {
const char* const kSourceFingerprint = "@fingerprint@";
}
]] @ONLY)
