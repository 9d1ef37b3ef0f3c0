#include "examples/evaluator/inputs.h"

#include <random>

#include "driver/status_macros.h"

namespace slipway::evaluator {

HostValues MakeInputs(const Model& model, size_t groups, size_t stages) {
  std::mt19937 random(7);  // The same numbers everywhere; a distribution would not give them.
  const auto draw = [&] { return 0.1 + 0.9 * (random() >> 8) / double{1 << 24}; };
  HostValues values;
  double scale = 1000;
  for (const std::string& state : model.states) {
    for (size_t i = 0; i < groups * stages; ++i) values[state].push_back(scale * draw());
    scale = 10;
  }
  for (const Named& parameter : model.parameters) {
    const size_t count = parameter.shape == Shape::kNumber   ? 1
                         : parameter.shape == Shape::kGroup  ? groups
                         : parameter.shape == Shape::kStage  ? stages
                         : parameter.shape == Shape::kMatrix ? groups * groups
                                                             : groups * stages;
    const double size = parameter.shape == Shape::kMatrix ? 1.0 / static_cast<double>(groups) : 1.0;
    for (size_t i = 0; i < count; ++i) values[parameter.name].push_back(size * draw());
  }
  values["time"] = {0};
  return values;
}

absl::StatusOr<ParameterValues> ParametersOn(const Device& device, const Model& model, const HostValues& values,
                                             int64_t groups, int64_t stages) {
  ParameterValues parameters;
  for (const Named& parameter : model.parameters) {
    const std::vector<double>& of = values.find(parameter.name)->second;
    if (parameter.shape == Shape::kNumber) {
      parameters.numbers[parameter.name] = of[0];
      continue;
    }
    std::vector<int64_t> shape;
    if (parameter.shape != Shape::kStage) shape.push_back(groups);
    if (parameter.shape == Shape::kMatrix) shape.push_back(groups);
    if (parameter.shape == Shape::kStage || parameter.shape == Shape::kCell) shape.push_back(stages);
    SLIPWAY_ASSIGN_OR_RETURN(const AnyArray array, AnyArray::From(device, DType::kFloat64, shape, of.data()));
    parameters.arrays.emplace(parameter.name, array);
  }
  return parameters;
}

absl::Status FillStates(const Model& model, const HostValues& values, const StateVector& states) {
  for (size_t i = 0; i < model.states.size(); ++i) {
    SLIPWAY_RETURN_IF_ERROR(states.views[i].CopyFrom(values.find(model.states[i])->second.data()));
  }
  return absl::OkStatus();
}

}  // namespace slipway::evaluator
