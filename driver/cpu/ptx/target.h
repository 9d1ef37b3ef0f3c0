// The targets of PTX, and which of them a device runs.
#ifndef SLIPWAY_DRIVER_CPU_PTX_TARGET_H_
#define SLIPWAY_DRIVER_CPU_PTX_TARGET_H_

#include "absl/status/status.h"
#include "driver/cpu/ptx/module.h"

namespace slipway::ptx {

// Whether a device of compute capability `sm` / 10 runs a module: its .target is there in its .version, and is the
// device's or an older one; one with an `a` is exactly the device's, one with an `f` of the device's family (PTX ISA,
// ".target"). INVALID_ARGUMENT for a target that is not there, FAILED_PRECONDITION for one that the device does not
// run.
absl::Status CheckTarget(const Module& module, int sm);

}  // namespace slipway::ptx

#endif  // SLIPWAY_DRIVER_CPU_PTX_TARGET_H_
