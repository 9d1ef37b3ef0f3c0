// The demo's kernels in embedded C++, compiled and loaded.
#ifndef SLIPWAY_EXAMPLES_DEMO_KERNELS_H_
#define SLIPWAY_EXAMPLES_DEMO_KERNELS_H_

#include "absl/status/statusor.h"
#include "slipway/device.h"
#include "slipway/kernel.h"

namespace slipway::demo {

// saxpy(y: float32[:], x: const float32[:], a: float32): y = a * x + y.
absl::StatusOr<Kernel> MakeSaxpy(const Device& device);

// price_by_cut(total: int64[:], count: int64[:], price: const int32[:], cut: const int8[:]): for every row,
// total[cut] += price and count[cut] += 1, atomically.
absl::StatusOr<Kernel> MakePriceByCut(const Device& device);

}  // namespace slipway::demo

#endif  // SLIPWAY_EXAMPLES_DEMO_KERNELS_H_
