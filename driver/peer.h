// Copies between memory of two devices, or within one.
#ifndef SLIPWAY_DRIVER_PEER_H_
#define SLIPWAY_DRIVER_PEER_H_

#include <cstddef>

#include "absl/status/status.h"
#include "slipway/device.h"
#include "slipway/stream.h"

namespace slipway::internal {

// A place in device memory.
struct Place {
  const Device& device;
  CUdeviceptr address;
};

// Queues a copy of `bytes` bytes on `stream`, which is of one of the two devices; both are of one driver. Where the
// devices can, they copy directly, which is arranged for when it is first of use; else the driver goes through the
// host.
absl::Status QueueCopy(const Place& from, const Place& to, size_t bytes, const Stream& stream);

// Copies between devices of different drivers, through host memory, and waits for it.
absl::Status CopyThroughHost(const Place& from, const Place& to, size_t bytes);

}  // namespace slipway::internal

#endif  // SLIPWAY_DRIVER_PEER_H_
