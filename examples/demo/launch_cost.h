// The host's cost of a launch, on a driver that does nothing.
#ifndef SLIPWAY_EXAMPLES_DEMO_LAUNCH_COST_H_
#define SLIPWAY_EXAMPLES_DEMO_LAUNCH_COST_H_

#include "absl/status/statusor.h"

namespace slipway::demo {

// Nanoseconds a launch of saxpy (two strided arrays and a scalar that changes every time), medians over batches that
// take turns.
struct LaunchCost {
  double bare = 0;     // Hand-written packing and the driver's own call.
  double typed = 0;    // A typed kernel, its status looked at.
  double dynamic = 0;  // A kernel whose arguments are checked against a signature at run time.
};
absl::StatusOr<LaunchCost> MeasureLaunchCost();

}  // namespace slipway::demo

#endif  // SLIPWAY_EXAMPLES_DEMO_LAUNCH_COST_H_
