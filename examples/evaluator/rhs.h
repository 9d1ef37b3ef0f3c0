// The right-hand side of a model as one kernel: all derivatives of all cells.
#ifndef SLIPWAY_EXAMPLES_EVALUATOR_RHS_H_
#define SLIPWAY_EXAMPLES_EVALUATOR_RHS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "examples/evaluator/model.h"
#include "slipway/array.h"
#include "slipway/bound_launch.h"
#include "slipway/elementwise.h"

namespace slipway::evaluator {

// How a vector of all states lies in memory: as one vector after the other (flat), as arrays apart (structured), or
// group by group, all of one group's states together (block). Nothing is copied: each state is a view of it.
enum class MemoryLayout { kFlat, kStructured, kBlock };

// A value of each state for each cell; views[i] is state i, groups x stages.
struct StateVector {
  std::vector<AnyArray> owners;  // One, or one for each state.
  std::vector<AnyArray> views;
};
absl::StatusOr<StateVector> MakeStates(const Device& device, const Model& model, MemoryLayout layout, int64_t groups,
                                       int64_t stages);

// float64: a number, or an array as it is: [groups], [stages], [groups, stages] or [groups, groups], any strides.
struct ParameterValues {
  std::map<std::string, double, std::less<>> numbers;
  std::map<std::string, AnyArray, std::less<>> arrays;
};

class RightHandSide {
 public:
  static absl::StatusOr<RightHandSide> Compile(const Model& model);

  // The text that the model became.
  const std::string& text() const { return text_; }

  // A launch that computes `derivatives` from `states`, which stay where they are; set "time" and other numbers by
  // name. INVALID_ARGUMENT for a parameter that is missing or has another shape than its declaration says.
  absl::StatusOr<BoundLaunch> Bind(const Device& device, const StateVector& states, const StateVector& derivatives,
                                   const ParameterValues& parameters) const;

 private:
  RightHandSide(Model model, std::string text, Elementwise formula)
      : model_(std::move(model)), text_(std::move(text)), formula_(std::move(formula)) {}
  absl::Status CheckShape(const Named& parameter, const AnyArrayView& value, absl::Span<const int64_t> cells) const;

  Model model_;
  std::string text_;
  Elementwise formula_;
};

}  // namespace slipway::evaluator

#endif  // SLIPWAY_EXAMPLES_EVALUATOR_RHS_H_
