// The host functions that are queued on streams, not in graphs.
#ifndef SLIPWAY_DRIVER_HOST_FUNCTION_H_
#define SLIPWAY_DRIVER_HOST_FUNCTION_H_

#include "slipway/device.h"

namespace slipway::internal {

// Drops the functions queued on a device that will not run them any more: it failed, or its context is gone. A driver
// that calls one of them nevertheless finds nothing.
void DropHostFunctions(const DeviceState& device);

}  // namespace slipway::internal

#endif  // SLIPWAY_DRIVER_HOST_FUNCTION_H_
