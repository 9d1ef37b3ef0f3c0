// What the CPU device's library (libcuda.so.1) exports beyond the driver table: functions that Slipway itself has no
// use for. Their contracts are the CUDA Driver API's. exports.inc says under which names, and which of the table's.
//   client_device.cc   Device*, Profiler*, GetExportTable, GetProcAddress is exports.cc's
//   client_context.cc  Ctx*, DevicePrimaryCtx*
//   client_module.cc   Module*, Library*, Kernel*, Link*, Func*, Occupancy*
//   client_memory.cc   Mem*, Memcpy*, Memset*, Pointer*
//   client_pool.cc     MemPool* and the pools of devices
//   client_stream.cc   Stream*, Event*, LaunchCooperativeKernel
//   client_steps.cc    FuncSetBlockShape, ParamSet*, Launch, LaunchGrid*
//   client_graph.cc    Graph*, UserObject*: graphs as a whole
//   client_nodes.cc    GraphAdd*Node, Graph*Node*: what nodes do
//   client_exec_nodes.cc  GraphExec*Node*, GraphNode*Enabled
#ifndef SLIPWAY_DRIVER_CPU_CUDA_LIBRARY_CLIENT_H_
#define SLIPWAY_DRIVER_CPU_CUDA_LIBRARY_CLIENT_H_

#include "driver/cpu/api.h"
#include "driver/cpu/cuda_types.h"
#include "driver/cpu/op.h"

namespace slipway::cpu::client {

using namespace api;  // NOLINT(google-build-using-namespace): exports.inc names functions of both.

CUresult NotSupported();

// CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE to CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE.
constexpr bool IsBankSize(CUsharedconfig bank_size) { return bank_size >= 0 && bank_size <= 2; }

// Devices.
CUresult DeviceComputeCapability(int* major, int* minor, CUdevice device);
CUresult DeviceGetProperties(CUdevprop* properties, CUdevice device);
CUresult DeviceGetUuid(CUuuid* uuid, CUdevice device);
CUresult DeviceGetPCIBusId(char* text, int length, CUdevice device);
CUresult DeviceGetByPCIBusId(CUdevice* device, const char* text);
CUresult DeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to);
CUresult DeviceGetExecAffinitySupport(int* supported, CUexecAffinityType type, CUdevice device);
CUresult ProfilerInitialize(const char* config, const char* output, CUoutput_mode mode);
CUresult ProfilerStart();
CUresult ProfilerStop();
CUresult GetExportTable(const void** table, const CUuuid* id);

// Contexts.
CUresult DevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active);
CUresult DevicePrimaryCtxSetFlags(CUdevice device, unsigned flags);
CUresult DevicePrimaryCtxReset(CUdevice device);
CUresult CtxCreate(CUcontext* context, unsigned flags, CUdevice device);
CUresult CtxCreate_v3(CUcontext* context, void* affinities, int count, unsigned flags, CUdevice device);
CUresult CtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned flags, CUdevice device);
CUresult CtxDestroy(CUcontext context);
CUresult CtxAttach(CUcontext* context, unsigned flags);
CUresult CtxDetach(CUcontext context);
CUresult CtxGetFlags(unsigned* flags);
CUresult CtxSetFlags(unsigned flags);
CUresult CtxGetId(CUcontext context, unsigned long long* id);  // NOLINT(google-runtime-int)
CUresult CtxGetApiVersion(CUcontext context, unsigned* version);
CUresult CtxGetCacheConfig(CUfunc_cache* preference);
CUresult CtxSetCacheConfig(CUfunc_cache preference);
CUresult CtxGetSharedMemConfig(CUsharedconfig* bank_size);
CUresult CtxSetSharedMemConfig(CUsharedconfig bank_size);
CUresult CtxResetPersistingL2Cache();
CUresult CtxDisablePeerAccess(CUcontext peer);
CUresult CtxGetDevice_v2(CUdevice* device, CUcontext context);
CUresult CtxSynchronize_v2(CUcontext context);

// Modules and libraries.
CUresult ModuleLoad(CUmodule* module, const char* file);
CUresult ModuleLoadData(CUmodule* module, const void* image);
CUresult ModuleLoadFatBinary(CUmodule* module, const void* image);
CUresult ModuleGetLoadingMode(CUmoduleLoadingMode* mode);
CUresult ModuleGetTexRef(void** reference, CUmodule module, const char* name);
CUresult FuncGetModule(CUmodule* module, CUfunction function);
CUresult FuncIsLoaded(CUfunctionLoadingState* state, CUfunction function);
CUresult FuncLoad(CUfunction function);
CUresult FuncSetSharedMemConfig(CUfunction function, CUsharedconfig bank_size);
CUresult LibraryLoadData(CUlibrary* library, const void* code, CUjit_option* options, void** values, unsigned count,
                         CUlibraryOption* library_options, void** library_values, unsigned library_count);
