// Compares driver_api.h with the toolkit's own headers. Built only where those are installed; nearly all of it is
// decided by the compiler.
#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

#include "driver/loader.h"
#include "gtest/gtest.h"
#include "slipway/driver_api.h"
#include "tests/driver/same_abi.h"

namespace slipway {
namespace {

static_assert(!SameAbi<int*, float*>::kValue && !SameAbi<int*, const int*>::kValue && !SameAbi<int, unsigned>::kValue);
static_assert(!SameAbi<void(int), void(int, int)>::kValue && !SameAbi<CUresult, int>::kValue);

// cudaTypedefs.h has a type for each variant of each function, named after the CUDA version that brought it: this
// checks the version in our list as well as the parameters.
#define SLIPWAY_CHECK_DECLARATION(member, since, need, parameters)                       \
  static_assert(SameAbi<decltype(DriverApi::member), PFN_cu##member##_v##since>::kValue, \
                "cu" #member " is declared otherwise in the toolkit's headers");
SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_CHECK_DECLARATION)
#undef SLIPWAY_CHECK_DECLARATION

// Handles are the very types of cuda.h, so that a program's own go through without a cast.
static_assert(std::is_same_v<slipway::CUstream, ::CUstream> && std::is_same_v<slipway::CUevent, ::CUevent>);
static_assert(std::is_same_v<slipway::CUmodule, ::CUmodule> && std::is_same_v<slipway::CUfunction, ::CUfunction>);
static_assert(std::is_same_v<slipway::CUlinkState, ::CUlinkState>);
static_assert(std::is_same_v<slipway::CUmemoryPool, ::CUmemoryPool>);
static_assert(std::is_same_v<slipway::CUcontext, ::CUcontext>);
static_assert(std::is_same_v<slipway::CUdevice, ::CUdevice> && std::is_same_v<slipway::CUdeviceptr, ::CUdeviceptr>);
static_assert(std::is_same_v<slipway::CUhostFn, ::CUhostFn>);
static_assert(std::is_same_v<slipway::CUoccupancyB2DSize, ::CUoccupancyB2DSize>);
static_assert(sizeof(slipway::CUuuid) == sizeof(::CUuuid));
static_assert(std::is_same_v<slipway::CUgraph, ::CUgraph> && std::is_same_v<slipway::CUgraphNode, ::CUgraphNode>);
static_assert(std::is_same_v<slipway::CUgraphExec, ::CUgraphExec>);

#define SAME_FIELD(type, field)                                              \
  static_assert(offsetof(slipway::type, field) == offsetof(::type, field) && \
                sizeof(slipway::type::field) == sizeof(::type::field));
SAME_FIELD(CUlaunchAttribute, id)
SAME_FIELD(CUlaunchAttribute, value)
SAME_FIELD(CUlaunchAttributeValue, cooperative)
SAME_FIELD(CUlaunchAttributeValue, clusterDim)
SAME_FIELD(CUlaunchAttributeValue, programmaticStreamSerializationAllowed)
SAME_FIELD(CUlaunchAttributeValue, priority)
SAME_FIELD(CUlaunchConfig, gridDimX)
SAME_FIELD(CUlaunchConfig, gridDimY)
SAME_FIELD(CUlaunchConfig, gridDimZ)
SAME_FIELD(CUlaunchConfig, blockDimX)
SAME_FIELD(CUlaunchConfig, blockDimY)
SAME_FIELD(CUlaunchConfig, blockDimZ)
SAME_FIELD(CUlaunchConfig, sharedMemBytes)
SAME_FIELD(CUlaunchConfig, hStream)
SAME_FIELD(CUlaunchConfig, attrs)
SAME_FIELD(CUlaunchConfig, numAttrs)
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, func)
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, gridDimX)
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, blockDimX)
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, blockDimZ)
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes)
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, kernelParams)
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, extra)
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, kern)
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, ctx)
SAME_FIELD(CUgraphExecUpdateResultInfo, result)
SAME_FIELD(CUgraphExecUpdateResultInfo, errorNode)
SAME_FIELD(CUgraphExecUpdateResultInfo, errorFromNode)
SAME_FIELD(CUmemLocation, type)
SAME_FIELD(CUmemLocation, id)
SAME_FIELD(CUmemPoolProps, allocType)
SAME_FIELD(CUmemPoolProps, handleTypes)
SAME_FIELD(CUmemPoolProps, location)
SAME_FIELD(CUmemPoolProps, win32SecurityAttributes)
static_assert(sizeof(slipway::CUmemPoolProps) == sizeof(::CUmemPoolProps));
#undef SAME_FIELD

