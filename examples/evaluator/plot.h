// Curves as SVG.
#ifndef SLIPWAY_EXAMPLES_EVALUATOR_PLOT_H_
#define SLIPWAY_EXAMPLES_EVALUATOR_PLOT_H_

#include <string>
#include <vector>

#include "examples/evaluator/integrator.h"

namespace slipway::evaluator {

// The totals over time, a curve for each state.
std::string CurvesAsSvg(const std::vector<std::string>& names, const Trajectory& trajectory);

}  // namespace slipway::evaluator

#endif  // SLIPWAY_EXAMPLES_EVALUATOR_PLOT_H_
