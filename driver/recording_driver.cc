// The null driver's table, but for the entries that make, destroy or launch: those keep a record.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "driver/recording.h"
#include "driver/table_lookup.h"

namespace slipway {
namespace recording {

Record& TheRecord() {
  static auto* record = new Record;
  return *record;
}

void CopyBuffer(void** extra, RecordedLaunch* launch) {
  const void* bytes = nullptr;
  size_t size = 0;
  for (; *extra != kLaunchParamEnd; extra += 2) {
    if (extra[0] == kLaunchParamBufferPointer) bytes = extra[1];
    if (extra[0] == kLaunchParamBufferSize) size = *static_cast<const size_t*>(extra[1]);
  }
  const auto* begin = static_cast<const unsigned char*>(bytes);
  launch->has_buffer = true;
  launch->buffer.assign(begin, begin + size);
}

}  // namespace recording

namespace {

using recording::Record;
using recording::TheRecord;

// Notes a new object, if the call that made it succeeded.
template <class Handle>
CUresult Keep(CUresult made, std::unordered_set<Handle> Record::*live, const Handle* handle) {
  if (made != CUDA_SUCCESS) return made;
  std::lock_guard<std::mutex> lock(TheRecord().mutex);
  (TheRecord().*live).insert(*handle);
  return CUDA_SUCCESS;
}

template <class Handle>
CUresult Drop(std::unordered_set<Handle> Record::*live, Handle handle, CUresult otherwise) {
  std::lock_guard<std::mutex> lock(TheRecord().mutex);
  return (TheRecord().*live).erase(handle) == 1 ? CUDA_SUCCESS : otherwise;
}

CUresult GetProcAddress(const char* symbol, void** function, int version, uint64_t,
                        CUdriverProcAddressQueryResult* status) {
  return FindInTable(RecordingDriver(), symbol, version, function, status);
}

CUresult DevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  std::lock_guard<std::mutex> lock(TheRecord().mutex);
  ++TheRecord().retained_contexts;
  return NullDriver().DevicePrimaryCtxRetain(context, device);
}
CUresult DevicePrimaryCtxRelease(CUdevice) {
  std::lock_guard<std::mutex> lock(TheRecord().mutex);
  if (TheRecord().retained_contexts == 0) return CUDA_ERROR_INVALID_CONTEXT;
  --TheRecord().retained_contexts;
  return CUDA_SUCCESS;
}

CUresult ModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
  return Keep(NullDriver().ModuleLoadDataEx(module, image, count, options, values), &Record::modules, module);
}
CUresult ModuleUnload(CUmodule module) { return Drop(&Record::modules, module, CUDA_ERROR_INVALID_HANDLE); }

CUresult MemAlloc(CUdeviceptr* address, size_t bytes) {
  return Keep(NullDriver().MemAlloc(address, bytes), &Record::allocations, address);
}
CUresult MemFree(CUdeviceptr address) {
  return address == 0 ? CUDA_SUCCESS : Drop(&Record::allocations, address, CUDA_ERROR_INVALID_VALUE);
}
CUresult MemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream) { return MemAlloc(address, bytes); }
CUresult MemFreeAsync(CUdeviceptr address, CUstream) { return MemFree(address); }
CUresult MemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool, CUstream) {
  return MemAlloc(address, bytes);
}
CUresult MemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  return Keep(NullDriver().MemAllocManaged(address, bytes, flags), &Record::allocations, address);
}
CUresult MemHostRegister(void* host, size_t, unsigned) { return Keep(CUDA_SUCCESS, &Record::host_allocations, &host); }
CUresult MemHostUnregister(void* host) { return Drop(&Record::host_allocations, host, CUDA_ERROR_INVALID_VALUE); }
CUresult MemAllocHost(void** address, size_t bytes) {
  return Keep(NullDriver().MemAllocHost(address, bytes), &Record::host_allocations, address);
}
CUresult MemHostAlloc(void** address, size_t bytes, unsigned) { return MemAllocHost(address, bytes); }
CUresult MemFreeHost(void* address) {
  const CUresult result = Drop(&Record::host_allocations, address, CUDA_ERROR_INVALID_VALUE);
  return result == CUDA_SUCCESS ? NullDriver().MemFreeHost(address) : result;
}

