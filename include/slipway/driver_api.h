// The part of the CUDA Driver API that Slipway uses, declared without cuda.h.
//
// One X-macro list, SLIPWAY_DRIVER_FUNCTIONS, names every function once. From it come `struct DriverApi` (a function
// pointer an entry), the loader's symbol look-ups, the null driver, the fault driver and the CPU device's table. A test
// that is compiled where a CUDA toolkit is installed compares every declaration here with the real cuda.h.
//
// Everything is an ABI-compatible restatement of the CUDA Driver API reference manual. Handle types are pointers to the
// same (global, incomplete) structs that cuda.h declares, so a program that includes both can hand its own CUstream or
// CUfunction to Slipway without a cast. Members of DriverApi carry no `cu` prefix, because cuda.h defines macros such
// as `cuMemAlloc` that would rename them.
#ifndef SLIPWAY_DRIVER_API_H_
#define SLIPWAY_DRIVER_API_H_

#include <cstddef>
#include <cstdint>

struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
struct CUlinkState_st;
struct CUmemPoolHandle_st;

namespace slipway {

using CUdevice = int;
using CUdeviceptr = unsigned long long;  // NOLINT(google-runtime-int): cuda.h's own type on 64-bit hosts.
using CUcontext = ::CUctx_st*;
using CUmodule = ::CUmod_st*;
using CUfunction = ::CUfunc_st*;
using CUstream = ::CUstream_st*;
using CUevent = ::CUevent_st*;
using CUgraph = ::CUgraph_st*;
using CUgraphNode = ::CUgraphNode_st*;
using CUgraphExec = ::CUgraphExec_st*;
using CUlinkState = ::CUlinkState_st*;
using CUmemoryPool = ::CUmemPoolHandle_st*;
using CUhostFn = void (*)(void* user_data);
using CUoccupancyB2DSize = size_t (*)(int block_size);

struct CUuuid {
  char bytes[16];
};

// Result codes; the numbers are those of CUresult in cuda.h.
enum CUresult : int {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_STUB_LIBRARY = 34,
  CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_UNSUPPORTED_LIMIT = 215,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_INVALID_SOURCE = 300,
  CUDA_ERROR_FILE_NOT_FOUND = 301,
  CUDA_ERROR_OPERATING_SYSTEM = 304,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_ILLEGAL_STATE = 401,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
  CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
  CUDA_ERROR_INVALID_PC = 718,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
  CUDA_ERROR_NOT_PERMITTED = 800,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_SYSTEM_NOT_READY = 802,
  CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
  CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
  CUDA_ERROR_STREAM_CAPTURE_MERGE = 902,
  CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
  CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
  CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
  CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
  CUDA_ERROR_CAPTURED_EVENT = 907,
  CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
  CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,
  CUDA_ERROR_UNKNOWN = 999,
};

// What cuCtxSetLimit sets, of a context.
enum CUlimit : int {
  CU_LIMIT_STACK_SIZE = 0,        // Bytes of a thread.
  CU_LIMIT_PRINTF_FIFO_SIZE = 1,  // Bytes.
  CU_LIMIT_MALLOC_HEAP_SIZE = 2,  // Bytes.
  CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH = 3,
  CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4,
  CU_LIMIT_MAX_L2_FETCH_GRANULARITY = 5,  // Bytes, a hint.
  CU_LIMIT_PERSISTING_L2_CACHE_SIZE = 6,  // Bytes.
  CU_LIMIT_SHMEM_SIZE = 7,
  CU_LIMIT_CIG_ENABLED = 8,
  CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED = 9,
};

// Device attributes; numbers of CUdevice_attribute in cuda.h.
enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
  CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
  CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
  CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
  CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
  CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH = 120,
};

// Function attributes; numbers of CUfunction_attribute in cuda.h.
enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
  CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
  CU_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,  // Percent, or -1: as the driver sees fit.
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
};

// Which of the L1 cache and shared memory, that share their memory, a kernel wants more of; numbers of CUfunc_cache.
enum CUfunc_cache : int {
  CU_FUNC_CACHE_PREFER_NONE = 0,
  CU_FUNC_CACHE_PREFER_SHARED = 1,
  CU_FUNC_CACHE_PREFER_L1 = 2,
  CU_FUNC_CACHE_PREFER_EQUAL = 3,
};

