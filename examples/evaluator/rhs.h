// The right-hand side of a model as one kernel: all derivatives of all cells.
#ifndef SLIPWAY_EXAMPLES_EVALUATOR_RHS_H_
#define SLIPWAY_EXAMPLES_EVALUATOR_RHS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "examples/evaluator/model.h"
#include "slipway/array.h"
#include "slipway/elementwise.h"
#include "slipway/stream.h"

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

// What depends on numbers alone is computed on the host, once for each change of a number, and is one of the kernel's.
struct HostNumber {
  std::string name;  // "number1" and so on.
  ExpressionPtr value;
};

// A launch that computes derivatives from states, which stay where they are.
class BoundRightHandSide {
 public:
  // Changes a number of the model, or the time. NOT_FOUND if the model has none of that name.
  absl::Status Set(std::string_view name, double value);
  absl::Status Launch(const Stream& stream) const { return launch_.Launch(stream); }

 private:
  friend class RightHandSide;
  BoundRightHandSide(BoundFormula launch, Model model, std::map<std::string, double, std::less<>> numbers,
                     std::vector<HostNumber> host_numbers, std::set<std::string> used)
      : launch_(std::move(launch)),
        model_(std::move(model)),
        numbers_(std::move(numbers)),
        host_numbers_(std::move(host_numbers)),
        used_(std::move(used)) {}

  BoundFormula launch_;
  Model model_;
  std::map<std::string, double, std::less<>> numbers_;
  std::vector<HostNumber> host_numbers_;
  std::set<std::string> used_;  // Numbers that the kernel has itself.
};

class RightHandSide {
 public:
  static absl::StatusOr<RightHandSide> Compile(const Model& model);

  // The text that the model became.
  const std::string& text() const { return text_; }
  // Whether the kernel has the state or parameter of that name.
  bool Uses(const std::string& name) const { return used_.contains(name); }

  // A launch that computes `derivatives` from `states`, which stay where they are; set "time" and other numbers by
  // name. INVALID_ARGUMENT for a parameter that is missing or has another shape than its declaration says.
  absl::StatusOr<BoundRightHandSide> Bind(const Device& device, const StateVector& states,
                                          const StateVector& derivatives, const ParameterValues& parameters) const;

 private:
  RightHandSide(Model model, std::string text, Elementwise formula, std::set<std::string> used,
                std::vector<HostNumber> host_numbers)
      : model_(std::move(model)),
        text_(std::move(text)),
        formula_(std::move(formula)),
        used_(std::move(used)),
        host_numbers_(std::move(host_numbers)) {}
  absl::Status CheckShape(const Named& parameter, const AnyArrayView& value, absl::Span<const int64_t> cells) const;

  Model model_;
  std::string text_;
  Elementwise formula_;
  std::set<std::string> used_;
  std::vector<HostNumber> host_numbers_;
};

}  // namespace slipway::evaluator

#endif  // SLIPWAY_EXAMPLES_EVALUATOR_RHS_H_
