// Compares what the CPU device's library exports with the toolkit's headers: parameters and versions of every function
// that is there, versions of those that are not, and the types that it restates. Nearly all of it is decided by the
// compiler.

// Before cuda.h, which has macros of some of the names.
#include "driver/cpu/cuda_library/client.h"

#define __CUDA_API_VERSION_INTERNAL 1  // Older variants, too.
#include <cuda.h>
#include <cudaProfiler.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#include <cstddef>

#include "gtest/gtest.h"
#include "tests/driver/same_abi.h"

namespace slipway::cpu {
namespace {

#define X(symbol, variant, since, function)                                              \
  static_assert(SameAbi<decltype(&client::function), PFN_cu##symbol##_v##since>::kValue, \
                "cu" #symbol #variant " is declared otherwise in the toolkit's headers");
#define P(symbol, variant, kind, since, function)                                              \
  static_assert(SameAbi<decltype(&client::function), PFN_cu##symbol##_v##since##kind>::kValue, \
                "cu" #symbol #variant #kind " is declared otherwise in the toolkit's headers");
#define N(symbol, variant, since) static_assert(sizeof(PFN_cu##symbol##_v##since) != 0);
#define M(symbol, variant, kind, since) static_assert(sizeof(PFN_cu##symbol##_v##since##kind) != 0);
#include "driver/cpu/cuda_library/exports.inc"
#undef X
#undef P
#undef N
#undef M

#define SAME(name) static_assert(static_cast<int>(slipway::name) == static_cast<int>(::name));
#define ATTRIBUTE(name, number) SAME(CU_DEVICE_ATTRIBUTE_##name)
SLIPWAY_CUDA_DEVICE_ATTRIBUTES(ATTRIBUTE)
#undef ATTRIBUTE
#define ATTRIBUTE(name, number) SAME(CU_POINTER_ATTRIBUTE_##name)
SLIPWAY_CUDA_POINTER_ATTRIBUTES(ATTRIBUTE)
#undef ATTRIBUTE
SAME(CUDA_ERROR_CONTEXT_ALREADY_CURRENT)
SAME(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
SAME(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
SAME(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED)
SAME(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY)
SAME(CU_MEMORYTYPE_HOST)
SAME(CU_MEMORYTYPE_DEVICE)
SAME(CU_MEMORYTYPE_ARRAY)
SAME(CU_MEMORYTYPE_UNIFIED)
SAME(CU_CTX_SCHED_MASK)
SAME(CU_CTX_FLAGS_MASK)
SAME(CU_MEM_ATTACH_HOST)
SAME(CU_MEM_ATTACH_SINGLE)
SAME(CU_GET_PROC_ADDRESS_DEFAULT)
SAME(CU_GET_PROC_ADDRESS_LEGACY_STREAM)
SAME(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
SAME(CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK)
SAME(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED)
SAME(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED)
SAME(CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED)
SAME(CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED)
SAME(CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES)
SAME(CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC)
SAME(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES)
SAME(CU_GRAPH_NODE_TYPE_GRAPH)
SAME(CU_GRAPH_NODE_TYPE_WAIT_EVENT)
SAME(CU_GRAPH_NODE_TYPE_EVENT_RECORD)
#undef SAME
static_assert(kDeviceAttributes >= ::CU_DEVICE_ATTRIBUTE_MAX);

#define SAME_FIELD(ours, theirs, field) \
  static_assert(offsetof(ours, field) == offsetof(theirs, field) && sizeof(ours::field) == sizeof(theirs::field));
#define SAME_2D(field) SAME_FIELD(slipway::CUDA_MEMCPY2D, ::CUDA_MEMCPY2D_v2, field)
SAME_2D(srcXInBytes)
SAME_2D(srcY)
SAME_2D(srcMemoryType)
SAME_2D(srcHost)
SAME_2D(srcDevice)
SAME_2D(srcArray)
SAME_2D(srcPitch)
SAME_2D(dstXInBytes)
SAME_2D(dstY)
SAME_2D(dstMemoryType)
SAME_2D(dstHost)
SAME_2D(dstDevice)
SAME_2D(dstArray)
SAME_2D(dstPitch)
SAME_2D(WidthInBytes)
SAME_2D(Height)
#define SAME_3D(field) SAME_FIELD(slipway::CUDA_MEMCPY3D, ::CUDA_MEMCPY3D_v2, field)
SAME_3D(srcXInBytes)
SAME_3D(srcZ)
SAME_3D(srcLOD)
SAME_3D(srcMemoryType)
SAME_3D(srcHost)
SAME_3D(srcDevice)
SAME_3D(srcPitch)
SAME_3D(srcHeight)
SAME_3D(dstXInBytes)
SAME_3D(dstZ)
SAME_3D(dstLOD)
SAME_3D(dstMemoryType)
SAME_3D(dstHost)
SAME_3D(dstDevice)
SAME_3D(dstPitch)
SAME_3D(dstHeight)
SAME_3D(WidthInBytes)
SAME_3D(Height)
SAME_3D(Depth)
#define SAME_FILL(field) SAME_FIELD(slipway::CUDA_MEMSET_NODE_PARAMS, ::CUDA_MEMSET_NODE_PARAMS_v1, field)
SAME_FILL(dst)
SAME_FILL(pitch)
SAME_FILL(value)
SAME_FILL(elementSize)
SAME_FILL(width)
SAME_FILL(height)
SAME_FIELD(slipway::CUDA_HOST_NODE_PARAMS, ::CUDA_HOST_NODE_PARAMS_v1, fn)
SAME_FIELD(slipway::CUDA_HOST_NODE_PARAMS, ::CUDA_HOST_NODE_PARAMS_v1, userData)
SAME_FIELD(slipway::CUDA_MEMCPY_NODE_PARAMS, ::CUDA_MEMCPY_NODE_PARAMS, copyCtx)
SAME_FIELD(slipway::CUDA_MEMCPY_NODE_PARAMS, ::CUDA_MEMCPY_NODE_PARAMS, copyParams)
#define SAME_NODE(field) SAME_FIELD(slipway::CUgraphNodeParams, ::CUgraphNodeParams, field)
SAME_NODE(type)
SAME_NODE(kernel)
SAME_NODE(memcpy)
SAME_NODE(memset)
SAME_NODE(host)
SAME_NODE(graph)
SAME_NODE(reserved2)
static_assert(offsetof(slipway::CUgraphNodeParams, memset.ctx) == offsetof(::CUgraphNodeParams, memset.ctx));
static_assert(offsetof(slipway::CUgraphNodeParams, graph.ownership) == offsetof(::CUgraphNodeParams, graph.ownership));
static_assert(offsetof(slipway::CUgraphNodeParams, event) == offsetof(::CUgraphNodeParams, eventRecord));
static_assert(offsetof(slipway::CUgraphNodeParams, event) == offsetof(::CUgraphNodeParams, eventWait));
#define SAME_PROPERTY(field) SAME_FIELD(slipway::CUdevprop, ::CUdevprop_v1, field)
SAME_PROPERTY(maxThreadsPerBlock)
SAME_PROPERTY(maxThreadsDim)
SAME_PROPERTY(maxGridSize)
SAME_PROPERTY(sharedMemPerBlock)
SAME_PROPERTY(totalConstantMemory)
SAME_PROPERTY(SIMDWidth)
SAME_PROPERTY(memPitch)
SAME_PROPERTY(regsPerBlock)
SAME_PROPERTY(clockRate)
SAME_PROPERTY(textureAlign)
SAME_FIELD(slipway::CUctxCreateParams, ::CUctxCreateParams, execAffinityParams)
SAME_FIELD(slipway::CUctxCreateParams, ::CUctxCreateParams, numExecAffinityParams)
SAME_FIELD(slipway::CUctxCreateParams, ::CUctxCreateParams, cigParams)
SAME_FIELD(slipway::CUDA_GRAPH_INSTANTIATE_PARAMS, ::CUDA_GRAPH_INSTANTIATE_PARAMS, flags)
SAME_FIELD(slipway::CUDA_GRAPH_INSTANTIATE_PARAMS, ::CUDA_GRAPH_INSTANTIATE_PARAMS, hUploadStream)
SAME_FIELD(slipway::CUDA_GRAPH_INSTANTIATE_PARAMS, ::CUDA_GRAPH_INSTANTIATE_PARAMS, hErrNode_out)
SAME_FIELD(slipway::CUDA_GRAPH_INSTANTIATE_PARAMS, ::CUDA_GRAPH_INSTANTIATE_PARAMS, result_out)
static_assert(sizeof(slipway::CUDA_KERNEL_NODE_PARAMS_v1) == sizeof(::CUDA_KERNEL_NODE_PARAMS_v1));
static_assert(sizeof(slipway::CUgraphEdgeData) == sizeof(::CUgraphEdgeData));
static_assert(sizeof(slipway::CUmemAccessDesc) == sizeof(::CUmemAccessDesc));

TEST(CudaLibraryH, IsDecidedByTheCompiler) {}

}  // namespace
}  // namespace slipway::cpu
