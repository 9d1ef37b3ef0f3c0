// A stream of the driver's that is ours to destroy.
#ifndef SLIPWAY_DRIVER_STREAM_OWNER_H_
#define SLIPWAY_DRIVER_STREAM_OWNER_H_

#include <utility>

#include "slipway/device.h"
#include "slipway/driver_api.h"

namespace slipway::internal {

// Shared by the Stream and what has to be done on it later than that lives: freeing memory. The last one destroys it.
struct StreamOwner {
  StreamOwner(Device on, CUstream stream) : device(std::move(on)), handle(stream) {}
  ~StreamOwner();
  StreamOwner(const StreamOwner&) = delete;
  StreamOwner& operator=(const StreamOwner&) = delete;

  const Device device;
  const CUstream handle;
};

}  // namespace slipway::internal

#endif  // SLIPWAY_DRIVER_STREAM_OWNER_H_