// What LinkAddData is given; numbers of CUjitInputType in cuda.h.
enum CUjitInputType : int {
  CU_JIT_INPUT_CUBIN = 0,
  CU_JIT_INPUT_PTX = 1,
  CU_JIT_INPUT_FATBINARY = 2,
  CU_JIT_INPUT_OBJECT = 3,   // Of the host, with device code in it.
  CU_JIT_INPUT_LIBRARY = 4,  // Of such objects.
};

// Options of ModuleLoadDataEx and LinkCreate; numbers of CUjit_option in cuda.h. Values travel as void*.
enum CUjit_option : int {
  CU_JIT_MAX_REGISTERS = 0,
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  CU_JIT_OPTIMIZATION_LEVEL = 7,
};

enum CUpointer_attribute : int {
  CU_POINTER_ATTRIBUTE_CONTEXT = 1,
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
};

// A pool that memory is allocated from in stream order; numbers and layout of CUmemPoolProps in cuda.h.
enum CUmemAllocationType : int {
  CU_MEM_ALLOCATION_TYPE_PINNED = 1,
};
enum CUmemLocationType : int {
  CU_MEM_LOCATION_TYPE_DEVICE = 1,
};
struct CUmemLocation {
  CUmemLocationType type;
  int id;
};
struct CUmemPoolProps {
  CUmemAllocationType allocType;
  int handleTypes;
  CUmemLocation location;
  void* win32SecurityAttributes;
  size_t maxSize;
  unsigned char reserved[56];
};
enum CUmemPool_attribute : int {
  CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,  // Bytes, uint64.
  CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
  CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
  CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
  CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8,
};

enum CUdriverProcAddressQueryResult : int {
  CU_GET_PROC_ADDRESS_SUCCESS = 0,
  CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
  CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,
};

enum : unsigned {
  CU_STREAM_DEFAULT = 0,
  CU_STREAM_NON_BLOCKING = 1,
  CU_EVENT_DEFAULT = 0,
  CU_EVENT_BLOCKING_SYNC = 1,
  CU_EVENT_DISABLE_TIMING = 2,
  CU_MEM_ATTACH_GLOBAL = 1,
};

// Attributes of a launch through LaunchKernelEx; numbers of CUlaunchAttributeID in cuda.h.
enum CUlaunchAttributeID : int {
  CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
  CU_LAUNCH_ATTRIBUTE_PRIORITY = 8,
};
union CUlaunchAttributeValue {
  char pad[64];
  int cooperative;
  struct {
    unsigned x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
  int priority;
};
struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  char pad[4];
  CUlaunchAttributeValue value;
};
struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};

enum CUstreamCaptureMode : int {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2,
};
enum CUstreamCaptureStatus : int {
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
  CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
};
enum CUgraphNodeType : int {
  CU_GRAPH_NODE_TYPE_KERNEL = 0,
  CU_GRAPH_NODE_TYPE_MEMCPY = 1,
  CU_GRAPH_NODE_TYPE_MEMSET = 2,
  CU_GRAPH_NODE_TYPE_HOST = 3,
  CU_GRAPH_NODE_TYPE_EMPTY = 5,
};
enum CUgraphExecUpdateResult : int {
  CU_GRAPH_EXEC_UPDATE_SUCCESS = 0,
  CU_GRAPH_EXEC_UPDATE_ERROR = 1,
  CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED = 2,
  CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED = 3,
  CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED = 4,
  CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED = 5,
  CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED = 6,
  CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE = 7,
  CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED = 8,
};
// CUgraphExecUpdateResultInfo of CUDA 12 and newer.
struct CUgraphExecUpdateResultInfo {
  CUgraphExecUpdateResult result;
  CUgraphNode errorNode;
  CUgraphNode errorFromNode;
};
// CUDA_KERNEL_NODE_PARAMS_v2.
struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void** kernelParams;
  void** extra;
  void* kern;     // CUkernel, looked at if func is null.
  CUcontext ctx;  // Looked at if func is null.
};

