// libcuda.so.1 without a GPU: the CPU device under the names that a driver library exports, for other people's
// programs.
//
// LD_LIBRARY_PATH=build/default/lib/cuda lets any program of the CUDA Driver API run on it.
#include <cstdint>
#include <string_view>

#include "driver/cpu/cuda_library/client.h"
#include "driver/cpu/runtime.h"
#include "driver/export_jump.h"

namespace slipway::cpu::client {
namespace {

// A function as its variants are that belong to `--default-stream per-thread`.
template <auto function>
struct PerThread;
template <typename... Arguments, CUresult (*function)(Arguments...)>
struct PerThread<function> {
  static CUresult Call(Arguments... arguments) {
    const NullStreamIsPerThread scope;
    return function(arguments...);
  }
};

}  // namespace
}  // namespace slipway::cpu::client

#define X(symbol, variant, since, function) SLIPWAY_EXPORT(cu##symbol##variant, &slipway::cpu::client::function)
#define P(symbol, variant, kind, since, function) \
  SLIPWAY_EXPORT(cu##symbol##variant##kind, &slipway::cpu::client::PerThread<&slipway::cpu::client::function>::Call)
#define N(symbol, variant, since) X(symbol, variant, since, NotSupported)
#define M(symbol, variant, kind, since) SLIPWAY_EXPORT(cu##symbol##variant##kind, &slipway::cpu::client::NotSupported)
#include "driver/cpu/cuda_library/exports.inc"
#undef X
#undef P
#undef N
#undef M

namespace slipway::cpu::client {
namespace {

struct Export {
  std::string_view symbol;  // As cuGetProcAddress is asked for it: "cuMemAlloc".
  int since;
  bool per_thread;
  void* const* slot;
};
constexpr Export kExports[] = {
#define X(symbol, variant, since, function) {"cu" #symbol, since, false, &slipway_slot_cu##symbol##variant},
#define P(symbol, variant, kind, since, function) {"cu" #symbol, since, true, &slipway_slot_cu##symbol##variant##kind},
#define N(symbol, variant, since) X(symbol, variant, since, NotSupported)
#define M(symbol, variant, kind, since) P(symbol, variant, kind, since, NotSupported)
#include "driver/cpu/cuda_library/exports.inc"
#undef X
#undef P
#undef N
#undef M
};

// The variants of per-thread default streams are as old as that option (CUDA 7.0) or as the functions, whichever is
// less: who asks by an older version means the function.
const Export* Newest(std::string_view symbol, int version, bool per_thread, bool* known) {
  const Export* newest = nullptr;
  for (const Export& candidate : kExports) {
    if (candidate.per_thread != per_thread || candidate.symbol != symbol) continue;
    *known = true;
    if (candidate.since <= version && (newest == nullptr || candidate.since > newest->since)) newest = &candidate;
  }
  return newest;
}

}  // namespace

CUresult GetProcAddress(const char* symbol, void** function, int version, uint64_t flags,
                        CUdriverProcAddressQueryResult* status) {
  constexpr uint64_t kFlags = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (symbol == nullptr || function == nullptr || (flags & ~kFlags) != 0 || flags == kFlags) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  bool known = false;
  const Export* found = nullptr;
  if (flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) found = Newest(symbol, version, true, &known);
  if (found == nullptr) found = Newest(symbol, version, false, &known);
  *function = found == nullptr ? nullptr : *found->slot;
  if (status != nullptr) {
    *status = found != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : known          ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                               : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return found == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult GetProcAddress_v1(const char* symbol, void** function, int version, uint64_t flags) {
  return GetProcAddress(symbol, function, version, flags, nullptr);
}

}  // namespace slipway::cpu::client
