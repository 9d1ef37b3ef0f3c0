// Numbers for a model: what a program would read from its data, made up here.
#ifndef SLIPWAY_EXAMPLES_EVALUATOR_INPUTS_H_
#define SLIPWAY_EXAMPLES_EVALUATOR_INPUTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "examples/evaluator/oracle.h"
#include "examples/evaluator/rhs.h"

namespace slipway::evaluator {

// States and parameters, the same for the same model and sizes: numbers between 0.1 and 1, first states near 1,000.
HostValues MakeInputs(const Model& model, size_t groups, size_t stages);

// The parameters among them as device arrays.
absl::StatusOr<ParameterValues> ParametersOn(const Device& device, const Model& model, const HostValues& values,
                                             int64_t groups, int64_t stages);

// Copies the states among them into `states`.
absl::Status FillStates(const Model& model, const HostValues& values, const StateVector& states);

}  // namespace slipway::evaluator

#endif  // SLIPWAY_EXAMPLES_EVALUATOR_INPUTS_H_
