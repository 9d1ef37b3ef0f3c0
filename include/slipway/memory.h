// Raw device memory with an owner.
#ifndef SLIPWAY_MEMORY_H_
#define SLIPWAY_MEMORY_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/device.h"
#include "slipway/stream.h"

namespace slipway {

// Move-only owner of one allocation; one that was moved from is empty and may only be destroyed or assigned. Freeing
// while work that uses it is still queued is safe: cuMemFree waits for it. A graph in which a launch with an address in
// the allocation was captured keeps it (graph.h). Allocating, freeing and copying from the host are allowed while a
// stream is captured, and are done at once, not recorded.
class DeviceMemory {
 public:
  // `bytes` of uninitialised memory; 0 bytes gives a null address and no allocation. RESOURCE_EXHAUSTED names the size
  // asked for and the size free.
  static absl::StatusOr<DeviceMemory> Allocate(const Device& device, size_t bytes);

  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  CUdeviceptr address() const { return address_; }
  size_t bytes() const { return bytes_; }
  const Device& device() const { return device_; }

  // Blocking copies of `count` bytes between the host and this allocation, starting `offset` bytes into it. When they
  // return the bytes have arrived, for work on every stream. They do not wait for work on created streams: Synchronize
  // the stream that wrote the memory first. OUT_OF_RANGE if the range leaves the allocation; INVALID_ARGUMENT for a
  // null host pointer with a count.
  absl::Status CopyFromHost(const void* from, size_t count, size_t offset = 0) const;
  absl::Status CopyToHost(void* to, size_t count, size_t offset = 0) const;

  // Copies `count` bytes into `to`, which may be of another device. `stream` is of one of the two devices.
  //
  // Within one driver the copy is queued on `stream`, and that alone orders it, on both sides: it comes after what the
  // stream was given before, and what is given later comes after it. What other streams, of either device, do to the
  // two memories has to be waited for (Stream::Wait). Both are kept until it is done.
  //
  // Between drivers (the CPU device and a GPU) it goes through the host and has arrived on return. It waits for
  // `stream`, and for all work of the device that the stream is not of.
  //
  // OUT_OF_RANGE if a range leaves its allocation; INVALID_ARGUMENT if the ranges overlap, or for a stream of a third
  // device; FAILED_PRECONDITION between drivers while the stream is captured; else the driver's error.
  absl::Status CopyTo(const DeviceMemory& to, const Stream& stream, size_t count, size_t offset = 0,
                      size_t to_offset = 0) const;

 private:
  friend class Module;  // Whose variables are memory, too.
  DeviceMemory(Device device, std::shared_ptr<const void> owner, CUdeviceptr address, size_t bytes)
      : device_(std::move(device)), owner_(std::move(owner)), address_(address), bytes_(bytes) {}
  absl::Status KeepUntilDone(const DeviceMemory& to, const Stream& stream) const;
  Device device_;
  std::shared_ptr<const void> owner_;  // Null for no bytes.
  CUdeviceptr address_;
  size_t bytes_;
};

}  // namespace slipway

#endif  // SLIPWAY_MEMORY_H_
