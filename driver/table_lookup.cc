#include "driver/table_lookup.h"

#include <string_view>

namespace slipway {

CUresult FindInTable(const DriverApi& table, const char* symbol, int version, void** function,
                     CUdriverProcAddressQueryResult* answer) {
  struct Symbol {
    std::string_view name;
    int since;
    void* entry;
  };
#define SLIPWAY_SYMBOL(member, since, need, parameters) {"cu" #member, since, reinterpret_cast<void*>(table.member)},
  const Symbol symbols[] = {SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_SYMBOL)};
#undef SLIPWAY_SYMBOL
  *function = nullptr;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  for (const Symbol& candidate : symbols) {
    if (candidate.name != symbol || candidate.entry == nullptr) continue;
    if (version < candidate.since) {
      found = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    } else {
      found = CU_GET_PROC_ADDRESS_SUCCESS;
      *function = candidate.entry;
    }
  }
  if (answer != nullptr) *answer = found;
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace slipway