CUresult StreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return Keep(NullDriver().StreamCreateWithPriority(stream, flags, priority), &Record::streams, stream);
}
CUresult StreamDestroy(CUstream stream) {
  {
    std::lock_guard<std::mutex> lock(TheRecord().mutex);
    recording::ForgetStream(stream);
  }
  return Drop(&Record::streams, stream, CUDA_ERROR_INVALID_HANDLE);
}
CUresult EventCreate(CUevent* event, unsigned flags) {
  return Keep(NullDriver().EventCreate(event, flags), &Record::events, event);
}
CUresult EventDestroy(CUevent event) {
  {
    std::lock_guard<std::mutex> lock(TheRecord().mutex);
    TheRecord().captured_events.erase(event);
  }
  return Drop(&Record::events, event, CUDA_ERROR_INVALID_HANDLE);
}

CUresult Keep(RecordedLaunch launch) {
  NullDriver().CtxGetCurrent(&launch.context);
  std::lock_guard<std::mutex> lock(TheRecord().mutex);
  if (recording::Find(TheRecord().capturing, launch.stream) == nullptr) {
    TheRecord().launches.push_back(std::move(launch));
    return CUDA_SUCCESS;
  }
  recording::Node node;
  node.type = CU_GRAPH_NODE_TYPE_KERNEL;
  CUstream stream = launch.stream;
  node.launch = std::move(launch);
  bool captured = false;
  return recording::AddIfCapturing(stream, std::move(node), &captured);
}

CUresult LaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** params,
                      void** extra) {
  RecordedLaunch launch;
  launch.function = function;
  launch.grid = {grid_x, grid_y, grid_z};
  launch.block = {block_x, block_y, block_z};
  launch.shared_bytes = shared_bytes;
  launch.stream = stream;
  launch.params = params;
  if (extra != nullptr) recording::CopyBuffer(extra, &launch);
  return Keep(std::move(launch));
}

CUresult LaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** params, void** extra) {
  RecordedLaunch launch;
  launch.function = function;
  launch.grid = {config->gridDimX, config->gridDimY, config->gridDimZ};
  launch.block = {config->blockDimX, config->blockDimY, config->blockDimZ};
  launch.shared_bytes = config->sharedMemBytes;
  launch.stream = config->hStream;
  launch.params = params;
  launch.attributes.assign(config->attrs, config->attrs + config->numAttrs);
  if (extra != nullptr) recording::CopyBuffer(extra, &launch);
  return Keep(std::move(launch));
}

DriverApi MakeTable() {
  DriverApi api = NullDriver();
  api.GetProcAddress = &GetProcAddress;
  api.DevicePrimaryCtxRetain = &DevicePrimaryCtxRetain;
  api.DevicePrimaryCtxRelease = &DevicePrimaryCtxRelease;
  api.ModuleLoadDataEx = &ModuleLoadDataEx;
  api.ModuleUnload = &ModuleUnload;
  api.MemAlloc = &MemAlloc;
  api.MemFree = &MemFree;
  api.MemAllocAsync = &MemAllocAsync;
  api.MemFreeAsync = &MemFreeAsync;
  api.MemAllocFromPoolAsync = &MemAllocFromPoolAsync;
  api.MemAllocManaged = &MemAllocManaged;
  api.MemHostAlloc = &MemHostAlloc;
  api.MemHostRegister = &MemHostRegister;
  api.MemHostUnregister = &MemHostUnregister;
  api.MemAllocHost = &MemAllocHost;
  api.MemFreeHost = &MemFreeHost;
  api.StreamCreateWithPriority = &StreamCreateWithPriority;
  api.StreamDestroy = &StreamDestroy;
  api.EventCreate = &EventCreate;
  api.EventDestroy = &EventDestroy;
  api.LaunchKernel = &LaunchKernel;
  api.LaunchKernelEx = &LaunchKernelEx;
  recording::InstallCaptures(&api);
  recording::InstallGraphs(&api);
  api.name = "recording";
  return api;
}

}  // namespace

const DriverApi& RecordingDriver() {
  static const DriverApi api = MakeTable();
  return api;
}

std::vector<RecordedLaunch> TakeRecordedLaunches() {
  std::lock_guard<std::mutex> lock(TheRecord().mutex);
  return std::exchange(TheRecord().launches, {});
}

RecordedObjects CountRecordedObjects() {
  Record& record = TheRecord();
  std::lock_guard<std::mutex> lock(record.mutex);
  const auto size = [](const auto& live) { return static_cast<int64_t>(live.size()); };
  return {.retained_contexts = record.retained_contexts,
          .modules = size(record.modules),
          .streams = size(record.streams),
          .events = size(record.events),
          .allocations = size(record.allocations),
          .host_allocations = size(record.host_allocations),
          .captures = record.captures,
          .graphs = size(record.graphs) - record.captures,
          .graph_execs = size(record.execs)};
}

}  // namespace slipway
