// The same in plain loops, to check the device by.
#ifndef SLIPWAY_EXAMPLES_WAVES_REFERENCE_H_
#define SLIPWAY_EXAMPLES_WAVES_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "examples/waves/scene.h"
#include "examples/waves/solver.h"

namespace slipway::waves {

// In float64, and only rounded at the end.
Result SolveOnHost(const Scene& scene, int64_t steps, int64_t watch_from);

// The largest difference of two vectors of one size, as a part of the largest value of `wanted`.
double LargestError(const std::vector<float>& got, const std::vector<float>& wanted);

// Pearson's correlation of two curves over [begin, end): 1 where one is the other in other units.
double Correlation(const std::vector<float>& a, const std::vector<double>& b, int64_t begin, int64_t end);

}  // namespace slipway::waves

#endif  // SLIPWAY_EXAMPLES_WAVES_REFERENCE_H_
