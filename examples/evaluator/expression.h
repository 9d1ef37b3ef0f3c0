// Arithmetic in text: numbers, names, + - * /, calls. What the names mean is the model's business.
#ifndef SLIPWAY_EXAMPLES_EVALUATOR_EXPRESSION_H_
#define SLIPWAY_EXAMPLES_EVALUATOR_EXPRESSION_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace slipway::evaluator {

struct Expression {
  enum class Kind { kNumber, kName, kNegate, kBinary, kCall };
  Kind kind = Kind::kNumber;
  double number = 0;
  std::string text;  // A name, a function's name, or an operator; of a number as it was written.
  int column = 0;    // From 1.
  std::vector<std::shared_ptr<const Expression>> operands;
};
using ExpressionPtr = std::shared_ptr<const Expression>;

// A line of a model, for messages: "model:3:7: why", the line, and a caret.
struct Line {
  int number = 0;
  std::string_view text;
};
absl::Status ErrorAt(const Line& line, int column, std::string_view why);

// Parses what begins at `column` (from 1) of a line and goes on to its end. INVALID_ARGUMENT with a caret for what is
// no expression, or one that nests more than 100 deep.
absl::StatusOr<ExpressionPtr> ParseExpression(const Line& line, int column);

}  // namespace slipway::evaluator

#endif  // SLIPWAY_EXAMPLES_EVALUATOR_EXPRESSION_H_
