// The wave equation on a device.
#ifndef SLIPWAY_EXAMPLES_WAVES_SOLVER_H_
#define SLIPWAY_EXAMPLES_WAVES_SOLVER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "examples/waves/scene.h"
#include "slipway/device.h"

namespace slipway::waves {

struct Result {
  std::vector<float> field;   // After the last step, row-major.
  std::vector<float> screen;  // Of each row, the sum of squares on the screen since `watch_from`.
};

// How the inner loop launches its kernels. Both give the same bits.
enum class Road {
  kBoundLaunches,  // Nine launches, bound once, three of them for each step.
  kGraph,          // The nine as one graph, whose numbers are changed from launch to launch.
};

// Runs `steps` steps, a multiple of 3, from rest.
absl::StatusOr<Result> Solve(const Device& device, const Scene& scene, int64_t steps, int64_t watch_from, Road road);

}  // namespace slipway::waves

#endif  // SLIPWAY_EXAMPLES_WAVES_SOLVER_H_
