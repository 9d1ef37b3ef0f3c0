// What a context of the driver's is called in messages.
#ifndef SLIPWAY_DRIVER_CONTEXT_OWNER_H_
#define SLIPWAY_DRIVER_CONTEXT_OWNER_H_

#include <string>

#include "slipway/device.h"

namespace slipway::internal {

// The device that `context`, of the driver of `device`, belongs to: "NVIDIA H200 (cuda:1)"; "another context of
// NVIDIA H200 (cuda:0)" where it is of `device` itself, but not the primary one that Slipway works in.
std::string DescribeOwner(const Device& device, CUcontext context);

}  // namespace slipway::internal

#endif  // SLIPWAY_DRIVER_CONTEXT_OWNER_H_
