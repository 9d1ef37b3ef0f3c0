// The same right-hand side by walking the equations cell by cell on the host: slow, and knows nothing of Slipway.
#ifndef SLIPWAY_EXAMPLES_EVALUATOR_ORACLE_H_
#define SLIPWAY_EXAMPLES_EVALUATOR_ORACLE_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "examples/evaluator/model.h"

namespace slipway::evaluator {

// Values by name, row-major: states and cells groups x stages, a group's and a stage's as long as those are, matrices
// groups x groups, numbers one.
using HostValues = std::map<std::string, std::vector<double>, std::less<>>;

// The derivatives in the order of the states, each groups x stages.
std::vector<std::vector<double>> DerivativesOnHost(const Model& model, size_t groups, size_t stages,
                                                   const HostValues& values);

}  // namespace slipway::evaluator

#endif  // SLIPWAY_EXAMPLES_EVALUATOR_ORACLE_H_