CUresult LibraryLoadFromFile(CUlibrary* library, const char* file, CUjit_option* options, void** values, unsigned count,
                             CUlibraryOption* library_options, void** library_values, unsigned library_count);
CUresult LibraryUnload(CUlibrary library);
CUresult LibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name);
CUresult LibraryGetKernelCount(unsigned* count, CUlibrary library);
CUresult LibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library);
CUresult LibraryGetModule(CUmodule* module, CUlibrary library);
CUresult LibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name);
CUresult LibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name);
CUresult KernelGetFunction(CUfunction* function, CUkernel kernel);
CUresult KernelGetLibrary(CUlibrary* library, CUkernel kernel);
CUresult KernelGetName(const char** name, CUkernel kernel);
CUresult KernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device);
CUresult KernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device);
CUresult KernelSetCacheConfig(CUkernel kernel, CUfunc_cache preference, CUdevice device);
CUresult KernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes);
CUresult LinkAddFile(CUlinkState link, CUjitInputType type, const char* file, unsigned count, CUjit_option* options,
                     void** values);
CUresult OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int block_size,
                                                            size_t dynamic_shared_bytes, unsigned flags);
CUresult OccupancyMaxPotentialBlockSizeWithFlags(int* min_grid_size, int* block_size, CUfunction function,
                                                 CUoccupancyB2DSize shared_bytes_of_block, size_t dynamic_shared_bytes,
                                                 int block_size_limit, unsigned flags);
CUresult OccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function, int blocks, int block_size);

// Memory.
CUresult MemAllocPitch(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned element_bytes);
CUresult MemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr address);
CUresult MemHostRegister(void* address, size_t bytes, unsigned flags);
CUresult MemHostGetFlags(unsigned* flags, void* host);
CUresult MemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device);
CUresult MemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location);
CUresult MemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream);
CUresult MemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags,
                             CUstream stream);
// Pools. Those of the driver table are not supported: Slipway keeps pools of its own on this device.
CUresult DeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device);
CUresult DeviceGetMemPool(CUmemoryPool* pool, CUdevice device);
CUresult DeviceSetMemPool(CUdevice device, CUmemoryPool pool);
CUresult MemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type);
CUresult MemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type);
CUresult MemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool);
CUresult MemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties);
CUresult MemPoolDestroy(CUmemoryPool pool);
CUresult MemPoolTrimTo(CUmemoryPool pool, size_t bytes_to_keep);
CUresult MemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value);
CUresult MemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value);
CUresult MemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* accesses, size_t count);
CUresult MemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location);
CUresult MemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream);
CUresult MemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream);
CUresult Memcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult MemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult MemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes);
CUresult Memcpy2D(const CUDA_MEMCPY2D* copy);
CUresult Memcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream);
CUresult Memcpy3D(const CUDA_MEMCPY3D* copy);
CUresult Memcpy3DAsync(const CUDA_MEMCPY3D* copy, CUstream stream);
CUresult MemsetD16(CUdeviceptr to, unsigned short value, size_t count);  // NOLINT(google-runtime-int)
CUresult MemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream);  // NOLINT
CUresult MemsetD2D8(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height);
CUresult MemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                         CUstream stream);
CUresult MemsetD2D16(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height);      // NOLINT
CUresult MemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,  // NOLINT
                          CUstream stream);
CUresult MemsetD2D32(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height);
CUresult MemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream);
// Makes an empty op the copy that cuMemcpy3D would queue.
CUresult MakeCopy3D(const CUDA_MEMCPY3D& copy, Op* op);
CUmemoryPool PoolOf(uint64_t id);
CUresult PointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address);
CUresult PointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values, CUdeviceptr address);
CUresult PointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address);

// Streams, events and launches.
CUresult StreamCreate(CUstream* stream, unsigned flags);
CUresult StreamGetFlags(CUstream stream, unsigned* flags);
CUresult StreamGetId(CUstream stream, unsigned long long* id);  // NOLINT(google-runtime-int)
CUresult StreamGetDevice(CUstream stream, CUdevice* device);
CUresult StreamGetCtx_v2(CUstream stream, CUcontext* context, void** green_context);
CUresult StreamAddCallback(CUstream stream, StreamCallback function, void* user_data, unsigned flags);
CUresult StreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t bytes, unsigned flags);
CUresult StreamBeginCapture_v1(CUstream stream);
CUresult StreamGetCaptureInfo_v1(CUstream stream, CUstreamCaptureStatus* status, uint64_t* id);
CUresult StreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, uint64_t* id, CUgraph* graph,
                                 const CUgraphNode** dependencies, const CUgraphEdgeData** edges, size_t* count);
CUresult StreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                   const CUgraphEdgeData* data, size_t count, CUstreamCaptureMode mode);
CUresult StreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies, size_t count, unsigned flags);
CUresult StreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* dependencies, const CUgraphEdgeData* data,
                                            size_t count, unsigned flags);