// cuda.h defines these as macros (CU_LAUNCH_PARAM_END and so on, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD).
inline void* const kLaunchParamEnd = nullptr;
inline void* const kLaunchParamBufferPointer = reinterpret_cast<void*>(1);
inline void* const kLaunchParamBufferSize = reinterpret_cast<void*>(2);
// Likewise CU_MEMHOSTALLOC_PORTABLE (pinned for every context), _DEVICEMAP (addressable by kernels) and _WRITECOMBINED
// (fast for the device to read, slow for the host); the first two are CU_MEMHOSTREGISTER_PORTABLE and _DEVICEMAP, too.
inline constexpr unsigned kMemHostPortable = 1;
inline constexpr unsigned kMemHostDeviceMap = 2;
inline constexpr unsigned kMemHostWriteCombined = 4;
inline const CUstream kStreamLegacy = reinterpret_cast<CUstream>(1);
inline const CUstream kStreamPerThread = reinterpret_cast<CUstream>(2);

// X(member, since, need, parameters)
//   member      the function is `cu` + member
//   since       the CUDA version (major * 1000 + minor * 10) whose variant is meant; handed to cuGetProcAddress, where
//               3020 is what the header calls `_v2`
//   need        kRequired: a driver without it is refused; kOptional: the entry stays nullptr
#define SLIPWAY_DRIVER_FUNCTIONS(X)                                                                                  \
  X(Init, 2000, kRequired, (unsigned flags))                                                                         \
  X(DriverGetVersion, 2020, kRequired, (int* version))                                                               \
  X(GetErrorName, 6000, kRequired, (CUresult error, const char** name))                                              \
  X(GetErrorString, 6000, kRequired, (CUresult error, const char** text))                                            \
  X(GetProcAddress, 12000, kOptional,                                                                                \
    (const char* symbol, void** function, int version, uint64_t flags, CUdriverProcAddressQueryResult* status))      \
  X(DeviceGet, 2000, kRequired, (CUdevice * device, int ordinal))                                                    \
  X(DeviceGetCount, 2000, kRequired, (int* count))                                                                   \
  X(DeviceGetName, 2000, kRequired, (char* name, int length, CUdevice device))                                       \
  X(DeviceTotalMem, 3020, kRequired, (size_t * bytes, CUdevice device))                                              \
  X(DeviceGetAttribute, 2000, kRequired, (int* value, CUdevice_attribute attribute, CUdevice device))                \
  X(DeviceCanAccessPeer, 4000, kRequired, (int* can, CUdevice device, CUdevice peer))                                \
  X(DevicePrimaryCtxRetain, 7000, kRequired, (CUcontext * context, CUdevice device))                                 \
  X(DevicePrimaryCtxRelease, 11000, kRequired, (CUdevice device))                                                    \
  X(CtxGetCurrent, 4000, kRequired, (CUcontext * context))                                                           \
  X(CtxSetCurrent, 4000, kRequired, (CUcontext context))                                                             \
  X(CtxPushCurrent, 4000, kRequired, (CUcontext context))                                                            \
  X(CtxPopCurrent, 4000, kRequired, (CUcontext * context))                                                           \
  X(CtxGetDevice, 2000, kRequired, (CUdevice * device))                                                              \
  X(CtxSynchronize, 2000, kRequired, ())                                                                             \
  X(CtxGetStreamPriorityRange, 5050, kRequired, (int* least, int* greatest))                                         \
  X(CtxSetLimit, 3010, kOptional, (CUlimit limit, size_t value))                                                     \
  X(CtxGetLimit, 3010, kOptional, (size_t * value, CUlimit limit))                                                   \
  X(CtxEnablePeerAccess, 4000, kRequired, (CUcontext peer, unsigned flags))                                          \
  X(ModuleLoadDataEx, 2010, kRequired,                                                                               \
    (CUmodule * module, const void* image, unsigned count, CUjit_option* options, void** values))                    \
  X(ModuleUnload, 2000, kRequired, (CUmodule module))                                                                \
  X(ModuleGetFunction, 2000, kRequired, (CUfunction * function, CUmodule module, const char* name))                  \
  X(ModuleGetGlobal, 3020, kRequired, (CUdeviceptr * address, size_t * bytes, CUmodule module, const char* name))    \
  X(ModuleGetFunctionCount, 12040, kOptional, (unsigned* count, CUmodule module))                                    \
  X(ModuleEnumerateFunctions, 12040, kOptional, (CUfunction * functions, unsigned count, CUmodule module))           \
  X(LinkCreate, 6050, kRequired, (unsigned count, CUjit_option* options, void** values, CUlinkState* link))          \
  X(LinkAddData, 6050, kRequired,                                                                                    \
    (CUlinkState link, CUjitInputType type, void* data, size_t bytes, const char* name, unsigned count,              \
     CUjit_option* options, void** values))                                                                          \
  X(LinkComplete, 5050, kRequired, (CUlinkState link, void** image, size_t* bytes))                                  \
  X(LinkDestroy, 5050, kRequired, (CUlinkState link))                                                                \
  X(FuncGetName, 12030, kOptional, (const char** name, CUfunction function))                                         \
  X(FuncGetAttribute, 2020, kRequired, (int* value, CUfunction_attribute attribute, CUfunction function))            \
  X(FuncSetAttribute, 9000, kRequired, (CUfunction function, CUfunction_attribute attribute, int value))             \
  X(FuncSetCacheConfig, 3000, kRequired, (CUfunction function, CUfunc_cache preference))                             \
  X(FuncGetParamInfo, 12040, kOptional, (CUfunction function, size_t index, size_t * offset, size_t * bytes))        \
  X(OccupancyMaxPotentialBlockSize, 6050, kRequired,                                                                 \
    (int* min_grid_size, int* block_size, CUfunction function, CUoccupancyB2DSize shared_bytes_of_block,             \
     size_t dynamic_shared_bytes, int block_size_limit))                                                             \
  X(OccupancyMaxActiveBlocksPerMultiprocessor, 6050, kRequired,                                                      \
    (int* blocks, CUfunction function, int block_size, size_t dynamic_shared_bytes))                                 \
  X(MemGetInfo, 3020, kRequired, (size_t * free, size_t * total))                                                    \
  X(MemAlloc, 3020, kRequired, (CUdeviceptr * address, size_t bytes))                                                \
  X(MemFree, 3020, kRequired, (CUdeviceptr address))                                                                 \
  X(MemAllocAsync, 11020, kOptional, (CUdeviceptr * address, size_t bytes, CUstream stream))                         \
  X(MemFreeAsync, 11020, kOptional, (CUdeviceptr address, CUstream stream))                                          \
  X(MemAllocFromPoolAsync, 11020, kOptional,                                                                         \
    (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream))                                       \
  X(MemPoolCreate, 11020, kOptional, (CUmemoryPool * pool, const CUmemPoolProps* props))                             \
  X(MemPoolDestroy, 11020, kOptional, (CUmemoryPool pool))                                                           \
  X(MemPoolTrimTo, 11020, kOptional, (CUmemoryPool pool, size_t bytes_to_keep))                                      \
  X(MemPoolSetAttribute, 11020, kOptional, (CUmemoryPool pool, CUmemPool_attribute attribute, void* value))          \
  X(MemPoolGetAttribute, 11020, kOptional, (CUmemoryPool pool, CUmemPool_attribute attribute, void* value))          \
  X(MemAllocManaged, 6000, kOptional, (CUdeviceptr * address, size_t bytes, unsigned flags))                         \
  X(MemHostAlloc, 2020, kOptional, (void** address, size_t bytes, unsigned flags))                                   \
  X(MemHostGetDevicePointer, 3020, kOptional, (CUdeviceptr * address, void* host, unsigned flags))                   \
  X(MemHostRegister, 6050, kOptional, (void* host, size_t bytes, unsigned flags))                                    \
  X(MemHostUnregister, 4000, kOptional, (void* host))                                                                \
  X(MemAllocHost, 3020, kRequired, (void** address, size_t bytes))                                                   \
  X(MemFreeHost, 2000, kRequired, (void* address))                                                                   \
  X(MemcpyHtoD, 3020, kRequired, (CUdeviceptr to, const void* from, size_t bytes))                                   \
  X(MemcpyDtoH, 3020, kRequired, (void* to, CUdeviceptr from, size_t bytes))                                         \
  X(MemcpyDtoD, 3020, kRequired, (CUdeviceptr to, CUdeviceptr from, size_t bytes))                                   \
  X(MemcpyHtoDAsync, 3020, kRequired, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream))             \
  X(MemcpyDtoHAsync, 3020, kRequired, (void* to, CUdeviceptr from, size_t bytes, CUstream stream))                   \
  X(MemcpyDtoDAsync, 3020, kRequired, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))             \
  X(MemcpyPeerAsync, 4000, kRequired,                                                                                \
    (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes, CUstream stream)) \
  X(MemsetD8, 3020, kRequired, (CUdeviceptr to, unsigned char value, size_t count))                                  \
  X(MemsetD8Async, 3020, kRequired, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream))            \
  X(MemsetD32, 3020, kRequired, (CUdeviceptr to, unsigned value, size_t count))                                      \
  X(MemsetD32Async, 3020, kRequired, (CUdeviceptr to, unsigned value, size_t count, CUstream stream))                \
  X(PointerGetAttribute, 4000, kRequired, (void* value, CUpointer_attribute attribute, CUdeviceptr address))         \
  X(StreamCreateWithPriority, 5050, kRequired, (CUstream * stream, unsigned flags, int priority))                    \
  X(StreamDestroy, 4000, kRequired, (CUstream stream))                                                               \
  X(StreamGetPriority, 5050, kRequired, (CUstream stream, int* priority))                                            \
  X(StreamGetCtx, 9020, kOptional, (CUstream stream, CUcontext * context))                                           \
  X(StreamSynchronize, 2000, kRequired, (CUstream stream))                                                           \
  X(StreamQuery, 2000, kRequired, (CUstream stream))                                                                 \
  X(StreamWaitEvent, 3020, kRequired, (CUstream stream, CUevent event, unsigned flags))                              \
  X(LaunchHostFunc, 10000, kRequired, (CUstream stream, CUhostFn function, void* user_data))                         \
  X(StreamBeginCapture, 10010, kRequired, (CUstream stream, CUstreamCaptureMode mode))                               \
  X(StreamEndCapture, 10000, kRequired, (CUstream stream, CUgraph * graph))                                          \
  X(StreamIsCapturing, 10000, kRequired, (CUstream stream, CUstreamCaptureStatus * status))                          \
  X(StreamGetCaptureInfo, 11030, kOptional,                                                                          \
    (CUstream stream, CUstreamCaptureStatus * status, uint64_t * id, CUgraph * graph,                                \
     const CUgraphNode** dependencies, size_t* count))                                                               \
  X(ThreadExchangeStreamCaptureMode, 10010, kRequired, (CUstreamCaptureMode * mode))                                 \
  X(EventCreate, 2000, kRequired, (CUevent * event, unsigned flags))                                                 \
  X(EventDestroy, 4000, kRequired, (CUevent event))                                                                  \
  X(EventRecord, 2000, kRequired, (CUevent event, CUstream stream))                                                  \
  X(EventQuery, 2000, kRequired, (CUevent event))                                                                    \
  X(EventSynchronize, 2000, kRequired, (CUevent event))                                                              \
  X(EventElapsedTime, 2000, kRequired, (float* milliseconds, CUevent start, CUevent end))                            \
  X(LaunchKernel, 4000, kRequired,                                                                                   \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,     \
     unsigned block_z, unsigned shared_bytes, CUstream stream, void** params, void** extra))                         \
  X(LaunchKernelEx, 11060, kOptional,                                                                                \
    (const CUlaunchConfig* config, CUfunction function, void** params, void** extra))                                \
  X(GraphDestroy, 10000, kRequired, (CUgraph graph))                                                                 \
  X(GraphGetNodes, 10000, kRequired, (CUgraph graph, CUgraphNode * nodes, size_t * count))                           \
  X(GraphNodeGetType, 10000, kRequired, (CUgraphNode node, CUgraphNodeType * type))                                  \
  X(GraphInstantiateWithFlags, 11040, kOptional, (CUgraphExec * exec, CUgraph graph, unsigned long long flags))      \
  X(GraphExecDestroy, 10000, kRequired, (CUgraphExec exec))                                                          \
  X(GraphLaunch, 10000, kRequired, (CUgraphExec exec, CUstream stream))                                              \
  X(GraphKernelNodeGetParams, 12000, kOptional, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS * params))                \
  X(GraphExecKernelNodeSetParams, 12000, kOptional,                                                                  \
    (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params))                                     \
  X(GraphExecUpdate, 12000, kOptional, (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo * info))

// A driver: one function pointer an entry of the list. Tables are immutable once made and live as long as the process,
// so a `const DriverApi*` may be kept anywhere and read from any thread.
struct DriverApi {
#define SLIPWAY_DECLARE_ENTRY(member, since, need, parameters) CUresult(*member) parameters = nullptr;
  SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_DECLARE_ENTRY)
#undef SLIPWAY_DECLARE_ENTRY

  const char* name = "";  // "cuda", "cpu", "null" or "fault", for messages.
};

}  // namespace slipway

#endif  // SLIPWAY_DRIVER_API_H_
