// The host functions that are queued on streams, not in graphs.
#ifndef SLIPWAY_DRIVER_HOST_FUNCTION_H_
#define SLIPWAY_DRIVER_HOST_FUNCTION_H_

#include "absl/status/status.h"
#include "slipway/device.h"

namespace slipway::internal {

// Drops the functions queued on a device that will not run them any more, because its context is gone. A driver that
// calls one of them nevertheless finds nothing.
void DropHostFunctions(const DeviceState& device);

// The same where `status`, of waiting for work on the device, says that a fault has ended all of it.
void DropHostFunctionsIfLost(const DeviceState& device, const absl::Status& status);

}  // namespace slipway::internal

#endif  // SLIPWAY_DRIVER_HOST_FUNCTION_H_
