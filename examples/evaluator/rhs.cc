#include "examples/evaluator/rhs.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/status_macros.h"

namespace slipway::evaluator {
namespace {

// Writes an expression of the model as one of Slipway's text language, whose element is a cell: index(0) is its group,
// index(1) its stage. Within a reduction over groups what hangs on the group is read by index.
class Writer {
 public:
  explicit Writer(const Model& model) : model_(model) {}

  // At the group of that name; empty: the cell's own.
  std::string Write(const Expression& value, const std::string& group) {
    switch (value.kind) {
      case Expression::Kind::kNumber:
        return value.text;
      case Expression::Kind::kName:
        return WriteName(value.text, group);
      case Expression::Kind::kNegate:
        return absl::StrCat("(-", Write(*value.operands[0], group), ")");
      case Expression::Kind::kBinary:
        return absl::StrCat("(", Write(*value.operands[0], group), " ", value.text, " ",
                            Write(*value.operands[1], group), ")");
      case Expression::Kind::kCall:
        return WriteCall(value, group);
    }
    return {};
  }

 private:
  std::string WriteName(const std::string& name, const std::string& group) {
    const auto known = model_.names.find(name);
    const Shape shape = known == model_.names.end() ? Shape::kNumber : known->second;  // `time`.
    if (group.empty() || shape == Shape::kNumber || shape == Shape::kStage) return name;
    if (shape == Shape::kAlias) return Write(*model_.AliasCalled(name)->value, group);
    return absl::StrCat(name, "[", group, shape == Shape::kGroup ? ", 0]" : ", index(1)]");
  }

  std::string WriteCall(const Expression& value, const std::string& group) {
    const std::string_view reduction = ReductionOf(value.text);
    const bool mixes = value.text == "mix";
    if (!mixes && reduction.empty()) {
      return absl::StrCat(
          value.text, "(",
          absl::StrJoin(value.operands, ", ",
                        [&](std::string* out, const auto& operand) { out->append(Write(*operand, group)); }),
          ")");
    }
    const std::string other = absl::StrCat("g", ++reductions_);
    const std::string range = absl::StrCat(other, " in 0..shape(", model_.states[0], ", 0): ");
    if (!mixes) return absl::StrCat(std::string(reduction), "(", range, Write(*value.operands[0], other), ")");
    return absl::StrCat("sum(", range, value.operands[0]->text, "[", group.empty() ? "index(0)" : group, ", ", other,
                        "] * ", Write(*value.operands[1], other), ")");
  }

  const Model& model_;
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
  for (const Equation& alias : model.aliases) {
    absl::StrAppend(&text, "let ", alias.name, " = ", writer.Write(*alias.value, ""), "\n");
  }
  std::vector<std::string> inputs, outputs;
  for (const std::string& state : model.states) inputs.push_back(state + ": f64[]");
  for (const Named& parameter : model.parameters) {
    const bool is_number = parameter.shape == Shape::kNumber, is_matrix = parameter.shape == Shape::kMatrix;
    inputs.push_back(absl::StrCat(parameter.name, is_number ? ": f64" : is_matrix ? ": f64[:,:]" : ": f64[]"));
  }
  for (const Equation& equation : model.equations) {
    absl::StrAppend(&text, "d_", equation.name, " = ", writer.Write(*equation.value, ""), "\n");
    outputs.push_back(absl::StrCat("d_", equation.name, ": f64[]"));
  }
  const std::string signature = absl::StrCat(absl::StrJoin(inputs, ", "), " -> ", absl::StrJoin(outputs, ", "));
  SLIPWAY_ASSIGN_OR_RETURN(Elementwise formula, Elementwise::Parse(text, signature, "right_hand_side"));
  return RightHandSide(model, std::move(text), std::move(formula));
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

absl::StatusOr<BoundLaunch> RightHandSide::Bind(const Device& device, const StateVector& states,
                                                const StateVector& derivatives,
                                                const ParameterValues& parameters) const {
  std::vector<AnyArray> kept;  // Views that are made here; Args refer to them.
  kept.reserve(model_.parameters.size());
  std::vector<Arg> args;
  for (const AnyArray& derivative : derivatives.views) args.emplace_back(derivative);
  for (const AnyArray& state : states.views) args.emplace_back(state);
  for (const Named& parameter : model_.parameters) {
    if (parameter.shape == Shape::kNumber) {
      const auto value = parameters.numbers.find(parameter.name);
      if (value == parameters.numbers.end() && parameter.name != "time") {
        return absl::InvalidArgumentError(absl::StrCat("parameter '", parameter.name, "' is missing; give a number"));
      }
      args.emplace_back(value == parameters.numbers.end() ? 0.0 : value->second);
      continue;
    }
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
  return formula_.Bind(device, args);
}

}  // namespace slipway::evaluator
