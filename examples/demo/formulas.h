// The formulas that the demo evaluates over its table, each with what it should give.
#ifndef SLIPWAY_EXAMPLES_DEMO_FORMULAS_H_
#define SLIPWAY_EXAMPLES_DEMO_FORMULAS_H_

#include <cstdint>
#include <vector>

#include "examples/demo/table.h"

namespace slipway::demo {

// One value computed on the host in long double, and the largest magnitude met on the way to it: rounding errors are
// relative to that, not to a difference that may be small.
struct Expected {
  long double value;
  long double scale;
};

struct FormulaOutput {
  const char* name;
  // Errors allowed, in units of (epsilon of the output's type * scale); 0 for integers and bools, which are exact.
  double allowed;
  // Element `i` of the output, row-major.
  Expected (*reference)(const Table& table, int64_t i);
};

struct Formula {
  const char* meaning;
  const char* text;
  const char* signature;  // Empty where it is inferred.
  std::vector<FormulaOutput> outputs;
};

// Inputs that are no columns of the table.
inline constexpr double kLogPriceAtOneCarat = 8.45, kLogPricePerLogCarat = 1.68;  // a, b
inline constexpr double kPremium[kCuts] = {0.90, 0.95, 1.00, 1.05, 1.10};         // premium
inline constexpr float kMean[3] = {5.73f, 5.73f, 3.54f};                          // mean, of x, y, z
inline constexpr float kDeviation[3] = {1.12f, 1.14f, 0.71f};                     // deviation

std::vector<Formula> Formulas();

}  // namespace slipway::demo

#endif  // SLIPWAY_EXAMPLES_DEMO_FORMULAS_H_