CUresult EventRecordWithFlags(CUevent event, CUstream stream, unsigned flags);
CUresult LaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                 CUstream stream, void** params);

// Launches in steps, as CUDA 3 had them.
CUresult FuncSetBlockShape(CUfunction function, int x, int y, int z);
CUresult FuncSetSharedSize(CUfunction function, unsigned bytes);
CUresult ParamSetSize(CUfunction function, unsigned bytes);
CUresult ParamSeti(CUfunction function, int offset, unsigned value);
CUresult ParamSetf(CUfunction function, int offset, float value);
CUresult ParamSetv(CUfunction function, int offset, void* value, unsigned bytes);
CUresult Launch(CUfunction function);
CUresult LaunchGrid(CUfunction function, int width, int height);
CUresult LaunchGridAsync(CUfunction function, int width, int height, CUstream stream);

// Graphs.
CUresult GraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log, size_t log_bytes);
CUresult GraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count);
CUresult GraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count);
CUresult GraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, size_t* count);
CUresult GraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes, size_t* count);
// With data for each edge, all of which is zero: such edges are the only ones.
CUresult GraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count);
CUresult GraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count);
CUresult GraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count);
CUresult GraphUpload(CUgraphExec exec, CUstream stream);
CUresult GraphExecUpdate_v1(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node, CUgraphExecUpdateResult* result);
CUresult GraphExecKernelNodeSetParams_v1(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params);
CUresult GraphKernelNodeGetParams_v1(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* params);
CUresult UserObjectCreate(CUuserObject* object, void* pointer, CUhostFn destroy, unsigned references, unsigned flags);
CUresult UserObjectRetain(CUuserObject object, unsigned count);
CUresult UserObjectRelease(CUuserObject object, unsigned count);
CUresult GraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count, unsigned flags);
CUresult GraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned count);
CUresult GraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params);
CUresult GraphExecGetFlags(CUgraphExec exec, uint64_t* flags);
CUresult GraphCreate(CUgraph* graph, unsigned flags);
CUresult GraphClone(CUgraph* clone, CUgraph graph);
CUresult GraphNodeFindInClone(CUgraphNode* found, CUgraphNode original, CUgraph clone);
CUresult GraphDestroyNode(CUgraphNode node);
CUresult GraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count);
CUresult GraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count);
// With data for each edge, which must be zero: NOT_SUPPORTED for edges between ports.
CUresult GraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                 const CUgraphEdgeData* data, size_t count);
CUresult GraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                    const CUgraphEdgeData* data, size_t count);
CUresult GraphDebugDotPrint(CUgraph graph, const char* path, unsigned flags);

// Nodes of graphs.
CUresult CheckEdgeData(const CUgraphEdgeData* data, size_t count);
CUresult GraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_KERNEL_NODE_PARAMS* params);
CUresult GraphAddKernelNode_v1(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                               const CUDA_KERNEL_NODE_PARAMS_v1* params);
CUresult GraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_MEMCPY3D* params, CUcontext context);
CUresult GraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context);
CUresult GraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                          const CUDA_HOST_NODE_PARAMS* params);
CUresult GraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                CUgraph child);
CUresult GraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count);
CUresult GraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                 CUevent event);
CUresult GraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                               CUevent event);
CUresult GraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                      CUgraphNodeParams* params);
CUresult GraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* data,
                         size_t count, CUgraphNodeParams* params);
CUresult GraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params);
CUresult GraphKernelNodeSetParams_v1(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params);
CUresult GraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params);
CUresult GraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params);
CUresult GraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params);
CUresult GraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event);
CUresult GraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event);
CUresult GraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params);
CUresult GraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* params);
CUresult GraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params);
CUresult GraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* params);
CUresult GraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* child);
CUresult GraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event);
CUresult GraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event);
// Of the attributes that launches have, kernels in graphs have COOPERATIVE and PRIORITY.
CUresult GraphKernelNodeGetAttribute(CUgraphNode node, CUlaunchAttributeID attribute, void* value);
CUresult GraphKernelNodeSetAttribute(CUgraphNode node, CUlaunchAttributeID attribute, const void* value);
CUresult GraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from);
CUresult GraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* params,
                                      CUcontext context);
CUresult GraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params,
                                      CUcontext context);
CUresult GraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params);
CUresult GraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child);
CUresult GraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event);
CUresult GraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event);
CUresult GraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params);
CUresult GraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled);
CUresult GraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned* enabled);

// Ways to functions (exports.cc).
CUresult GetProcAddress_v1(const char* symbol, void** function, int version, uint64_t flags);
CUresult GetProcAddress(const char* symbol, void** function, int version, uint64_t flags,
                        CUdriverProcAddressQueryResult* status);

}  // namespace slipway::cpu::client

#endif  // SLIPWAY_DRIVER_CPU_CUDA_LIBRARY_CLIENT_H_
