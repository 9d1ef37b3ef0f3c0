#include "examples/evaluator/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace slipway::evaluator {
namespace {

class Cell {
 public:
  Cell(const Model& model, size_t groups, size_t stages, const HostValues& values)
      : model_(model), groups_(groups), stages_(stages), values_(values) {}

  double Value(const Expression& e, size_t group, size_t stage) const {
    const auto operand = [&](size_t i) { return Value(*e.operands[i], group, stage); };
    switch (e.kind) {
      case Expression::Kind::kNumber:
        return e.number;
      case Expression::Kind::kName:
        return Named(e.text, group, stage);
      case Expression::Kind::kNegate:
        return -operand(0);
      case Expression::Kind::kBinary:
        switch (e.text[0]) {
          case '+':
            return operand(0) + operand(1);
          case '-':
            return operand(0) - operand(1);
          case '*':
            return operand(0) * operand(1);
          default:
            return operand(0) / operand(1);
        }
      case Expression::Kind::kCall:
        return Call(e, group, stage);
    }
    return 0;
  }

 private:
  double Named(const std::string& name, size_t group, size_t stage) const {
    if (name == "time") return values_.find("time")->second[0];
    const Shape shape = model_.names.find(name)->second;
    if (shape == Shape::kAlias) return Value(*model_.AliasCalled(name)->value, group, stage);
    const std::vector<double>& values = values_.find(name)->second;
    switch (shape) {
      case Shape::kNumber:
        return values[0];
      case Shape::kGroup:
        return values[group];
      case Shape::kStage:
        return values[stage];
      default:
        return values[group * stages_ + stage];
    }
  }

  double Call(const Expression& e, size_t group, size_t stage) const {
    const std::string& f = e.text;
    if (f == "mix") {
      const std::vector<double>& matrix = values_.find(e.operands[0]->text)->second;
      double sum = 0;
      for (size_t j = 0; j < groups_; ++j) sum += matrix[group * groups_ + j] * Value(*e.operands[1], j, stage);
      return sum;
    }
    if (!ReductionOf(f).empty()) {
      double sum = 0, least = std::numeric_limits<double>::infinity(), most = -least;
      for (size_t j = 0; j < groups_; ++j) {
        const double value = Value(*e.operands[0], j, stage);
        sum += value, least = std::min(least, value), most = std::max(most, value);
      }
      const std::string_view how = ReductionOf(f);
      return how == "sum" ? sum : how == "mean" ? sum / static_cast<double>(groups_) : how == "min" ? least : most;
    }
    const double x = Value(*e.operands[0], group, stage);
    if (f == "exp") return std::exp(x);
    if (f == "log") return std::log(x);
    if (f == "sqrt") return std::sqrt(x);
    if (f == "tanh") return std::tanh(x);
    if (f == "sin") return std::sin(x);
    if (f == "cos") return std::cos(x);
    if (f == "abs") return std::abs(x);
    const double y = Value(*e.operands[1], group, stage);
    return f == "min" ? std::min(x, y) : f == "max" ? std::max(x, y) : std::pow(x, y);
  }

  const Model& model_;
  const size_t groups_, stages_;
  const HostValues& values_;
};

}  // namespace

std::vector<std::vector<double>> DerivativesOnHost(const Model& model, size_t groups, size_t stages,
                                                   const HostValues& values) {
  const Cell cell(model, groups, stages, values);
  std::vector<std::vector<double>> derivatives;
  for (const Equation& equation : model.equations) {
    std::vector<double>& derivative = derivatives.emplace_back();
    for (size_t g = 0; g < groups; ++g) {
      for (size_t s = 0; s < stages; ++s) derivative.push_back(cell.Value(*equation.value, g, s));
    }
  }
  return derivatives;
}

}  // namespace slipway::evaluator
