// Raw device memory with an owner.
#ifndef SLIPWAY_MEMORY_H_
#define SLIPWAY_MEMORY_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/device.h"
#include "slipway/stream.h"

namespace slipway {

namespace internal {
class StreamBlock;
}

// Move-only owner of one allocation; one that was moved from is empty and may only be destroyed or assigned. A graph in
// which a launch with an address in the allocation was captured keeps it (graph.h). Allocating, freeing and copying
// from the host are allowed while a stream is captured, and are done at once, not recorded.
//
// Memory of the device may be used on any stream, and freeing it waits for all work of the device (as cuMemFree does).
// Memory of a stream comes from a pool (allocator.h), and neither allocating nor freeing it waits for anything: what is
// freed is used again by what comes later on the stream. So uses on other streams have to be known: launches that are
// given an owning Array note them; for views and bare addresses, RecordUse does.
class DeviceMemory {
 public:
  // `bytes` of uninitialised memory; 0 bytes gives a null address and no allocation. RESOURCE_EXHAUSTED names the size
  // asked for and the size free.
  static absl::StatusOr<DeviceMemory> Allocate(const Device& device, size_t bytes);
  // The same for work that is queued on `stream` from now on. Other streams have to wait for what this one was given up
  // to now (Stream::Wait) before they use it: until then earlier work may still use the same memory. Memory of the
  // device where there is no order that a pool could rely on: for the default stream of a thread, and for a stream that
  // is captured, which runs later.
  static absl::StatusOr<DeviceMemory> Allocate(const Stream& stream, size_t bytes);
  // Memory that somebody else allocated, which stays as long as `owner` does (null: as long as it is needed).
  // INVALID_ARGUMENT for bytes at a null address.
  static absl::StatusOr<DeviceMemory> Adopt(const Device& device, CUdeviceptr address, size_t bytes,
                                            std::shared_ptr<const void> owner);

  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  CUdeviceptr address() const { return address_; }
  size_t bytes() const { return bytes_; }
  const Device& device() const { return device_; }

  // Of memory of a stream: notes that what `stream`, of this device or another of its driver, was given so far uses it,
  // so that freeing is ordered after that. Of other memory: nothing. The driver's error if that cannot be noted; then
  // wait for `stream` before this goes. Thread-safe.
  absl::Status RecordUse(const Stream& stream) const;
  // Notes that somebody uses it who will not tell when: freeing will wait for the device. Thread-safe.
  void RecordUseAnywhere() const;
  // The stream that it is of; null for memory of the device. Launches compare it with theirs.
  CUstream home() const { return home_; }

  // Blocking copies of `count` bytes between the host and this allocation, starting `offset` bytes into it. When they
  // return the bytes have arrived, for work on every stream. Of memory of the device they do not wait for work on
  // created streams: Synchronize the stream that wrote the memory first. Of memory of a stream they wait for that
  // stream (FAILED_PRECONDITION while it is captured). OUT_OF_RANGE if the range leaves the allocation;
  // INVALID_ARGUMENT for a null host pointer with a count.
  absl::Status CopyFromHost(const void* from, size_t count, size_t offset = 0) const;
  absl::Status CopyToHost(void* to, size_t count, size_t offset = 0) const;

  // The same queued on `stream`, of this device. Ordinary (pageable) host memory may be written or freed as soon as
  // QueueFromHost returns, and has been written when QueueToHost does; pinned memory (HostMemory) is read and written
  // when the stream comes to it, which these do not wait for. In a captured stream they become nodes of the graph,
  // which reads and writes the host memory at every launch, whatever memory it is.
  absl::Status QueueFromHost(const Stream& stream, const void* from, size_t count, size_t offset = 0) const;
  absl::Status QueueToHost(const Stream& stream, void* to, size_t count, size_t offset = 0) const;
  // Bytes of zero.
  absl::Status QueueZeros(const Stream& stream, size_t count, size_t offset = 0) const;

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
  DeviceMemory(Device device, std::shared_ptr<const void> owner, CUdeviceptr address, size_t bytes,
               const internal::StreamBlock* block = nullptr, CUstream home = nullptr)
      : device_(std::move(device)),
        owner_(std::move(owner)),
        address_(address),
        bytes_(bytes),
        block_(block),
        home_(home) {}
  absl::Status KeepUntilDone(const DeviceMemory& to, const Stream& stream) const;
  absl::Status CheckHomeNotCaptured(const char* what) const;
  absl::Status Queue(const Stream& stream, const char* what, size_t count,
                     absl::FunctionRef<CUresult(const DriverApi&)> call) const;
  Device device_;
  std::shared_ptr<const void> owner_;  // Null for no bytes.
  CUdeviceptr address_;
  size_t bytes_;
  const internal::StreamBlock* block_;  // Of `owner_`; null for memory of the device.
  CUstream home_;
};

}  // namespace slipway

#endif  // SLIPWAY_MEMORY_H_
