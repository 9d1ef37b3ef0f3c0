// What the null driver library's further exports do: those that the driver table lacks, but that other programs call
// while they come up (further_exports.inc says which name does what).
//
// Each looks only at the parameters that it names, which is right for every longer parameter list, too: by the calling
// conventions of x86-64 and AArch64 arguments sit where their position puts them, and the caller clears them away.
#ifndef SLIPWAY_DRIVER_NULL_LIBRARY_ENTRIES_H_
#define SLIPWAY_DRIVER_NULL_LIBRARY_ENTRIES_H_

#include <cstddef>
#include <cstdint>

#include "slipway/driver_api.h"

namespace slipway::null_library {

// What many do.
CUresult Succeed();
CUresult NotSupported();
CUresult NewHandle(void** handle);
CUresult Zero32(uint32_t* value);
CUresult One32(uint32_t* value);

// cuProfilerStart and cuProfilerStop. Not Succeed, so that a program can mark places for callgrind by calling them:
// --dump-before='slipway::null_library::Profiler*'.
CUresult Profiler();

// Devices and contexts. A context that is made becomes current, as a driver's does.
CUresult ComputeCapability(int* major, int* minor);
CUresult PciBusId(char* text, int length);
CUresult Uuid(CUuuid* uuid);
CUresult PrimaryContextState(CUdevice device, unsigned* flags, int* active);
CUresult CreateContext(CUcontext* context);
CUresult DestroyContext(CUcontext context);
CUresult CurrentContext(CUcontext* context);
CUresult CtxGetDevice(CUdevice* device);
CUresult ContextId(CUcontext context, uint64_t* id);
CUresult ApiVersion(CUcontext context, unsigned* version);

// Modules, libraries and kernels. A CUkernel is a CUfunction here.
CUresult FunctionName(const char** name);
CUresult KernelAttribute(int* value, CUfunction_attribute attribute, CUfunction kernel);
CUresult SameHandle(void** to, void* from);
CUresult LibraryGlobal(CUdeviceptr* address, size_t* bytes);
CUresult LazyLoading(int* mode);
CUresult CreateLink(unsigned count, CUjit_option* options, void** values, void** link);
CUresult ActiveBlocks(int* blocks, CUfunction function, int block_size, size_t dynamic_shared_bytes);
CUresult PotentialBlockSize(int* min_grid_size, int* block_size, CUfunction function, CUoccupancyB2DSize shared_bytes,
                            size_t dynamic_shared_bytes, int block_size_limit);
CUresult AvailableSharedMemory(size_t* bytes);

// Memory.
CUresult AllocatePitched(CUdeviceptr* address, size_t* pitch, size_t width, size_t height);
CUresult AllocateAddresses(CUdeviceptr* address, size_t bytes);
CUresult AddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr address);
CUresult Granularity(size_t* bytes);
CUresult PointerAttributes(unsigned count, const CUpointer_attribute* attributes, void** values, CUdeviceptr address);

// Streams, events and graphs.
using StreamCallback = void (*)(CUstream stream, CUresult status, void* user_data);
CUresult CallBack(CUstream stream, StreamCallback function, void* user_data);
CUresult StreamContext(CUstream stream, CUcontext* context);
CUresult StreamZero32(CUstream stream, uint32_t* value);
CUresult StreamId(CUstream stream, uint64_t* id);
CUresult CaptureInfo(CUstream stream, CUstreamCaptureStatus* status);
CUresult ElapsedTime(float* milliseconds);
CUresult NoNodes(void* graph, void* nodes, size_t* count);

// Ways to other functions: library.cc, which has the list. The two forms of cuGetProcAddress are those of CUDA 11.3 and
// of 12.0.
CUresult ProcAddress11(const char* symbol, void** function, int version, uint64_t flags);
CUresult ProcAddress12(const char* symbol, void** function, int version, uint64_t flags,
                       CUdriverProcAddressQueryResult* answer);
CUresult NoExportTable(const void** table);

}  // namespace slipway::null_library

#endif  // SLIPWAY_DRIVER_NULL_LIBRARY_ENTRIES_H_
