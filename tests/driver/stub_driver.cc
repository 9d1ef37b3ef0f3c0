// A driver library in miniature, for the loader's tests: right names, no work. Variants, by preprocessor:
//   STUB_GET_PROC_ADDRESS   0: none; 1: the form of CUDA 11.3; 2: the form of CUDA 12.0
//   STUB_LACKS_MEMORY       without cuMemAlloc_v2 and cuMemFree_v2
// The names are written out here, not taken from the loader's table, so that one is checked against the other.
#include <cstdint>
#include <cstring>

#define EXPORT(name) \
  extern "C" __attribute__((visibility("default"))) int name() { return 0; }

EXPORT(cuInit)
EXPORT(cuDriverGetVersion)
EXPORT(cuGetErrorName)
EXPORT(cuGetErrorString)
EXPORT(cuDeviceGet)
EXPORT(cuDeviceGetCount)
EXPORT(cuDeviceGetName)
EXPORT(cuDeviceTotalMem_v2)
EXPORT(cuDeviceGetAttribute)
EXPORT(cuDevicePrimaryCtxRetain)
EXPORT(cuDevicePrimaryCtxRelease_v2)
EXPORT(cuCtxGetCurrent)
EXPORT(cuCtxSetCurrent)
EXPORT(cuCtxPushCurrent_v2)
EXPORT(cuCtxPopCurrent_v2)
EXPORT(cuCtxGetDevice)
EXPORT(cuCtxSynchronize)
EXPORT(cuModuleLoadDataEx)
EXPORT(cuModuleUnload)
EXPORT(cuModuleGetFunction)
EXPORT(cuModuleGetGlobal_v2)
EXPORT(cuFuncGetAttribute)
EXPORT(cuLinkCreate_v2)
EXPORT(cuLinkAddData_v2)
EXPORT(cuLinkComplete)
EXPORT(cuLinkDestroy)
EXPORT(cuFuncSetAttribute)
EXPORT(cuFuncSetCacheConfig)
EXPORT(cuOccupancyMaxPotentialBlockSize)
EXPORT(cuMemGetInfo_v2)
EXPORT(cuMemAllocHost_v2)
EXPORT(cuMemFreeHost)
EXPORT(cuMemcpyHtoD_v2)
EXPORT(cuMemcpyDtoH_v2)
EXPORT(cuMemcpyDtoD_v2)
EXPORT(cuMemcpyHtoDAsync_v2)
EXPORT(cuMemcpyDtoHAsync_v2)
EXPORT(cuMemcpyDtoDAsync_v2)
EXPORT(cuMemsetD8_v2)
EXPORT(cuMemsetD8Async)
EXPORT(cuMemsetD32_v2)
EXPORT(cuMemsetD32Async)
EXPORT(cuPointerGetAttribute)
EXPORT(cuStreamCreateWithPriority)
EXPORT(cuStreamDestroy_v2)
EXPORT(cuStreamSynchronize)
EXPORT(cuStreamQuery)
EXPORT(cuStreamWaitEvent)
EXPORT(cuLaunchHostFunc)
EXPORT(cuEventCreate)
EXPORT(cuEventDestroy_v2)
EXPORT(cuEventRecord)
EXPORT(cuEventQuery)
EXPORT(cuEventSynchronize)
EXPORT(cuEventElapsedTime)
EXPORT(cuDeviceCanAccessPeer)
EXPORT(cuCtxGetStreamPriorityRange)
EXPORT(cuCtxEnablePeerAccess)
EXPORT(cuCtxSetLimit)
EXPORT(cuCtxGetLimit)
EXPORT(cuOccupancyMaxActiveBlocksPerMultiprocessor)
EXPORT(cuMemcpyPeerAsync)
EXPORT(cuStreamGetPriority)
EXPORT(cuStreamBeginCapture_v2)
EXPORT(cuStreamEndCapture)
EXPORT(cuStreamIsCapturing)
EXPORT(cuThreadExchangeStreamCaptureMode)
EXPORT(cuGraphDestroy)
EXPORT(cuGraphGetNodes)
EXPORT(cuGraphNodeGetType)
EXPORT(cuGraphExecDestroy)
EXPORT(cuGraphLaunch)
EXPORT(cuLaunchKernel)
#if !STUB_LACKS_MEMORY
EXPORT(cuMemAlloc_v2)
EXPORT(cuMemFree_v2)
#endif

// Other variants of the same functions, with other parameters: a loader that takes one of these is wrong.
EXPORT(cuMemAlloc)
EXPORT(cuMemFree)
EXPORT(cuStreamDestroy)
EXPORT(cuCtxGetDevice_v2)
EXPORT(cuCtxSynchronize_v2)

// What a partial cuGetProcAddress knows: functions that are exported under other names only, at one version each.
EXPORT(stub_Init)
EXPORT(stub_MemcpyHtoD)
EXPORT(stub_MemAllocAsync)

namespace {

struct Known {
  const char* symbol;
  int version;
  int (*function)();
};
[[maybe_unused]] constexpr Known kKnown[] = {
    {"cuInit", 2000, &stub_Init},
    {"cuMemcpyHtoD", 3020, &stub_MemcpyHtoD},
    {"cuMemAllocAsync", 11020, &stub_MemAllocAsync},
};

[[maybe_unused]] void* Find(const char* symbol, int version) {
  for (const Known& known : kKnown) {
    if (std::strcmp(known.symbol, symbol) == 0 && known.version == version) {
      return reinterpret_cast<void*>(known.function);
    }
  }
  return nullptr;
}

constexpr int kNotFound = 500;  // CUDA_ERROR_NOT_FOUND.

}  // namespace

#if STUB_GET_PROC_ADDRESS == 1
extern "C" __attribute__((visibility("default"))) int cuGetProcAddress(const char* symbol, void** function, int version,
                                                                       uint64_t) {
  *function = Find(symbol, version);
  return *function != nullptr ? 0 : kNotFound;
}
#elif STUB_GET_PROC_ADDRESS == 2
// As real drivers do, it answers success with a query result that says "not found" for some, an error for others.
extern "C" __attribute__((visibility("default"))) int cuGetProcAddress_v2(const char* symbol, void** function,
                                                                          int version, uint64_t, int* query) {
  *function = Find(symbol, version);
  *query = *function != nullptr ? 0 : 1;
  return *function == nullptr && symbol[2] == 'M' ? kNotFound : 0;
}
// The older form is there too, and must not be taken: its last parameter is missing.
extern "C" __attribute__((visibility("default"))) int cuGetProcAddress(const char*, void**, int, uint64_t) {
  return kNotFound;
}
#endif
