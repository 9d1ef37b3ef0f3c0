// The driver that runs nothing. Its objects are numbers dressed as pointers; none is ever dereferenced.
#include "slipway/null_driver.h"

#include <atomic>
#include <cstdio>
#include <new>
#include <utility>

#include "driver/result.h"
#include "driver/table_lookup.h"

namespace slipway {
namespace {

constexpr int kDriverVersion = 13000;  // CUDA 13.0.
constexpr size_t kTotalMemory = size_t{80} << 30;

struct AttributeValue {
  CUdevice_attribute attribute;
  int value;
};
// An H100 SXM5: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability", column 9.0.
constexpr AttributeValue kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
};

template <class Pointer>
Pointer NewHandle() {
  static std::atomic<uintptr_t> next{0x10000};
  return reinterpret_cast<Pointer>(next.fetch_add(16, std::memory_order_relaxed));
}

// Ranges handed out do not overlap, are aligned as cuMemAlloc aligns, and lie where no x86-64 or Arm Linux process has
// memory of its own, so that a stray use faults.
CUdeviceptr NewAddress(size_t bytes) {
  static std::atomic<CUdeviceptr> next{CUdeviceptr{1} << 60};
  constexpr size_t kAlignment = 256;
  return next.fetch_add((bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment, std::memory_order_relaxed);
}

const CUcontext kContext = reinterpret_cast<CUcontext>(0x1000);

// Plain data without a destructor: threads use it while they end, and static objects after main has returned. Small:
// glibc has little room for such in a shared library that a program opens while it runs.
struct ContextStack {
  static constexpr int kCapacity = 32;
  CUcontext entries[kCapacity];
  int depth;

  CUcontext top() const { return depth == 0 ? nullptr : entries[depth - 1]; }
};
thread_local ContextStack current;

struct Null {
  static CUresult Init(unsigned) { return CUDA_SUCCESS; }
  static CUresult DriverGetVersion(int* version) {
    *version = kDriverVersion;
    return CUDA_SUCCESS;
  }
  static CUresult GetErrorName(CUresult error, const char** name) {
    const ResultInfo* info = FindResult(error);
    *name = info != nullptr ? info->name : nullptr;
    return info != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  static CUresult GetErrorString(CUresult error, const char** text) {
    const ResultInfo* info = FindResult(error);
    *text = info != nullptr ? info->text : nullptr;
    return info != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  static CUresult GetProcAddress(const char* symbol, void** function, int version, uint64_t flags,
                                 CUdriverProcAddressQueryResult* status);  // Below: it reads the finished table.

  static CUresult DeviceGet(CUdevice* device, int ordinal) {
    *device = ordinal;
    return CUDA_SUCCESS;
  }
  static CUresult DeviceGetCount(int* count) {
    *count = 1;
    return CUDA_SUCCESS;
  }
  static CUresult DeviceGetName(char* name, int length, CUdevice) {
    std::snprintf(name, length, "null device");
    return CUDA_SUCCESS;
  }
  static CUresult DeviceTotalMem(size_t* bytes, CUdevice) {
    *bytes = kTotalMemory;
    return CUDA_SUCCESS;
  }
  static CUresult DeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
    *value = 0;
    for (const AttributeValue& entry : kAttributes) {
      if (entry.attribute == attribute) *value = entry.value;
    }
    return CUDA_SUCCESS;
  }

  static CUresult DevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
    *context = kContext;
    return CUDA_SUCCESS;
  }
  static CUresult DevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
  static CUresult CtxGetCurrent(CUcontext* context) {
    *context = current.top();
    return CUDA_SUCCESS;
  }
  static CUresult CtxSetCurrent(CUcontext context) {
    if (current.depth != 0) --current.depth;
    if (context != nullptr) current.entries[current.depth++] = context;
    return CUDA_SUCCESS;
  }
  static CUresult CtxPushCurrent(CUcontext context) {
    if (current.depth == ContextStack::kCapacity) return CUDA_ERROR_OUT_OF_MEMORY;
    current.entries[current.depth++] = context;
    return CUDA_SUCCESS;
  }
  static CUresult CtxPopCurrent(CUcontext* context) {
    if (current.depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = current.top();
    --current.depth;
    return CUDA_SUCCESS;
  }
  static CUresult CtxGetDevice(CUdevice* device) {
    *device = 0;
    return CUDA_SUCCESS;
  }
  static CUresult CtxSynchronize() { return CUDA_SUCCESS; }

  static CUresult ModuleLoadDataEx(CUmodule* module, const void*, unsigned, CUjit_option*, void**) {
    *module = NewHandle<CUmodule>();
    return CUDA_SUCCESS;
  }
  static CUresult ModuleUnload(CUmodule) { return CUDA_SUCCESS; }
  static CUresult ModuleGetFunction(CUfunction* function, CUmodule, const char*) {
    *function = NewHandle<CUfunction>();
    return CUDA_SUCCESS;
  }
  static CUresult ModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule, const char*) {
    constexpr size_t kBytes = 8;
    if (address != nullptr) *address = NewAddress(kBytes);
    if (bytes != nullptr) *bytes = kBytes;
    return CUDA_SUCCESS;
  }
  // Its modules are not read, so it knows no kernels of them.
  static CUresult ModuleGetFunctionCount(unsigned* count, CUmodule) {
    *count = 0;
    return CUDA_SUCCESS;
  }
  static CUresult ModuleEnumerateFunctions(CUfunction*, unsigned, CUmodule) { return CUDA_SUCCESS; }
  static CUresult LinkCreate(unsigned, CUjit_option*, void**, CUlinkState* link) {
    *link = NewHandle<CUlinkState>();
    return CUDA_SUCCESS;
  }
  static CUresult LinkAddData(CUlinkState, CUjitInputType, void*, size_t, const char*, unsigned, CUjit_option*,
                              void**) {
    return CUDA_SUCCESS;
  }
  static CUresult LinkComplete(CUlinkState, void** image, size_t* bytes) {
    static char nothing[] = "slipway null image";  // For the module loader, which does not read it.
    *image = nothing;
    *bytes = sizeof(nothing);
    return CUDA_SUCCESS;
  }
  static CUresult LinkDestroy(CUlinkState) { return CUDA_SUCCESS; }
  static CUresult FuncGetName(const char** name, CUfunction) {
    *name = "kernel";
    return CUDA_SUCCESS;
  }
  static CUresult FuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }
  static CUresult FuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
    *value = 0;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) *value = 1024;
    if (attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION || attribute == CU_FUNC_ATTRIBUTE_BINARY_VERSION) *value = 90;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) *value = 49152;
    return CUDA_SUCCESS;
  }
  static CUresult FuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
  static CUresult OccupancyMaxPotentialBlockSize(int* min_grid_size, int* block_size, CUfunction, CUoccupancyB2DSize,
                                                 size_t, int block_size_limit) {
    *block_size = block_size_limit > 0 && block_size_limit < 256 ? block_size_limit : 256;
    *min_grid_size = 132 * 8;
    return CUDA_SUCCESS;
  }

  static CUresult MemGetInfo(size_t* free, size_t* total) {
    *free = kTotalMemory;
    *total = kTotalMemory;
    return CUDA_SUCCESS;
  }
  static CUresult MemAlloc(CUdeviceptr* address, size_t bytes) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (bytes > kTotalMemory) return CUDA_ERROR_OUT_OF_MEMORY;
    *address = NewAddress(bytes);
    return CUDA_SUCCESS;
  }
  static CUresult MemFree(CUdeviceptr) { return CUDA_SUCCESS; }
  static CUresult MemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream) { return MemAlloc(address, bytes); }
  static CUresult MemFreeAsync(CUdeviceptr address, CUstream) { return MemFree(address); }
  // Host memory is real: a program reads and writes it.
  static CUresult MemAllocHost(void** address, size_t bytes) {
    *address = ::operator new(bytes, std::nothrow);
    return *address != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  }
  static CUresult MemFreeHost(void* address) {
    ::operator delete(address);
    return CUDA_SUCCESS;
  }
  static CUresult MemHostAlloc(void** address, size_t bytes, unsigned) { return MemAllocHost(address, bytes); }
  static CUresult MemHostGetDevicePointer(CUdeviceptr* address, void* host, unsigned) {
    *address = reinterpret_cast<CUdeviceptr>(host);
    return CUDA_SUCCESS;
  }
  static CUresult MemHostRegister(void*, size_t, unsigned) { return CUDA_SUCCESS; }
  static CUresult MemHostUnregister(void*) { return CUDA_SUCCESS; }
  // Real, too, and never given back: MemFree cannot tell it from device memory.
  static CUresult MemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    void* memory = nullptr;
    const CUresult result = MemAllocHost(&memory, bytes);
    *address = reinterpret_cast<CUdeviceptr>(memory);
    return result;
  }
  static CUresult MemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps*) {
    *pool = NewHandle<CUmemoryPool>();
    return CUDA_SUCCESS;
  }
  static CUresult MemPoolDestroy(CUmemoryPool) { return CUDA_SUCCESS; }
  static CUresult MemPoolTrimTo(CUmemoryPool, size_t) { return CUDA_SUCCESS; }
  static CUresult MemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, void*) { return CUDA_SUCCESS; }
  static CUresult MemPoolGetAttribute(CUmemoryPool, CUmemPool_attribute attribute, void* value) {
    if (attribute < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {  // The attributes before are flags, and int.
      *static_cast<int*>(value) = 1;
    } else {
      *static_cast<uint64_t*>(value) = 0;
    }
    return CUDA_SUCCESS;
  }
  static CUresult MemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool, CUstream) {
    return MemAlloc(address, bytes);
  }
  static CUresult MemcpyHtoD(CUdeviceptr, const void*, size_t) { return CUDA_SUCCESS; }
  static CUresult MemcpyDtoH(void*, CUdeviceptr, size_t) { return CUDA_SUCCESS; }
  static CUresult MemcpyDtoD(CUdeviceptr, CUdeviceptr, size_t) { return CUDA_SUCCESS; }
  static CUresult MemcpyHtoDAsync(CUdeviceptr, const void*, size_t, CUstream) { return CUDA_SUCCESS; }
  static CUresult MemcpyDtoHAsync(void*, CUdeviceptr, size_t, CUstream) { return CUDA_SUCCESS; }
  static CUresult MemcpyDtoDAsync(CUdeviceptr, CUdeviceptr, size_t, CUstream) { return CUDA_SUCCESS; }
  static CUresult MemsetD8(CUdeviceptr, unsigned char, size_t) { return CUDA_SUCCESS; }
  static CUresult MemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream) { return CUDA_SUCCESS; }
  static CUresult MemsetD32(CUdeviceptr, unsigned, size_t) { return CUDA_SUCCESS; }
  static CUresult MemsetD32Async(CUdeviceptr, unsigned, size_t, CUstream) { return CUDA_SUCCESS; }
  static CUresult PointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
    constexpr unsigned kMemoryTypeDevice = 2;  // CU_MEMORYTYPE_DEVICE.
    switch (attribute) {
      case CU_POINTER_ATTRIBUTE_CONTEXT:
        *static_cast<CUcontext*>(value) = kContext;
        return CUDA_SUCCESS;
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<unsigned*>(value) = kMemoryTypeDevice;
        return CUDA_SUCCESS;
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *static_cast<CUdeviceptr*>(value) = address;
        return CUDA_SUCCESS;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *static_cast<int*>(value) = 0;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  }

  static CUresult StreamCreateWithPriority(CUstream* stream, unsigned, int) {
    *stream = NewHandle<CUstream>();
    return CUDA_SUCCESS;
  }
  static CUresult StreamDestroy(CUstream) { return CUDA_SUCCESS; }
  static CUresult StreamSynchronize(CUstream) { return CUDA_SUCCESS; }
  static CUresult StreamQuery(CUstream) { return CUDA_SUCCESS; }
  static CUresult StreamWaitEvent(CUstream, CUevent, unsigned) { return CUDA_SUCCESS; }
  // All work is done at once, and this is the only work that has an effect.
  static CUresult LaunchHostFunc(CUstream, CUhostFn function, void* user_data) {
    function(user_data);
    return CUDA_SUCCESS;
  }
  static CUresult EventCreate(CUevent* event, unsigned) {
    *event = NewHandle<CUevent>();
    return CUDA_SUCCESS;
  }
  static CUresult EventDestroy(CUevent) { return CUDA_SUCCESS; }
  static CUresult EventRecord(CUevent, CUstream) { return CUDA_SUCCESS; }
  static CUresult EventQuery(CUevent) { return CUDA_SUCCESS; }
  static CUresult EventSynchronize(CUevent) { return CUDA_SUCCESS; }
  static CUresult EventElapsedTime(float* milliseconds, CUevent, CUevent) {
    *milliseconds = 0;
    return CUDA_SUCCESS;
  }
  static CUresult LaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                               CUstream, void**, void**) {
    return CUDA_SUCCESS;
  }
  static CUresult LaunchKernelEx(const CUlaunchConfig*, CUfunction, void**, void**) { return CUDA_SUCCESS; }

  static CUresult DeviceCanAccessPeer(int* can, CUdevice, CUdevice) {
    *can = 1;
    return CUDA_SUCCESS;
  }
  static CUresult CtxSetLimit(CUlimit, size_t) { return CUDA_SUCCESS; }
  static CUresult CtxGetLimit(size_t* value, CUlimit) {
    *value = 1024;
    return CUDA_SUCCESS;
  }
  static CUresult CtxEnablePeerAccess(CUcontext, unsigned) { return CUDA_SUCCESS; }
  static CUresult MemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream) {
    return CUDA_SUCCESS;
  }
  static CUresult CtxGetStreamPriorityRange(int* least, int* greatest) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return CUDA_SUCCESS;
  }
  static CUresult StreamGetPriority(CUstream, int* priority) {
    *priority = 0;
    return CUDA_SUCCESS;
  }
  static CUresult StreamGetCtx(CUstream, CUcontext* context) {
    *context = kContext;
    return CUDA_SUCCESS;
  }
  // Its modules are not read, so it knows no parameters.
  static CUresult FuncGetParamInfo(CUfunction, size_t, size_t*, size_t*) { return CUDA_ERROR_NOT_SUPPORTED; }
  static CUresult OccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int block_size, size_t) {
    *blocks = block_size > 0 ? 2048 / block_size : 0;
    return CUDA_SUCCESS;
  }

  // Captures are not kept: a graph of the null driver is empty, and launching it does nothing.
  static CUresult StreamBeginCapture(CUstream, CUstreamCaptureMode) { return CUDA_SUCCESS; }
  static CUresult StreamEndCapture(CUstream, CUgraph* graph) {
    *graph = NewHandle<CUgraph>();
    return CUDA_SUCCESS;
  }
  static CUresult StreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  }
  static CUresult StreamGetCaptureInfo(CUstream, CUstreamCaptureStatus* status, uint64_t*, CUgraph*,
                                       const CUgraphNode**, size_t*) {
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  }
  static CUresult ThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::swap(current, *mode);
    return CUDA_SUCCESS;
  }
  static CUresult GraphDestroy(CUgraph) { return CUDA_SUCCESS; }
  static CUresult GraphGetNodes(CUgraph, CUgraphNode*, size_t* count) {
    *count = 0;
    return CUDA_SUCCESS;
  }
  static CUresult GraphNodeGetType(CUgraphNode, CUgraphNodeType* type) {
    *type = CU_GRAPH_NODE_TYPE_KERNEL;
    return CUDA_SUCCESS;
  }
  static CUresult GraphInstantiateWithFlags(CUgraphExec* exec, CUgraph, unsigned long long) {  // NOLINT
    *exec = NewHandle<CUgraphExec>();
    return CUDA_SUCCESS;
  }
  static CUresult GraphExecDestroy(CUgraphExec) { return CUDA_SUCCESS; }
  static CUresult GraphLaunch(CUgraphExec, CUstream) { return CUDA_SUCCESS; }
  static CUresult GraphKernelNodeGetParams(CUgraphNode, CUDA_KERNEL_NODE_PARAMS* params) {
    *params = {};
    return CUDA_SUCCESS;
  }
  static CUresult GraphExecKernelNodeSetParams(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*) {
    return CUDA_SUCCESS;
  }
  static CUresult GraphExecUpdate(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo* info) {
    *info = {};
    return CUDA_SUCCESS;
  }
};

DriverApi MakeTable() {
  DriverApi api;
#define SLIPWAY_ENTRY(member, since, need, parameters) api.member = &Null::member;
  SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_ENTRY)
#undef SLIPWAY_ENTRY
  api.name = "null";
  return api;
}

CUresult Null::GetProcAddress(const char* symbol, void** function, int version, uint64_t,
                              CUdriverProcAddressQueryResult* status) {
  return FindInTable(NullDriver(), symbol, version, function, status);
}

}  // namespace

const DriverApi& NullDriver() {
  static const DriverApi api = MakeTable();
  return api;
}

}  // namespace slipway
