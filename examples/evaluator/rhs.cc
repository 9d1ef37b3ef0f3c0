#include "examples/evaluator/rhs.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/status_macros.h"

namespace slipway::evaluator {
namespace {

// Whether it depends on nothing but numbers and the time.
bool IsOfNumbers(const Model& model, const Expression& value) {
  if (value.kind == Expression::Kind::kName) {
    const auto known = model.names.find(value.text);
    if (known == model.names.end() || known->second == Shape::kNumber) return true;
    return known->second == Shape::kAlias && IsOfNumbers(model, *model.AliasCalled(value.text)->value);
  }
  if (!ReductionOf(value.text).empty() || value.text == "mix") return false;
  return std::all_of(value.operands.begin(), value.operands.end(),
                     [&](const ExpressionPtr& operand) { return IsOfNumbers(model, *operand); });
}

// The value of such an expression. `numbers` has what the model calls by name.
double NumberOf(const Model& model, const Expression& value,
                const std::map<std::string, double, std::less<>>& numbers) {
  const auto operand = [&](size_t i) { return NumberOf(model, *value.operands[i], numbers); };
  const std::string& text = value.text;
  switch (value.kind) {
    case Expression::Kind::kNumber:
      return value.number;
    case Expression::Kind::kNegate:
      return -operand(0);
    case Expression::Kind::kName: {
      const Equation* const alias = model.AliasCalled(text);
      return alias != nullptr ? NumberOf(model, *alias->value, numbers) : numbers.find(text)->second;
    }
    case Expression::Kind::kBinary: {
      const double x = operand(0), y = operand(1);
      return text == "+" ? x + y : text == "-" ? x - y : text == "*" ? x * y : x / y;
    }
    case Expression::Kind::kCall:
      break;
  }
  using OfOne = double (*)(double);
  constexpr std::pair<std::string_view, OfOne> kOfOne[] = {{"exp", std::exp},   {"log", std::log}, {"sqrt", std::sqrt},
                                                           {"tanh", std::tanh}, {"sin", std::sin}, {"cos", std::cos},
                                                           {"abs", std::fabs}};
  for (const auto& [name, function] : kOfOne) {
    if (name == text) return function(operand(0));
  }
  return text == "pow"   ? std::pow(operand(0), operand(1))
         : text == "min" ? std::fmin(operand(0), operand(1))
                         : std::fmax(operand(0), operand(1));
}

// Writes an expression of the model as one of Slipway's text language, whose element is a cell: index(0) is its group,
// index(1) its stage. Within a reduction over groups what hangs on the group is read by index.
class Writer {
 public:
  explicit Writer(const Model& model) : model_(model) {}

  // The names that were written: a signature may not have others.
  const std::set<std::string>& used() const { return used_; }
  const std::vector<HostNumber>& host_numbers() const { return host_numbers_; }

  // At the group of that name; empty: the cell's own.
  std::string Write(const ExpressionPtr& pointer, const std::string& group) {
    const Expression& value = *pointer;
    const bool is_leaf = value.kind == Expression::Kind::kNumber || value.kind == Expression::Kind::kName;
    if (!is_leaf && IsOfNumbers(model_, value)) {
      host_numbers_.push_back({absl::StrCat("number", host_numbers_.size() + 1), pointer});
      return host_numbers_.back().name;
    }
    switch (value.kind) {
      case Expression::Kind::kNumber:
        return value.text;
      case Expression::Kind::kName:
        return WriteName(value.text, group);
      case Expression::Kind::kNegate:
        return absl::StrCat("(-", Write(value.operands[0], group), ")");
      case Expression::Kind::kBinary:
        return absl::StrCat("(", Write(value.operands[0], group), " ", value.text, " ", Write(value.operands[1], group),
                            ")");
      case Expression::Kind::kCall:
        return WriteCall(value, group);
    }
    return {};
  }

 private:
  std::string WriteName(const std::string& name, const std::string& group) {
    const auto known = model_.names.find(name);
    const Shape shape = known == model_.names.end() ? Shape::kNumber : known->second;  // `time`.
    used_.insert(name);
    if (group.empty() || shape == Shape::kNumber || shape == Shape::kStage) return name;
    if (shape == Shape::kAlias) return Write(model_.AliasCalled(name)->value, group);
    return absl::StrCat(name, "[", group, shape == Shape::kGroup ? ", 0]" : ", index(1)]");
  }

