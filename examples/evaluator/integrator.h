// The classical Runge-Kutta method of fourth order, on the device: nothing is read back between the steps that are
// kept.
#ifndef SLIPWAY_EXAMPLES_EVALUATOR_INTEGRATOR_H_
#define SLIPWAY_EXAMPLES_EVALUATOR_INTEGRATOR_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "examples/evaluator/rhs.h"
#include "slipway/stream.h"

namespace slipway::evaluator {

struct Trajectory {
  std::vector<double> times;
  std::vector<std::vector<double>> totals;  // Of each state, over all cells, at each of the times.
};

// Takes `steps` steps of `dt` from `states`, which are at time 0 and end where the steps do, and keeps the totals of
// every `keep`-th. INVALID_ARGUMENT for counts below 1.
absl::StatusOr<Trajectory> Integrate(const Stream& stream, const Model& model, const RightHandSide& rhs,
                                     MemoryLayout layout, const StateVector& states, const ParameterValues& parameters,
                                     double dt, int64_t steps, int64_t keep);

}  // namespace slipway::evaluator

#endif  // SLIPWAY_EXAMPLES_EVALUATOR_INTEGRATOR_H_
