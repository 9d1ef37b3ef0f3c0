// Compares what a device computed with what the host expects, value by value.
#ifndef SLIPWAY_EXAMPLES_DEMO_CHECK_H_
#define SLIPWAY_EXAMPLES_DEMO_CHECK_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "examples/demo/formulas.h"
#include "slipway/array.h"

namespace slipway::demo {

struct Comparison {
  int64_t right = 0;
  int64_t total = 0;
  int64_t nans = 0;           // Of them, those that are NaN and should be.
  double worst = 0;           // The largest error, in units of epsilon * scale; over the values that are numbers.
  std::string first_failure;  // "element 17 is 3.5, expected 3.25"
};

// Copies `values` to the host and compares every one. NaN and infinities must be where they are expected.
absl::StatusOr<Comparison> Compare(const AnyArray& values, const Table& table, const FormulaOutput& expected);

}  // namespace slipway::demo

#endif  // SLIPWAY_EXAMPLES_DEMO_CHECK_H_
