// A model: named equations over groups x stages.
//
//   state S, E, I, R            # each of them groups x stages
//   number sigma, omega         # parameters: one for all,
//   group beta                  # one for each group,
//   stage gamma                 # one for each stage,
//   cell import                 # one for each group and stage,
//   matrix contact              # one for each pair of groups
//   N = S + E + I + R                       # an alias
//   force = beta * mix(contact, I / N)
//   d S = omega * R - force * S             # an equation for each state
//
// Expressions are of one cell: a group and a stage. mix(m, e) is the sum over groups j of m[group, j] * e at j, of the
// same stage; sum_groups(e), mean_groups, min_groups and max_groups reduce e over all groups. Functions: exp log sqrt
// tanh sin cos abs, and min max pow of two. `time` is the time.
#ifndef SLIPWAY_EXAMPLES_EVALUATOR_MODEL_H_
#define SLIPWAY_EXAMPLES_EVALUATOR_MODEL_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "examples/evaluator/expression.h"

namespace slipway::evaluator {

enum class Shape { kNumber, kGroup, kStage, kCell, kMatrix, kState, kAlias };

struct Named {
  std::string name;
  Shape shape;
};
struct Equation {
  std::string name;  // Of an alias, or of the state whose derivative it is.
  ExpressionPtr value;
};
struct Model {
  std::vector<std::string> states;
  std::vector<Named> parameters;    // In order; `time`, a number, is the last.
  std::vector<Equation> aliases;    // Each refers only to those before it.
  std::vector<Equation> equations;  // In the order of the states.
  std::map<std::string, Shape, std::less<>> names;

  const Equation* AliasCalled(std::string_view name) const;
};

// INVALID_ARGUMENT with line, caret and reason: unknown names (with a suggestion) and functions, wrong numbers of
// arguments, matrices outside of mix, names that are defined twice, states without an equation.
absl::StatusOr<Model> ParseModel(std::string_view text);

// "sum" for sum_groups, and so on; empty for what is no reduction over groups.
std::string_view ReductionOf(std::string_view function);

}  // namespace slipway::evaluator

#endif  // SLIPWAY_EXAMPLES_EVALUATOR_MODEL_H_