  std::string WriteCall(const Expression& value, const std::string& group) {
    const std::string_view reduction = ReductionOf(value.text);
    const bool mixes = value.text == "mix";
    if (!mixes && reduction.empty()) {
      return absl::StrCat(
          value.text, "(",
          absl::StrJoin(value.operands, ", ",
                        [&](std::string* out, const auto& operand) { out->append(Write(operand, group)); }),
          ")");
    }
    const std::string other = absl::StrCat("g", ++reductions_);
    const std::string range = absl::StrCat(other, " in 0..shape(0): ");
    if (!mixes) return absl::StrCat(std::string(reduction), "(", range, Write(value.operands[0], other), ")");
    used_.insert(value.operands[0]->text);
    return absl::StrCat("sum(", range, value.operands[0]->text, "[", group.empty() ? "index(0)" : group, ", ", other,
                        "] * ", Write(value.operands[1], other), ")");
  }

  const Model& model_;
  std::set<std::string> used_;
  std::vector<HostNumber> host_numbers_;
  int reductions_ = 0;
};

std::string_view ShapeWords(Shape shape) {
  switch (shape) {
    case Shape::kGroup:
      return "[groups]";
    case Shape::kStage:
      return "[stages]";
    case Shape::kMatrix:
      return "[groups, groups]";
    default:
      return "[groups, stages]";
  }
}

}  // namespace

absl::StatusOr<StateVector> MakeStates(const Device& device, const Model& model, MemoryLayout layout, int64_t groups,
                                       int64_t stages) {
  StateVector states;
  const auto count = static_cast<int64_t>(model.states.size());
  if (layout == MemoryLayout::kStructured) {
    for (int64_t i = 0; i < count; ++i) {
      SLIPWAY_ASSIGN_OR_RETURN(AnyArray state, AnyArray::Zeros(device, DType::kFloat64, {groups, stages}));
      states.owners.push_back(state);
      states.views.push_back(std::move(state));
    }
    return states;
  }
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray all, AnyArray::Zeros(device, DType::kFloat64, {count * groups * stages}));
  const bool flat = layout == MemoryLayout::kFlat;
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray shaped,
                           flat ? all.Reshaped({count, groups, stages}) : all.Reshaped({groups, count, stages}));
  for (int64_t i = 0; i < count; ++i) {
    SLIPWAY_ASSIGN_OR_RETURN(AnyArray state, flat ? shaped.Sliced({i}) : shaped.Sliced({Slice(), i}));
    states.views.push_back(std::move(state));
  }
  states.owners.push_back(all);
  return states;
}

absl::StatusOr<RightHandSide> RightHandSide::Compile(const Model& model) {
  Writer writer(model);
  std::string text;
  std::vector<std::string> inputs, outputs;
  for (const Equation& equation : model.equations) {
    absl::StrAppend(&text, "d_", equation.name, " = ", writer.Write(equation.value, ""), "\n");
    outputs.push_back(absl::StrCat("d_", equation.name, ": f64[]"));
  }
  // What is used by these, and by what they use.
  for (auto alias = model.aliases.rbegin(); alias != model.aliases.rend(); ++alias) {
    if (!writer.used().contains(alias->name)) continue;
    text = absl::StrCat("let ", alias->name, " = ", writer.Write(alias->value, ""), "\n", text);
  }
  for (const std::string& state : model.states) {
    if (writer.used().contains(state)) inputs.push_back(state + ": f64[]");
  }
  for (const Named& parameter : model.parameters) {
    if (!writer.used().contains(parameter.name)) continue;
    const bool is_number = parameter.shape == Shape::kNumber, is_matrix = parameter.shape == Shape::kMatrix;
    inputs.push_back(absl::StrCat(parameter.name, is_number ? ": f64" : is_matrix ? ": f64[:,:]" : ": f64[]"));
  }
  for (const HostNumber& number : writer.host_numbers()) inputs.push_back(number.name + ": f64");
  const std::string signature = absl::StrCat(absl::StrJoin(inputs, ", "), " -> ", absl::StrJoin(outputs, ", "));
  SLIPWAY_ASSIGN_OR_RETURN(Elementwise formula, Elementwise::Parse(text, signature, "right_hand_side"));
  return RightHandSide(model, std::move(text), std::move(formula), writer.used(), writer.host_numbers());
}

