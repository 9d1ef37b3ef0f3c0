// Where the memory of stream-ordered allocations comes from: DeviceMemory::Allocate(stream, ...), the arrays made for a
// stream, and the results and temporary storage of operations.
//
//   MemoryStatistics now = StatisticsOf(device);                  // what is in use, what is held
//   TrimMemory(device, 0).IgnoreError();                          // gives back what is held and not in use
//   SetAllocator(device, std::make_shared<MyPool>()).IgnoreError();
//
// Without a SetAllocator it is a pool of the driver's, made for Slipway alone, where the driver has pools (CUDA 11.2),
// and one of Slipway's own otherwise (driver/caching_allocator.h). $SLIPWAY_POOL says otherwise: "caching" for
// Slipway's own, "off" for none: then each allocation is the driver's own business, which is slow, and what a memory
// checker wants to see; it is the default where $SLIPWAY_CPU_CHECK is set.
#ifndef SLIPWAY_ALLOCATOR_H_
#define SLIPWAY_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/device.h"
#include "slipway/driver_api.h"

namespace slipway {

// In bytes, but for the counts. What an allocator cannot tell is 0.
struct MemoryStatistics {
  size_t in_use = 0;  // Given out and not given back; as the allocator counts it, which may round sizes up.
  size_t peak_in_use = 0;
  size_t held = 0;  // Taken from the device, in use or not.
  size_t peak_held = 0;
  uint64_t allocations = 0;  // All so far,
  uint64_t reused = 0;       // and those that were served from what was held.
};

// An application's own pool. Called from any thread, on several at once, with the device's context current unless
// ManagesContext. Must not call back into Slipway's allocation.
class Allocator {
 public:
  virtual ~Allocator() = default;

  // At least `bytes` (1 or more) of device memory at a multiple of 256, which work queued on `stream` from now on may
  // use. `stream` is a created stream or kStreamLegacy. RESOURCE_EXHAUSTED where there is no room: Slipway then trims
  // the allocator, asks once more, and adds sizes to the message.
  virtual absl::StatusOr<CUdeviceptr> Allocate(CUstream stream, size_t bytes) = 0;

  // Takes back what Allocate gave for `stream` and `bytes`. Work queued on `stream` so far may still use it, and
  // nothing else does.
  virtual void Free(CUstream stream, CUdeviceptr address, size_t bytes) = 0;

  // `stream` is about to be destroyed; memory for which an allocator knows no more than "free on this stream" has to be
  // tied to something else. Nothing that is in use is of this stream.
  virtual void Forget(CUstream stream) { static_cast<void>(stream); }

  // Gives memory that is held and not in use back to the device, until at most `keep` bytes are held beyond what is in
  // use. May wait for the device.
  virtual void Trim(size_t keep) { static_cast<void>(keep); }

  virtual MemoryStatistics Statistics() const { return {}; }

  // Whether Allocate and Free see to it themselves that the context is current, and that calls that a capture forbids
  // are relaxed (cuThreadExchangeStreamCaptureMode), where they call the driver at all. Asked at every call.
  virtual bool ManagesContext() const { return false; }
};

// Allocations on `device` come from `allocator` from now on, until another is set; nullptr stands for Slipway's own
// choice. Memory goes back to where it came from, whichever is set then: an allocator lives as long as memory of it is
// in use. Thread-safe.
void SetAllocator(const Device& device, std::shared_ptr<Allocator> allocator);

MemoryStatistics StatisticsOf(const Device& device);

// Allocator::Trim of the device's allocator. The driver's error where the device cannot be used.
absl::Status TrimMemory(const Device& device, size_t keep = 0);

}  // namespace slipway

#endif  // SLIPWAY_ALLOCATOR_H_
