// The allocators that a device may have without being told, and what memory of them has to know.
#ifndef SLIPWAY_DRIVER_ALLOCATORS_H_
#define SLIPWAY_DRIVER_ALLOCATORS_H_

#include <cstddef>
#include <memory>

#include "slipway/allocator.h"
#include "slipway/device.h"

namespace slipway::internal {

// What every driver aligns its allocations to at least (CUDA C++ Programming Guide, "Device Memory Accesses").
inline constexpr size_t kMemoryAlignment = 256;

// The one that is set, else the one that is chosen at the first call.
std::shared_ptr<Allocator> AllocatorOf(const DeviceState& state);

// Allocator::Trim in the device's context.
absl::Status TrimOf(const Device& device, Allocator& allocator, size_t keep);

// A stream of the device is about to be destroyed. Its context is current.
void ForgetStream(const DeviceState& state, CUstream stream);

inline bool IsCapturing(const DriverApi& api, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // The legacy stream cannot be captured, and drivers refuse the question while another is.
  if (stream == kStreamLegacy) return false;
  return api.StreamIsCapturing(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace slipway::internal

#endif  // SLIPWAY_DRIVER_ALLOCATORS_H_
