// Host memory that a device reads and writes directly: pinned, mapped, managed, or the application's own, registered.
//
//   HostMemory staging = HostMemory::Pinned(device, bytes).value();
//   array_memory.QueueToHost(stream, staging.data(), bytes).IgnoreError();   // does not wait
#ifndef SLIPWAY_HOST_MEMORY_H_
#define SLIPWAY_HOST_MEMORY_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/device.h"
#include "slipway/driver_api.h"

namespace slipway {

// Copies share the memory, which goes with the last of them; that waits for all work of the device. 0 bytes are no
// allocation and null addresses. RESOURCE_EXHAUSTED names the size; UNIMPLEMENTED for what the driver cannot.
class HostMemory {
 public:
  // Page-locked: copies from and to it are not staged and can be queued without waiting.
  static absl::StatusOr<HostMemory> Pinned(const Device& device, size_t bytes);
  // Page-locked, and kernels use it at address(). `write_combined`: fast for kernels to read, very slow for the host.
  static absl::StatusOr<HostMemory> Mapped(const Device& device, size_t bytes, bool write_combined = false);
  // One address for host and kernels, between which the driver moves pages. Where the device cannot share them at once
  // (before compute capability 6.0) the host may not touch it while a kernel runs.
  static absl::StatusOr<HostMemory> Managed(const Device& device, size_t bytes);
  // Memory that is there already, page-locked and mapped as long as this lives, and not freed by it. INVALID_ARGUMENT
  // for bytes at a null pointer. A GPU refuses memory of which a page is registered already; the CPU device does not.
  static absl::StatusOr<HostMemory> Register(const Device& device, void* memory, size_t bytes);

  void* data() const { return data_; }
  // What kernels know it by; 0 for memory that is pinned only.
  CUdeviceptr address() const { return address_; }
  size_t bytes() const { return bytes_; }
  const Device& device() const { return device_; }
  // Keeps the memory: for DeviceMemory::Adopt(device, address(), bytes(), owner()), and an array over it.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  HostMemory(Device device, std::shared_ptr<const void> owner, void* data, CUdeviceptr address, size_t bytes)
      : device_(std::move(device)), owner_(std::move(owner)), data_(data), address_(address), bytes_(bytes) {}

  Device device_;
  std::shared_ptr<const void> owner_;  // Null for no bytes.
  void* data_;
  CUdeviceptr address_;
  size_t bytes_;
};

}  // namespace slipway

#endif  // SLIPWAY_HOST_MEMORY_H_
