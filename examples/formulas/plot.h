// A scatter plot as SVG.
#ifndef SLIPWAY_EXAMPLES_FORMULAS_PLOT_H_
#define SLIPWAY_EXAMPLES_FORMULAS_PLOT_H_

#include <string>
#include <vector>

namespace slipway::formulas {

// `y` against `x`, of the same length: at most 1,500 points, evenly picked, of those that are finite; axes end at round
// numbers, at the 0.5th and 99.5th percentile or beyond, so that a few outliers do not squeeze the rest. What lies
// outside is left out.
std::string ScatterAsSvg(const std::string& x_name, const std::vector<double>& x, const std::string& y_name,
                         const std::vector<double>& y);

}  // namespace slipway::formulas

#endif  // SLIPWAY_EXAMPLES_FORMULAS_PLOT_H_