// One function an enumeration, with a case for each of our enumerators that compares its number. -Wswitch as an error
// makes the list complete: an enumerator of ours that is not compared does not compile.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
#define SAME(name)                                                              \
  case slipway::name:                                                           \
    static_assert(static_cast<int>(slipway::name) == static_cast<int>(::name)); \
    break;
[[maybe_unused]] constexpr void Compare(slipway::CUresult value) {
  switch (value) {
    SAME(CUDA_SUCCESS)
    SAME(CUDA_ERROR_INVALID_VALUE)
    SAME(CUDA_ERROR_OUT_OF_MEMORY)
    SAME(CUDA_ERROR_NOT_INITIALIZED)
    SAME(CUDA_ERROR_DEINITIALIZED)
    SAME(CUDA_ERROR_STUB_LIBRARY)
    SAME(CUDA_ERROR_DEVICE_UNAVAILABLE)
    SAME(CUDA_ERROR_NO_DEVICE)
    SAME(CUDA_ERROR_INVALID_DEVICE)
    SAME(CUDA_ERROR_INVALID_IMAGE)
    SAME(CUDA_ERROR_INVALID_CONTEXT)
    SAME(CUDA_ERROR_NO_BINARY_FOR_GPU)
    SAME(CUDA_ERROR_ECC_UNCORRECTABLE)
    SAME(CUDA_ERROR_UNSUPPORTED_LIMIT)
    SAME(CUDA_ERROR_INVALID_PTX)
    SAME(CUDA_ERROR_JIT_COMPILER_NOT_FOUND)
    SAME(CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
    SAME(CUDA_ERROR_INVALID_SOURCE)
    SAME(CUDA_ERROR_FILE_NOT_FOUND)
    SAME(CUDA_ERROR_OPERATING_SYSTEM)
    SAME(CUDA_ERROR_INVALID_HANDLE)
    SAME(CUDA_ERROR_ILLEGAL_STATE)
    SAME(CUDA_ERROR_NOT_FOUND)
    SAME(CUDA_ERROR_NOT_READY)
    SAME(CUDA_ERROR_ILLEGAL_ADDRESS)
    SAME(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
    SAME(CUDA_ERROR_LAUNCH_TIMEOUT)
    SAME(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
    SAME(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE)
    SAME(CUDA_ERROR_CONTEXT_IS_DESTROYED)
    SAME(CUDA_ERROR_ASSERT)
    SAME(CUDA_ERROR_HARDWARE_STACK_ERROR)
    SAME(CUDA_ERROR_ILLEGAL_INSTRUCTION)
    SAME(CUDA_ERROR_MISALIGNED_ADDRESS)
    SAME(CUDA_ERROR_INVALID_ADDRESS_SPACE)
    SAME(CUDA_ERROR_INVALID_PC)
    SAME(CUDA_ERROR_LAUNCH_FAILED)
    SAME(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)
    SAME(CUDA_ERROR_NOT_PERMITTED)
    SAME(CUDA_ERROR_NOT_SUPPORTED)
    SAME(CUDA_ERROR_SYSTEM_NOT_READY)
    SAME(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)
    SAME(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE)
    SAME(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    SAME(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
    SAME(CUDA_ERROR_STREAM_CAPTURE_MERGE)
    SAME(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)
    SAME(CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
    SAME(CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
    SAME(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    SAME(CUDA_ERROR_CAPTURED_EVENT)
    SAME(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
    SAME(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
    SAME(CUDA_ERROR_UNKNOWN)
  }
}
[[maybe_unused]] constexpr void Compare(slipway::CUlimit value) {
  switch (value) {
    SAME(CU_LIMIT_STACK_SIZE)
    SAME(CU_LIMIT_PRINTF_FIFO_SIZE)
    SAME(CU_LIMIT_MALLOC_HEAP_SIZE)
    SAME(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH)
    SAME(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT)
    SAME(CU_LIMIT_MAX_L2_FETCH_GRANULARITY)
    SAME(CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
    SAME(CU_LIMIT_SHMEM_SIZE)
    SAME(CU_LIMIT_CIG_ENABLED)
    SAME(CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED)
  }
}
[[maybe_unused]] constexpr void Compare(slipway::CUdevice_attribute value) {
  switch (value) {
    SAME(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
    SAME(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)
    SAME(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)
    SAME(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)
    SAME(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)
    SAME(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)
    SAME(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)
    SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)
    SAME(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY)
    SAME(CU_DEVICE_ATTRIBUTE_WARP_SIZE)
    SAME(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)
    SAME(CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
    SAME(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
    SAME(CU_DEVICE_ATTRIBUTE_INTEGRATED)
    SAME(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY)
    SAME(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS)
    SAME(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)
    SAME(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)
    SAME(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT)
    SAME(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)
    SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
    SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
    SAME(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED)
    SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)
    SAME(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)
    SAME(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)
    SAME(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)
    SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
    SAME(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)
    SAME(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)
    SAME(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH)
  }
}
[[maybe_unused]] constexpr void Compare(slipway::CUfunction_attribute value) {
  switch (value) {
    SAME(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
    SAME(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
    SAME(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)
    SAME(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
    SAME(CU_FUNC_ATTRIBUTE_NUM_REGS)
    SAME(CU_FUNC_ATTRIBUTE_PTX_VERSION)
    SAME(CU_FUNC_ATTRIBUTE_BINARY_VERSION)
    SAME(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA)
    SAME(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    SAME(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
    SAME(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
  }
}
[[maybe_unused]] constexpr void Compare(slipway::CUfunc_cache value) {
  switch (value) {
    SAME(CU_FUNC_CACHE_PREFER_NONE)
    SAME(CU_FUNC_CACHE_PREFER_SHARED)
    SAME(CU_FUNC_CACHE_PREFER_L1)
    SAME(CU_FUNC_CACHE_PREFER_EQUAL)
  }
}
[[maybe_unused]] constexpr void Compare(slipway::CUjitInputType value) {
  switch (value) {
    SAME(CU_JIT_INPUT_CUBIN)
    SAME(CU_JIT_INPUT_PTX)
    SAME(CU_JIT_INPUT_FATBINARY)
    SAME(CU_JIT_INPUT_OBJECT)
    SAME(CU_JIT_INPUT_LIBRARY)
  }
}
[[maybe_unused]] constexpr void Compare(slipway::CUjit_option value) {
  switch (value) {
    SAME(CU_JIT_MAX_REGISTERS)
    SAME(CU_JIT_INFO_LOG_BUFFER)
    SAME(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
    SAME(CU_JIT_ERROR_LOG_BUFFER)
    SAME(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
    SAME(CU_JIT_OPTIMIZATION_LEVEL)
  }
}
[[maybe_unused]] constexpr void Compare(slipway::CUpointer_attribute value) {
  switch (value) {
    SAME(CU_POINTER_ATTRIBUTE_CONTEXT)
    SAME(CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    SAME(CU_POINTER_ATTRIBUTE_DEVICE_POINTER)
    SAME(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
  }
}
[[maybe_unused]] constexpr void Compare(slipway::CUmemPool_attribute value) {
  switch (value) {
    SAME(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    SAME(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
    SAME(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
    SAME(CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
    SAME(CU_MEMPOOL_ATTR_USED_MEM_HIGH)
  }
}
static_assert(static_cast<int>(slipway::CU_MEM_ALLOCATION_TYPE_PINNED) == ::CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(static_cast<int>(slipway::CU_MEM_LOCATION_TYPE_DEVICE) == ::CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(slipway::CU_MEM_ATTACH_GLOBAL == static_cast<unsigned>(::CU_MEM_ATTACH_GLOBAL));
static_assert(slipway::kMemHostPortable == CU_MEMHOSTALLOC_PORTABLE &&
              slipway::kMemHostPortable == CU_MEMHOSTREGISTER_PORTABLE);
static_assert(slipway::kMemHostDeviceMap == CU_MEMHOSTALLOC_DEVICEMAP &&
              slipway::kMemHostDeviceMap == CU_MEMHOSTREGISTER_DEVICEMAP);
static_assert(slipway::kMemHostWriteCombined == CU_MEMHOSTALLOC_WRITECOMBINED);
[[maybe_unused]] constexpr void Compare(slipway::CUdriverProcAddressQueryResult value) {
  switch (value) {
    SAME(CU_GET_PROC_ADDRESS_SUCCESS)
    SAME(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND)
    SAME(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT)
  }
}
[[maybe_unused]] constexpr void Compare(slipway::CUlaunchAttributeID value) {
  switch (value) {
    SAME(CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
    SAME(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
    SAME(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
    SAME(CU_LAUNCH_ATTRIBUTE_PRIORITY)
  }
}
[[maybe_unused]] constexpr void Compare(slipway::CUstreamCaptureMode value) {
  switch (value) {
    SAME(CU_STREAM_CAPTURE_MODE_GLOBAL)
    SAME(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
    SAME(CU_STREAM_CAPTURE_MODE_RELAXED)
  }
}
[[maybe_unused]] constexpr void Compare(slipway::CUstreamCaptureStatus value) {
  switch (value) {
    SAME(CU_STREAM_CAPTURE_STATUS_NONE)
    SAME(CU_STREAM_CAPTURE_STATUS_ACTIVE)
    SAME(CU_STREAM_CAPTURE_STATUS_INVALIDATED)
  }
}
[[maybe_unused]] constexpr void Compare(slipway::CUgraphNodeType value) {
  switch (value) {
    SAME(CU_GRAPH_NODE_TYPE_KERNEL)
    SAME(CU_GRAPH_NODE_TYPE_MEMCPY)
    SAME(CU_GRAPH_NODE_TYPE_MEMSET)
    SAME(CU_GRAPH_NODE_TYPE_HOST)
    SAME(CU_GRAPH_NODE_TYPE_EMPTY)
  }
}
[[maybe_unused]] constexpr void Compare(slipway::CUgraphExecUpdateResult value) {
  switch (value) {
    SAME(CU_GRAPH_EXEC_UPDATE_SUCCESS)
    SAME(CU_GRAPH_EXEC_UPDATE_ERROR)
    SAME(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED)
    SAME(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED)
    SAME(CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED)
    SAME(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED)
    SAME(CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED)
    SAME(CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE)
    SAME(CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED)
  }
}
#undef SAME
#pragma GCC diagnostic pop

static_assert(slipway::CU_STREAM_DEFAULT == static_cast<unsigned>(::CU_STREAM_DEFAULT));
static_assert(slipway::CU_STREAM_NON_BLOCKING == static_cast<unsigned>(::CU_STREAM_NON_BLOCKING));
static_assert(slipway::CU_EVENT_DEFAULT == static_cast<unsigned>(::CU_EVENT_DEFAULT));
static_assert(slipway::CU_EVENT_BLOCKING_SYNC == static_cast<unsigned>(::CU_EVENT_BLOCKING_SYNC));
static_assert(slipway::CU_EVENT_DISABLE_TIMING == static_cast<unsigned>(::CU_EVENT_DISABLE_TIMING));

// What cuda.h defines as casts in macros can be compared only when the program runs.
TEST(CudaHeaderTest, LaunchAndStreamMacros) {
  EXPECT_EQ(kLaunchParamEnd, CU_LAUNCH_PARAM_END);
  EXPECT_EQ(kLaunchParamBufferPointer, CU_LAUNCH_PARAM_BUFFER_POINTER);
  EXPECT_EQ(kLaunchParamBufferSize, CU_LAUNCH_PARAM_BUFFER_SIZE);
  EXPECT_EQ(kStreamLegacy, CU_STREAM_LEGACY);
  EXPECT_EQ(kStreamPerThread, CU_STREAM_PER_THREAD);
}

// cuda.h names the exported variant by macros such as `#define cuMemAlloc cuMemAlloc_v2`.
TEST(CudaHeaderTest, ExportedNames) {
#define SLIPWAY_TEXT_OF(expanded) #expanded
#define SLIPWAY_EXPANDED_TEXT(name) SLIPWAY_TEXT_OF(name)
#define SLIPWAY_CHECK_NAME(member, since, need, parameters)                                                 \
  /* A later variant has become the header's; ours is an earlier one. */                                    \
  if (std::strcmp(#member, "EventElapsedTime") != 0 && std::strcmp(#member, "StreamGetCaptureInfo") != 0) { \
    EXPECT_EQ(ExportedName(#member), SLIPWAY_EXPANDED_TEXT(cu##member));                                    \
  }
  SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_CHECK_NAME)
#undef SLIPWAY_CHECK_NAME
}

}  // namespace
}  // namespace slipway
