// libcuda.so.1 without a GPU: the null driver's table under the names that a driver library exports.
//
// Put first on LD_LIBRARY_PATH, it lets any program of the CUDA Driver API come up and launch, so that the host cost of
// its launches can be measured. Nothing runs: see slipway/null_driver.h.
#include <cstring>
#include <string_view>

#include "driver/export_jump.h"
#include "driver/null_library/entries.h"
#include "slipway/null_driver.h"

#define X(exported, member) SLIPWAY_EXPORT(exported, slipway::NullDriver().member)
#include "driver/null_library/table_exports.inc"
#undef X
#define X(exported, since, function) SLIPWAY_EXPORT(exported, &slipway::null_library::function)
#include "driver/null_library/further_exports.inc"
#undef X

namespace slipway::null_library {
namespace {

struct Export {
  std::string_view name;  // As exported: "cuMemAlloc_v2".
  int since;
  void* const* slot;
};

// The CUDA version that brought the variant of a function that the table has.
#define SLIPWAY_SINCE(member, since, need, parameters) constexpr int kSince##member = since;
SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_SINCE)
#undef SLIPWAY_SINCE

constexpr Export kExports[] = {
#define X(exported, member) {#exported, kSince##member, &slipway_slot_##exported},
#include "driver/null_library/table_exports.inc"
#undef X
#define X(exported, since, function) {#exported, since, &slipway_slot_##exported},
#include "driver/null_library/further_exports.inc"
#undef X
};

// "cuMemAlloc" of "cuMemAlloc_v2": what cuGetProcAddress is asked for.
constexpr std::string_view Symbol(std::string_view exported) {
  const size_t size = exported.size();
  return size > 3 && exported.substr(size - 3, 2) == "_v" ? exported.substr(0, size - 3) : exported;
}

// The newest variant of `symbol` that CUDA `version` has.
CUdriverProcAddressQueryResult Find(std::string_view symbol, int version, void** function) {
  CUdriverProcAddressQueryResult answer = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  int newest = -1;
  *function = nullptr;
  for (const Export& candidate : kExports) {
    if (Symbol(candidate.name) != symbol) continue;
    if (candidate.since > version) {
      if (*function == nullptr) answer = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    } else if (candidate.since > newest) {
      newest = candidate.since;
      *function = *candidate.slot;
      answer = CU_GET_PROC_ADDRESS_SUCCESS;
    }
  }
  return answer;
}

}  // namespace

CUresult ProcAddress12(const char* symbol, void** function, int version, uint64_t,
                       CUdriverProcAddressQueryResult* answer) {
  const CUdriverProcAddressQueryResult found = Find(symbol, version, function);
  if (answer != nullptr) *answer = found;
  return found == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult ProcAddress11(const char* symbol, void** function, int version, uint64_t flags) {
  return ProcAddress12(symbol, function, version, flags, nullptr);
}

}  // namespace slipway::null_library
