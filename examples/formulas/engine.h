// Evaluates a sheet over a table, paragraph by paragraph, in the order of what needs what.
#ifndef SLIPWAY_EXAMPLES_FORMULAS_ENGINE_H_
#define SLIPWAY_EXAMPLES_FORMULAS_ENGINE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "examples/formulas/sheet.h"
#include "examples/formulas/table.h"
#include "slipway/array.h"
#include "slipway/stream.h"

namespace slipway::formulas {

struct Result {
  std::string name;
  DType dtype;
  std::vector<double> values;  // One a row; or a single one, of a formula without columns.
};

struct Outcome {
  std::vector<Result> results;      // Of all that could be evaluated, in the order of the sheet.
  std::vector<std::string> errors;  // For the sheet's user, in the order of the sheet.
};

// A mistake in one paragraph costs that one and those that need it. Errors of the device are the status.
absl::StatusOr<Outcome> Evaluate(const Sheet& sheet, const Table& table, const Stream& stream);

}  // namespace slipway::formulas

#endif  // SLIPWAY_EXAMPLES_FORMULAS_ENGINE_H_
