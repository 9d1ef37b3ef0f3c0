#include "driver/null_library/entries.h"

#include <atomic>
#include <cstdio>
#include <cstring>

#include "slipway/null_driver.h"

namespace slipway::null_library {
namespace {

CUcontext PrimaryContext() {
  CUcontext context = nullptr;
  NullDriver().DevicePrimaryCtxRetain(&context, 0);
  return context;
}

}  // namespace

CUresult Succeed() { return CUDA_SUCCESS; }

CUresult NotSupported() { return CUDA_ERROR_NOT_SUPPORTED; }

CUresult NewHandle(void** handle) {
  // Apart from the table's own, which begin lower and grow by as much.
  static std::atomic<uintptr_t> next{uintptr_t{1} << 40};
  *handle = reinterpret_cast<void*>(next.fetch_add(16, std::memory_order_relaxed));
  return CUDA_SUCCESS;
}

CUresult Zero32(uint32_t* value) {
  *value = 0;
  return CUDA_SUCCESS;
}

CUresult One32(uint32_t* value) {
  *value = 1;
  return CUDA_SUCCESS;
}

CUresult Profiler() { return CUDA_SUCCESS; }

CUresult ComputeCapability(int* major, int* minor) {
  const CUresult result = NullDriver().DeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
  if (result != CUDA_SUCCESS) return result;
  return NullDriver().DeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
}

CUresult PciBusId(char* text, int length) {
  std::snprintf(text, static_cast<size_t>(length), "0000:01:00.0");
  return CUDA_SUCCESS;
}

CUresult Uuid(CUuuid* uuid) {
  std::memcpy(uuid->bytes, "slipway null dev", sizeof(uuid->bytes));
  return CUDA_SUCCESS;
}

CUresult PrimaryContextState(CUdevice, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return CUDA_SUCCESS;
}

CUresult CreateContext(CUcontext* context) {
  void* handle = nullptr;
  NewHandle(&handle);
  *context = static_cast<CUcontext>(handle);
  return NullDriver().CtxPushCurrent(*context);
}

CUresult DestroyContext(CUcontext context) {
  CUcontext current = nullptr;
  NullDriver().CtxGetCurrent(&current);
  return current == context ? NullDriver().CtxPopCurrent(&current) : CUDA_SUCCESS;
}

CUresult CurrentContext(CUcontext* context) { return NullDriver().CtxGetCurrent(context); }

CUresult CtxGetDevice(CUdevice* device) { return NullDriver().CtxGetDevice(device); }

CUresult ContextId(CUcontext context, uint64_t* id) {
  *id = reinterpret_cast<uintptr_t>(context);
  return CUDA_SUCCESS;
}

CUresult ApiVersion(CUcontext, unsigned* version) {
  *version = 3020;  // What current drivers say, whatever their CUDA version.
  return CUDA_SUCCESS;
}

CUresult FunctionName(const char** name) { return NullDriver().FuncGetName(name, nullptr); }

CUresult KernelAttribute(int* value, CUfunction_attribute attribute, CUfunction kernel) {
  return NullDriver().FuncGetAttribute(value, attribute, kernel);
}

CUresult SameHandle(void** to, void* from) {
  *to = from;
  return CUDA_SUCCESS;
}

CUresult LibraryGlobal(CUdeviceptr* address, size_t* bytes) {
  return NullDriver().ModuleGetGlobal(address, bytes, nullptr, "");
}

CUresult LazyLoading(int* mode) {
  *mode = 2;  // CU_MODULE_LAZY_LOADING.
  return CUDA_SUCCESS;
}

CUresult CreateLink(unsigned, CUjit_option*, void**, void** link) { return NewHandle(link); }

CUresult ActiveBlocks(int* blocks, CUfunction function, int block_size, size_t dynamic_shared_bytes) {
  return NullDriver().OccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, dynamic_shared_bytes);
}

CUresult PotentialBlockSize(int* min_grid_size, int* block_size, CUfunction function, CUoccupancyB2DSize shared_bytes,
                            size_t dynamic_shared_bytes, int block_size_limit) {
  return NullDriver().OccupancyMaxPotentialBlockSize(min_grid_size, block_size, function, shared_bytes,
                                                     dynamic_shared_bytes, block_size_limit);
}

CUresult AvailableSharedMemory(size_t* bytes) {
  *bytes = 49152;
  return CUDA_SUCCESS;
}

CUresult AllocatePitched(CUdeviceptr* address, size_t* pitch, size_t width, size_t height) {
  constexpr size_t kPitch = 512;  // cuMemAllocPitch's on devices of compute capability 5 and newer.
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  return NullDriver().MemAlloc(address, *pitch * height);
}

CUresult AllocateAddresses(CUdeviceptr* address, size_t bytes) { return NullDriver().MemAlloc(address, bytes); }

CUresult AddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  // Allocations are not kept, so every address is taken for the beginning of one that reaches to the memory's end.
  size_t total = 0;
  NullDriver().DeviceTotalMem(&total, 0);
  if (base != nullptr) *base = address;
  if (bytes != nullptr) *bytes = total;
  return CUDA_SUCCESS;
}

CUresult Granularity(size_t* bytes) {
  *bytes = size_t{2} << 20;
  return CUDA_SUCCESS;
}

CUresult PointerAttributes(unsigned count, const CUpointer_attribute* attributes, void** values, CUdeviceptr address) {
  for (unsigned i = 0; i < count; ++i) {
    // As a driver does: an attribute that an address does not have is zero, and no error.
    if (NullDriver().PointerGetAttribute(values[i], attributes[i], address) != CUDA_SUCCESS) {
      *static_cast<int*>(values[i]) = 0;
    }
  }
  return CUDA_SUCCESS;
}

CUresult CallBack(CUstream stream, StreamCallback function, void* user_data) {
  function(stream, CUDA_SUCCESS, user_data);
  return CUDA_SUCCESS;
}

CUresult StreamContext(CUstream, CUcontext* context) {
  *context = PrimaryContext();
  return CUDA_SUCCESS;
}

CUresult StreamZero32(CUstream, uint32_t* value) { return Zero32(value); }

CUresult StreamId(CUstream stream, uint64_t* id) {
  *id = reinterpret_cast<uintptr_t>(stream);
  return CUDA_SUCCESS;
}

CUresult CaptureInfo(CUstream, CUstreamCaptureStatus* status) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult ElapsedTime(float* milliseconds) {
  *milliseconds = 0;
  return CUDA_SUCCESS;
}

CUresult NoNodes(void*, void*, size_t* count) {
  *count = 0;
  return CUDA_SUCCESS;
}

CUresult NoExportTable(const void** table) {
  // Tables that no manual describes, which CUDA's runtime library asks for.
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

}  // namespace slipway::null_library
