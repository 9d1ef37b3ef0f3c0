// The null driver's table (its contexts and streams, where nothing is ever left to do) with memory that is memory,
// events that know the time, and functions that run.
#include "slipway/host_driver.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "driver/table_lookup.h"
#include "slipway/null_driver.h"

namespace slipway {
namespace {

using internal::HostEntry;

constexpr size_t kAlignment = 256;  // As cuMemAlloc's.

void* AddressOf(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUresult GetProcAddress(const char* symbol, void** function, int version, uint64_t,
                        CUdriverProcAddressQueryResult* status) {
  return FindInTable(HostDriver(), symbol, version, function, status);
}

CUresult DeviceGetName(char* name, int length, CUdevice) {
  std::snprintf(name, static_cast<size_t>(length), "host");
  return CUDA_SUCCESS;
}
CUresult DeviceTotalMem(size_t* bytes, CUdevice) {
  *bytes = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return CUDA_SUCCESS;
}
CUresult MemGetInfo(size_t* free, size_t* total) {
  *free = static_cast<size_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return DeviceTotalMem(total, 0);
}
CUresult DeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  switch (attribute) {
    // No compute capability: code generators refuse the device.
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
      *value = 0;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 1;
      return CUDA_SUCCESS;
    default:
      // Limits of grids and blocks, which are checked like a GPU's.
      return NullDriver().DeviceGetAttribute(value, attribute, device);
  }
}

CUresult ModuleLoadDataEx(CUmodule*, const void*, unsigned count, CUjit_option* options, void** values) {
  constexpr std::string_view kWhy =
      "the host device runs functions of this program (slipway/host_function.h), not PTX; open a GPU or the CPU device";
  char* log = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) log = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size = reinterpret_cast<size_t>(values[i]);
  }
  if (log != nullptr && size > 0) std::snprintf(log, size, "%s", kWhy.data());
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult FuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  const auto& entry = *reinterpret_cast<const HostEntry*>(function);
  if (index >= entry.params.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = entry.params[index].offset;
  if (bytes != nullptr) *bytes = entry.params[index].bytes;
  return CUDA_SUCCESS;
}

// The launch buffer of a launch that gave the address of each parameter.
[[gnu::noinline]] CUresult CallWithParams(const HostEntry& entry, void** params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto buffer = std::make_unique<std::max_align_t[]>(entry.bytes / sizeof(std::max_align_t) + 1);
  auto* const bytes = reinterpret_cast<std::byte*>(buffer.get());
  for (size_t i = 0; i < entry.params.size(); ++i) {
    std::memcpy(bytes + entry.params[i].offset, params[i], entry.params[i].bytes);
  }
  return entry.call(entry.function, bytes);
}

[[gnu::always_inline]] inline CUresult Call(CUfunction function, void** params, void** extra) {
  const auto& entry = *reinterpret_cast<const HostEntry*>(function);
  const std::byte* buffer = nullptr;
  size_t bytes = 0;
  if (extra != nullptr) {
    for (; *extra != kLaunchParamEnd; extra += 2) {
      if (extra[0] == kLaunchParamBufferPointer) buffer = static_cast<const std::byte*>(extra[1]);
      if (extra[0] == kLaunchParamBufferSize) bytes = *static_cast<const size_t*>(extra[1]);
    }
  } else if (entry.bytes != 0) {
    return CallWithParams(entry, params);
  }
  if (bytes != entry.bytes) [[unlikely]]
    return CUDA_ERROR_INVALID_VALUE;
  return entry.call(entry.function, buffer);
}

CUresult LaunchKernel(CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      CUstream, void** params, void** extra) {
  return Call(function, params, extra);
}
CUresult LaunchKernelEx(const CUlaunchConfig*, CUfunction function, void** params, void** extra) {
  return Call(function, params, extra);
}

CUresult MemAlloc(CUdeviceptr* address, size_t bytes) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  // Linux may promise more memory than there is, and end the process that uses it.
  size_t total = 0;
  DeviceTotalMem(&total, 0);
  if (bytes > total) return CUDA_ERROR_OUT_OF_MEMORY;
  void* const memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return memory != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult MemFree(CUdeviceptr address) {
  std::free(AddressOf(address));
  return CUDA_SUCCESS;
}
CUresult MemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream) { return MemAlloc(address, bytes); }
CUresult MemFreeAsync(CUdeviceptr address, CUstream) { return MemFree(address); }
CUresult MemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned) { return MemAlloc(address, bytes); }
CUresult MemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool, CUstream) {
  return MemAlloc(address, bytes);
}

CUresult Copy(void* to, const void* from, size_t bytes) {
  if (bytes != 0) std::memmove(to, from, bytes);
  return CUDA_SUCCESS;
}
CUresult MemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) { return Copy(AddressOf(to), from, bytes); }
CUresult MemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) { return Copy(to, AddressOf(from), bytes); }
CUresult MemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return Copy(AddressOf(to), AddressOf(from), bytes);
}
CUresult MemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream) {
  return MemcpyHtoD(to, from, bytes);
}
CUresult MemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream) { return MemcpyDtoH(to, from, bytes); }
CUresult MemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
  return MemcpyDtoD(to, from, bytes);
}
CUresult MemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes, CUstream) {
  return MemcpyDtoD(to, from, bytes);
}
CUresult MemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  if (count != 0) std::memset(AddressOf(to), value, count);
  return CUDA_SUCCESS;
}
CUresult MemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream) {
  return MemsetD8(to, value, count);
}
CUresult MemsetD32(CUdeviceptr to, unsigned value, size_t count) {
  if (to % sizeof(unsigned) != 0) return CUDA_ERROR_INVALID_VALUE;
  std::fill_n(static_cast<unsigned*>(AddressOf(to)), count, value);
  return CUDA_SUCCESS;
}
CUresult MemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream) { return MemsetD32(to, value, count); }

