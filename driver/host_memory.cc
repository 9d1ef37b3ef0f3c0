#include "slipway/host_memory.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "slipway/graph.h"

namespace slipway {
namespace {

using Release = CUresult (*)(const DriverApi& api, void* data);

// Gives the memory back when destroyed.
struct Owned {
  Owned(Device on, void* memory, Release how) : device(std::move(on)), data(memory), release(how) {}
  ~Owned() {
    const ScopedContext current(*device.state());
    const internal::RelaxedCapture relaxed(device.api());
    // Copies that are queued may still use it, and not every way of giving it back waits for them.
    if (!current.ok()) return;  // Memory goes with its context.
    static_cast<void>(device.api().CtxSynchronize());
    static_cast<void>(release(device.api(), data));
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  const Device device;
  void* const data;
  const Release release;
};

absl::Status Lacks(const Device& device, const char* kind) {
  return absl::UnimplementedError(absl::StrCat("HostMemory: the driver of ", device.Describe(), " has no ", kind,
                                               " memory; use HostMemory::Pinned"));
}

absl::Status Failed(const Device& device, CUresult result, const char* kind, size_t bytes) {
  if (result == CUDA_ERROR_NOT_SUPPORTED) return Lacks(device, kind);
  return DriverStatus(device.api(), result,
                      absl::StrCat("cannot get ", bytes, " bytes of ", kind, " host memory for ", device.Describe()));
}

// Calls `get` in the device's context, also while a stream is captured.
absl::Status Get(const Device& device, const char* kind, size_t bytes, absl::FunctionRef<CUresult()> get) {
  const ScopedContext current(*device.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const internal::RelaxedCapture relaxed(device.api());
  const CUresult result = get();
  return result == CUDA_SUCCESS ? absl::OkStatus() : Failed(device, result, kind, bytes);
}

CUresult FreeHost(const DriverApi& api, void* data) { return api.MemFreeHost(data); }
CUresult FreeManaged(const DriverApi& api, void* data) { return api.MemFree(reinterpret_cast<CUdeviceptr>(data)); }
CUresult Unregister(const DriverApi& api, void* data) { return api.MemHostUnregister(data); }

}  // namespace

absl::StatusOr<HostMemory> HostMemory::Pinned(const Device& device, size_t bytes) {
  if (bytes == 0) return HostMemory(device, nullptr, nullptr, 0, 0);
  const DriverApi& api = device.api();
  void* data = nullptr;
  SLIPWAY_RETURN_IF_ERROR(Get(device, "pinned", bytes, [&] { return api.MemAllocHost(&data, bytes); }));
  return HostMemory(device, std::make_shared<const Owned>(device, data, &FreeHost), data, 0, bytes);
}

absl::StatusOr<HostMemory> HostMemory::Mapped(const Device& device, size_t bytes, bool write_combined) {
  if (bytes == 0) return HostMemory(device, nullptr, nullptr, 0, 0);
  const DriverApi& api = device.api();
  if (api.MemHostAlloc == nullptr || api.MemHostGetDevicePointer == nullptr) return Lacks(device, "mapped");
  const unsigned flags = kMemHostPortable | kMemHostDeviceMap | (write_combined ? kMemHostWriteCombined : 0u);
  void* data = nullptr;
  SLIPWAY_RETURN_IF_ERROR(Get(device, "mapped", bytes, [&] { return api.MemHostAlloc(&data, bytes, flags); }));
  auto owner = std::make_shared<const Owned>(device, data, &FreeHost);
  CUdeviceptr address = 0;
  SLIPWAY_RETURN_IF_ERROR(Get(device, "mapped", bytes, [&] { return api.MemHostGetDevicePointer(&address, data, 0); }));
  return HostMemory(device, std::move(owner), data, address, bytes);
}

absl::StatusOr<HostMemory> HostMemory::Managed(const Device& device, size_t bytes) {
  if (bytes == 0) return HostMemory(device, nullptr, nullptr, 0, 0);
  const DriverApi& api = device.api();
  if (api.MemAllocManaged == nullptr) return Lacks(device, "managed");
  CUdeviceptr address = 0;
  SLIPWAY_RETURN_IF_ERROR(
      Get(device, "managed", bytes, [&] { return api.MemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL); }));
  void* const data = reinterpret_cast<void*>(address);
  return HostMemory(device, std::make_shared<const Owned>(device, data, &FreeManaged), data, address, bytes);
}

absl::StatusOr<HostMemory> HostMemory::Register(const Device& device, void* memory, size_t bytes) {
  if (bytes == 0) return HostMemory(device, nullptr, memory, 0, 0);
  if (memory == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("HostMemory::Register: the memory is null but bytes is ", bytes, "; give its address"));
  }
  const DriverApi& api = device.api();
  if (api.MemHostRegister == nullptr || api.MemHostUnregister == nullptr || api.MemHostGetDevicePointer == nullptr) {
    return Lacks(device, "registered");
  }
  constexpr unsigned kFlags = kMemHostPortable | kMemHostDeviceMap;
  SLIPWAY_RETURN_IF_ERROR(Get(device, "registered", bytes, [&] { return api.MemHostRegister(memory, bytes, kFlags); }));
  auto owner = std::make_shared<const Owned>(device, memory, &Unregister);
  CUdeviceptr address = 0;
  SLIPWAY_RETURN_IF_ERROR(
      Get(device, "registered", bytes, [&] { return api.MemHostGetDevicePointer(&address, memory, 0); }));
  return HostMemory(device, std::move(owner), memory, address, bytes);
}

}  // namespace slipway