absl::Status RightHandSide::CheckShape(const Named& parameter, const AnyArrayView& value,
                                       absl::Span<const int64_t> cells) const {
  std::vector<int64_t> wanted;
  if (parameter.shape != Shape::kStage) wanted.push_back(cells[0]);
  if (parameter.shape == Shape::kStage || parameter.shape == Shape::kCell) wanted.push_back(cells[1]);
  if (parameter.shape == Shape::kMatrix) wanted.push_back(cells[0]);
  if (value.shape() == absl::MakeConstSpan(wanted) && value.dtype() == DType::kFloat64) return absl::OkStatus();
  const std::string_view words = ShapeWords(parameter.shape);
  return absl::InvalidArgumentError(absl::StrCat("parameter '", parameter.name, "' is ", Describe(value),
                                                 ", and float64", absl::string_view(words.data(), words.size()),
                                                 " is wanted: [", absl::StrJoin(wanted, ","), "]"));
}

absl::StatusOr<BoundRightHandSide> RightHandSide::Bind(const Device& device, const StateVector& states,
                                                       const StateVector& derivatives,
                                                       const ParameterValues& parameters) const {
  std::map<std::string, double, std::less<>> numbers = parameters.numbers;
  numbers.emplace("time", 0);
  std::vector<AnyArray> kept;  // Views that are made here; Args refer to them.
  kept.reserve(model_.parameters.size());
  std::vector<Arg> args;
  for (const AnyArray& derivative : derivatives.views) args.emplace_back(derivative);
  for (size_t i = 0; i < states.views.size(); ++i) {
    if (Uses(model_.states[i])) args.emplace_back(states.views[i]);
  }
  for (const Named& parameter : model_.parameters) {
    if (parameter.shape == Shape::kNumber) {
      const auto value = numbers.find(parameter.name);
      if (value == numbers.end()) {
        return absl::InvalidArgumentError(absl::StrCat("parameter '", parameter.name, "' is missing; give a number"));
      }
      if (Uses(parameter.name)) args.emplace_back(value->second);
      continue;
    }
    if (!Uses(parameter.name)) continue;
    const auto value = parameters.arrays.find(parameter.name);
    if (value == parameters.arrays.end()) {
      return absl::InvalidArgumentError(absl::StrCat("parameter '", parameter.name, "' is missing; give an array"));
    }
    SLIPWAY_RETURN_IF_ERROR(CheckShape(parameter, value->second, states.views[0].shape()));
    kept.push_back(value->second);
    // One number a group is the same for all stages: a column.
    if (parameter.shape == Shape::kGroup) {
      SLIPWAY_ASSIGN_OR_RETURN(kept.back(), value->second.Sliced({Slice(), kNewAxis}));
    }
    args.emplace_back(kept.back());
  }
  for (const HostNumber& number : host_numbers_) args.emplace_back(NumberOf(model_, *number.value, numbers));
  SLIPWAY_ASSIGN_OR_RETURN(BoundFormula launch, formula_.Bind(device, args));
  return BoundRightHandSide(std::move(launch), model_, std::move(numbers), host_numbers_, used_);
}

absl::Status BoundRightHandSide::Set(std::string_view name, double value) {
  const auto number = numbers_.find(name);
  if (number == numbers_.end()) {
    return absl::NotFoundError(
        absl::StrCat("the model has no number '", absl::string_view(name.data(), name.size()), "'"));
  }
  number->second = value;
  if (used_.contains(number->first)) SLIPWAY_RETURN_IF_ERROR(launch_.Set(number->first, value));
  for (const HostNumber& host : host_numbers_) {
    SLIPWAY_RETURN_IF_ERROR(launch_.Set(host.name, NumberOf(model_, *host.value, numbers_)));
  }
  return absl::OkStatus();
}

}  // namespace slipway::evaluator
