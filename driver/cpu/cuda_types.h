// What of cuda.h the clients of the CPU device's library (driver/cpu/library) need besides driver_api.h, restated. A
// test that is compiled where a CUDA toolkit is installed compares it with the real cuda.h.
#ifndef SLIPWAY_DRIVER_CPU_CUDA_TYPES_H_
#define SLIPWAY_DRIVER_CPU_CUDA_TYPES_H_

#include <cstddef>
#include <cstdint>

#include "slipway/driver_api.h"

struct CUarray_st;
struct CUkern_st;
struct CUlib_st;
struct CUuserObject_st;

namespace slipway {

using CUarray = ::CUarray_st*;
using CUkernel = ::CUkern_st*;
using CUlibrary = ::CUlib_st*;
using CUuserObject = ::CUuserObject_st*;

inline constexpr CUresult CUDA_ERROR_CONTEXT_ALREADY_CURRENT = static_cast<CUresult>(202);
inline constexpr CUresult CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = static_cast<CUresult>(712);
inline constexpr CUresult CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = static_cast<CUresult>(713);
inline constexpr CUresult CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = static_cast<CUresult>(705);
inline constexpr CUresult CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY = static_cast<CUresult>(224);

inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_GRAPH = static_cast<CUgraphNodeType>(4);
inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_WAIT_EVENT = static_cast<CUgraphNodeType>(6);
inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_EVENT_RECORD = static_cast<CUgraphNodeType>(7);

#define SLIPWAY_CUDA_DEVICE_ATTRIBUTES(X)              \
  X(MAX_PITCH, 11)                                     \
  X(TEXTURE_ALIGNMENT, 14)                             \
  X(GPU_OVERLAP, 15)                                   \
  X(SURFACE_ALIGNMENT, 30)                             \
  X(PCI_DEVICE_ID, 34)                                 \
  X(MEMORY_CLOCK_RATE, 36)                             \
  X(GLOBAL_MEMORY_BUS_WIDTH, 37)                       \
  X(L2_CACHE_SIZE, 38)                                 \
  X(PCI_DOMAIN_ID, 50)                                 \
  X(TEXTURE_PITCH_ALIGNMENT, 51)                       \
  X(GLOBAL_L1_CACHE_SUPPORTED, 79)                     \
  X(LOCAL_L1_CACHE_SUPPORTED, 80)                      \
  X(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 87)         \
  X(PAGEABLE_MEMORY_ACCESS, 88)                        \
  X(CONCURRENT_MANAGED_ACCESS, 89)                     \
  X(COMPUTE_PREEMPTION_SUPPORTED, 90)                  \
  X(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 91)       \
  X(HOST_REGISTER_SUPPORTED, 99)                       \
  X(PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 100) \
  X(DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 101)          \
  X(RESERVED_SHARED_MEMORY_PER_BLOCK, 111)             \
  X(READ_ONLY_HOST_REGISTER_SUPPORTED, 113)            \
  X(NUMA_ID, 131)                                      \
  X(HOST_NUMA_ID, 134)
#define SLIPWAY_CUDA_DEVICE_ATTRIBUTE(name, number) \
  inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_##name = static_cast<CUdevice_attribute>(number);
SLIPWAY_CUDA_DEVICE_ATTRIBUTES(SLIPWAY_CUDA_DEVICE_ATTRIBUTE)
#undef SLIPWAY_CUDA_DEVICE_ATTRIBUTE
// One past the last that cuda.h 13.0 has. What is between and named nowhere is a feature that there is none of: 0.
inline constexpr int kDeviceAttributes = 148;

#define SLIPWAY_CUDA_POINTER_ATTRIBUTES(X) \
  X(HOST_POINTER, 4)                       \
  X(SYNC_MEMOPS, 6)                        \
  X(BUFFER_ID, 7)                          \
  X(IS_MANAGED, 8)                         \
  X(IS_LEGACY_CUDA_IPC_CAPABLE, 10)        \
  X(RANGE_START_ADDR, 11)                  \
  X(RANGE_SIZE, 12)                        \
  X(MAPPED, 13)                            \
  X(ALLOWED_HANDLE_TYPES, 14)              \
  X(IS_GPU_DIRECT_RDMA_CAPABLE, 15)        \
  X(ACCESS_FLAGS, 16)                      \
  X(MEMPOOL_HANDLE, 17)                    \
  X(MAPPING_SIZE, 18)                      \
  X(MAPPING_BASE_ADDR, 19)                 \
  X(MEMORY_BLOCK_ID, 20)                   \
  X(IS_HW_DECOMPRESS_CAPABLE, 21)
#define SLIPWAY_CUDA_POINTER_ATTRIBUTE(name, number) \
  inline constexpr CUpointer_attribute CU_POINTER_ATTRIBUTE_##name = static_cast<CUpointer_attribute>(number);
SLIPWAY_CUDA_POINTER_ATTRIBUTES(SLIPWAY_CUDA_POINTER_ATTRIBUTE)
#undef SLIPWAY_CUDA_POINTER_ATTRIBUTE

enum CUmemorytype : int {
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2,
  CU_MEMORYTYPE_ARRAY = 3,
  CU_MEMORYTYPE_UNIFIED = 4,
};

// Numbers that are passed through, or looked at where they come in.
enum CUexecAffinityType : int {};
enum CUfunctionLoadingState : int {};
enum CUgraphInstantiateResult : int {};
enum CUlibraryOption : int {};
enum CUmem_advise : int {};
enum CUmemAccess_flags : int {};
enum CUmoduleLoadingMode : int {};
enum CUoutput_mode : int {};
enum CUsharedconfig : int {};

enum : unsigned {
  CU_CTX_SCHED_MASK = 0x07,
  CU_CTX_FLAGS_MASK = 0xff,
  CU_MEM_ATTACH_HOST = 0x2,
  CU_MEM_ATTACH_SINGLE = 0x4,
};
inline constexpr CUmemPool_attribute CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES =
    static_cast<CUmemPool_attribute>(1);
inline constexpr CUmemPool_attribute CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC = static_cast<CUmemPool_attribute>(2);
inline constexpr CUmemPool_attribute CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES =
    static_cast<CUmemPool_attribute>(3);
enum : uint64_t {
  CU_GET_PROC_ADDRESS_DEFAULT = 0,
  CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1,
  CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2,
};

// Of cuDeviceGetP2PAttribute.
enum CUdevice_P2PAttribute : int {
  CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK = 1,
  CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED = 2,
  CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED = 3,
  CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED = 4,
  CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED = 5,
};

struct CUdevprop {
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int sharedMemPerBlock;
  int totalConstantMemory;
  int SIMDWidth;
  int memPitch;
  int regsPerBlock;
  int clockRate;
  int textureAlign;
};
struct CUctxCreateParams {
  void* execAffinityParams;
  int numExecAffinityParams;
  void* cigParams;
};

// CUDA_MEMCPY2D_v2 and CUDA_MEMCPY3D_v2.
struct CUDA_MEMCPY2D {
  size_t srcXInBytes;
  size_t srcY;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  size_t srcPitch;
  size_t dstXInBytes;
  size_t dstY;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  size_t dstPitch;
  size_t WidthInBytes;
  size_t Height;
};
struct CUDA_MEMCPY3D {
  size_t srcXInBytes;
  size_t srcY;
  size_t srcZ;
  size_t srcLOD;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  void* reserved0;
  size_t srcPitch;
  size_t srcHeight;
  size_t dstXInBytes;
  size_t dstY;
  size_t dstZ;
  size_t dstLOD;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  void* reserved1;
  size_t dstPitch;
  size_t dstHeight;
  size_t WidthInBytes;
  size_t Height;
  size_t Depth;
};
// CUDA_KERNEL_NODE_PARAMS of CUDA 10 and 11: the beginning of that of today.
struct CUDA_KERNEL_NODE_PARAMS_v1 {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void** kernelParams;
  void** extra;
};
struct CUDA_MEMSET_NODE_PARAMS {
  CUdeviceptr dst;
  size_t pitch;
  unsigned value;
  unsigned elementSize;
  size_t width;
  size_t height;
};
struct CUDA_HOST_NODE_PARAMS {
  CUhostFn fn;
  void* userData;
};
struct CUDA_MEMCPY_NODE_PARAMS {
  int flags;
  int reserved;
  CUcontext copyCtx;
  CUDA_MEMCPY3D copyParams;
};
// What cuGraphAddNode and its kin take; the rest of the union is for nodes that are not supported.
struct CUgraphNodeParams {
  CUgraphNodeType type;
  int reserved0[3];
  union {
    long long reserved1[29];  // NOLINT(google-runtime-int)
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMCPY_NODE_PARAMS memcpy;
    struct {
      CUDA_MEMSET_NODE_PARAMS params;
      CUcontext ctx;
    } memset;
    CUDA_HOST_NODE_PARAMS host;
    struct {
      CUgraph graph;
      int ownership;
    } graph;
    struct {
      CUevent event;
    } event;
  };
  long long reserved2;  // NOLINT(google-runtime-int)
};
struct CUgraphEdgeData {
  unsigned char from_port;
  unsigned char to_port;
  unsigned char type;
  unsigned char reserved[5];
};
struct CUDA_GRAPH_INSTANTIATE_PARAMS {
  uint64_t flags;
  CUstream hUploadStream;
  CUgraphNode hErrNode_out;
  CUgraphInstantiateResult result_out;
};
struct CUmemAccessDesc {
  CUmemLocation location;
  CUmemAccess_flags flags;
};

}  // namespace slipway

#endif  // SLIPWAY_DRIVER_CPU_CUDA_TYPES_H_