// An event is the time of its last record, in nanoseconds.
struct HostEvent {
  bool timing = true;
  std::atomic<int64_t> recorded{0};
};
HostEvent& EventOf(CUevent event) { return *reinterpret_cast<HostEvent*>(event); }

CUresult EventCreate(CUevent* event, unsigned flags) {
  auto made = std::make_unique<HostEvent>();
  made->timing = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  *event = reinterpret_cast<CUevent>(made.release());
  return CUDA_SUCCESS;
}
CUresult EventDestroy(CUevent event) {
  delete &EventOf(event);
  return CUDA_SUCCESS;
}
CUresult EventRecord(CUevent event, CUstream) {
  EventOf(event).recorded = std::chrono::steady_clock::now().time_since_epoch().count();
  return CUDA_SUCCESS;
}
CUresult EventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  if (!EventOf(start).timing || !EventOf(end).timing) return CUDA_ERROR_INVALID_HANDLE;
  const int64_t from = EventOf(start).recorded, to = EventOf(end).recorded;
  if (from == 0 || to == 0) return CUDA_ERROR_INVALID_HANDLE;
  *milliseconds = std::chrono::duration<float, std::milli>(std::chrono::steady_clock::duration(to - from)).count();
  return CUDA_SUCCESS;
}

// What is to be captured would have run already.
CUresult StreamBeginCapture(CUstream, CUstreamCaptureMode) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult StreamEndCapture(CUstream, CUgraph*) { return CUDA_ERROR_NOT_SUPPORTED; }

DriverApi MakeTable() {
  DriverApi api = NullDriver();
  api.GetProcAddress = &GetProcAddress;
  api.DeviceGetName = &DeviceGetName;
  api.DeviceTotalMem = &DeviceTotalMem;
  api.DeviceGetAttribute = &DeviceGetAttribute;
  api.ModuleLoadDataEx = &ModuleLoadDataEx;
  api.FuncGetParamInfo = &FuncGetParamInfo;
  api.LaunchKernel = &LaunchKernel;
  api.LaunchKernelEx = &LaunchKernelEx;
  api.MemGetInfo = &MemGetInfo;
  api.MemAlloc = &MemAlloc;
  api.MemFree = &MemFree;
  api.MemAllocAsync = &MemAllocAsync;
  api.MemFreeAsync = &MemFreeAsync;
  api.MemAllocManaged = &MemAllocManaged;
  api.MemAllocFromPoolAsync = &MemAllocFromPoolAsync;
  api.MemPoolCreate = nullptr;  // What malloc holds it does not tell: Slipway's own pool is used.
  api.MemcpyHtoD = &MemcpyHtoD;
  api.MemcpyDtoH = &MemcpyDtoH;
  api.MemcpyDtoD = &MemcpyDtoD;
  api.MemcpyHtoDAsync = &MemcpyHtoDAsync;
  api.MemcpyDtoHAsync = &MemcpyDtoHAsync;
  api.MemcpyDtoDAsync = &MemcpyDtoDAsync;
  api.MemcpyPeerAsync = &MemcpyPeerAsync;
  api.MemsetD8 = &MemsetD8;
  api.MemsetD8Async = &MemsetD8Async;
  api.MemsetD32 = &MemsetD32;
  api.MemsetD32Async = &MemsetD32Async;
  api.EventCreate = &EventCreate;
  api.EventDestroy = &EventDestroy;
  api.EventRecord = &EventRecord;
  api.EventElapsedTime = &EventElapsedTime;
  api.StreamBeginCapture = &StreamBeginCapture;
  api.StreamEndCapture = &StreamEndCapture;
  api.name = "host";
  return api;
}

// A plain pointer without a destructor, for static objects that launch after main has returned.
thread_local absl::Status* kept_failure = nullptr;

}  // namespace

const DriverApi& HostDriver() {
  static const DriverApi api = MakeTable();
  return api;
}

namespace internal {

CUfunction RegisterHostEntry(HostEntry entry) {
  static std::mutex mutex;
  // Never destroyed: kernels may be launched during static destruction.
  static auto* const entries = new std::map<std::pair<HostEntry::Call, void (*)()>, HostEntry>;
  std::lock_guard<std::mutex> lock(mutex);
  const std::pair<HostEntry::Call, void (*)()> key(entry.call, entry.function);
  HostEntry& kept = entries->try_emplace(key, std::move(entry)).first->second;
  return reinterpret_cast<CUfunction>(&kept);
}

CUresult KeepHostFailure(absl::Status status) {
  delete std::exchange(kept_failure, new absl::Status(std::move(status)));
  return CUDA_ERROR_LAUNCH_FAILED;
}

absl::Status TakeHostFailure() {
  const std::unique_ptr<absl::Status> kept(std::exchange(kept_failure, nullptr));
  return kept == nullptr ? absl::OkStatus() : *kept;
}

}  // namespace internal
}  // namespace slipway
