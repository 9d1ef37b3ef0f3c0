#include "examples/evaluator/integrator.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"

namespace slipway::evaluator {
namespace {

// Bound launches that run one after the other: one for each array that a state vector lies in.
struct Launches {
  std::vector<BoundFormula> list;

  absl::Status Launch(const Stream& stream) const {
    for (const BoundFormula& launch : list) SLIPWAY_RETURN_IF_ERROR(launch.Launch(stream));
    return absl::OkStatus();
  }
};

absl::StatusOr<Launches> BindAll(const Device& device, const Elementwise& formula,
                                 const std::vector<const StateVector*>& vectors, double number) {
  Launches launches;
  for (size_t i = 0; i < vectors[0]->owners.size(); ++i) {
    std::vector<Arg> args;
    for (const StateVector* vector : vectors) args.emplace_back(vector->owners[i]);
    args.emplace_back(number);
    SLIPWAY_ASSIGN_OR_RETURN(BoundFormula launch, formula.Bind(device, args));
    launches.list.push_back(std::move(launch));
  }
  return launches;
}

}  // namespace

absl::StatusOr<Trajectory> Integrate(const Stream& stream, const Model& model, const RightHandSide& rhs,
                                     MemoryLayout layout, const StateVector& y, const ParameterValues& parameters,
                                     double dt, int64_t steps, int64_t keep) {
  if (steps < 1 || keep < 1) {
    return absl::InvalidArgumentError(absl::StrCat("steps is ", steps, " and keep is ", keep, "; give 1 or more"));
  }
  const Device& device = stream.device();
  const int64_t groups = y.views[0].shape()[0], stages = y.views[0].shape()[1];
  StateVector slopes[4], moved;
  for (StateVector* vector : {&slopes[0], &slopes[1], &slopes[2], &slopes[3], &moved}) {
    SLIPWAY_ASSIGN_OR_RETURN(*vector, MakeStates(device, model, layout, groups, stages));
  }
  SLIPWAY_ASSIGN_OR_RETURN(const Elementwise move, Elementwise::Parse("z = y + h * k", "y, k, h -> z"));
  SLIPWAY_ASSIGN_OR_RETURN(const Elementwise finish,
                           Elementwise::Parse("y = x + h * (k1 + 2 * (k2 + k3) + k4)", "x, k1, k2, k3, k4, h -> y"));
  // Where each slope is taken: at y, or at y moved along the one before; and when.
  constexpr double kAhead[4] = {0, 0.5, 0.5, 1};
  std::vector<BoundRightHandSide> evaluate;
  std::vector<Launches> moves;
  for (int i = 0; i < 4; ++i) {
    SLIPWAY_ASSIGN_OR_RETURN(BoundRightHandSide launch, rhs.Bind(device, i == 0 ? y : moved, slopes[i], parameters));
    evaluate.push_back(std::move(launch));
    if (i == 0) continue;
    SLIPWAY_ASSIGN_OR_RETURN(Launches launches, BindAll(device, move, {&moved, &y, &slopes[i - 1]}, kAhead[i] * dt));
    moves.push_back(std::move(launches));
  }
  SLIPWAY_ASSIGN_OR_RETURN(const Launches finished,
                           BindAll(device, finish, {&y, &y, &slopes[0], &slopes[1], &slopes[2], &slopes[3]}, dt / 6));

  Trajectory trajectory;
  trajectory.totals.resize(model.states.size());
  const auto record = [&](double time) -> absl::Status {
    trajectory.times.push_back(time);
    for (size_t i = 0; i < y.views.size(); ++i) {
      SLIPWAY_RETURN_IF_ERROR(stream.Synchronize());
      SLIPWAY_ASSIGN_OR_RETURN(const std::vector<double> values, y.views[i].ToVector<double>());
      trajectory.totals[i].push_back(std::accumulate(values.begin(), values.end(), 0.0));
    }
    return absl::OkStatus();
  };
  SLIPWAY_RETURN_IF_ERROR(record(0));
  for (int64_t step = 0; step < steps; ++step) {
    for (size_t i = 0; i < 4; ++i) {
      if (i > 0) SLIPWAY_RETURN_IF_ERROR(moves[i - 1].Launch(stream));
      SLIPWAY_RETURN_IF_ERROR(evaluate[i].Set("time", (static_cast<double>(step) + kAhead[i]) * dt));
      SLIPWAY_RETURN_IF_ERROR(evaluate[i].Launch(stream));
    }
    SLIPWAY_RETURN_IF_ERROR(finished.Launch(stream));
    if ((step + 1) % keep == 0) SLIPWAY_RETURN_IF_ERROR(record(static_cast<double>(step + 1) * dt));
  }
  SLIPWAY_RETURN_IF_ERROR(stream.Synchronize());
  return trajectory;
}

}  // namespace slipway::evaluator
