// Equations in text, evaluated as one kernel: a model of named equations over groups x stages becomes one right-hand
// side, which an integrator launches. It checks every layout against an oracle that walks the equations cell by cell,
// integrates, and draws what became of the states.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "examples/evaluator/inputs.h"
#include "examples/evaluator/integrator.h"
#include "examples/evaluator/model.h"
#include "examples/evaluator/oracle.h"
#include "examples/evaluator/plot.h"
#include "examples/evaluator/rhs.h"
#include "slipway/device.h"

namespace slipway::evaluator {
namespace {

constexpr double kTolerance = 1e-12;  // Of the largest value; sums are taken in another order.

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read '", path, "'"));
  return text.str();
}

// The largest error of the derivatives, as a part of their largest value.
absl::StatusOr<double> ErrorOf(const Stream& stream, const Model& model, const RightHandSide& rhs, MemoryLayout layout,
                               int64_t groups, int64_t stages, const HostValues& values) {
  const Device& device = stream.device();
  SLIPWAY_ASSIGN_OR_RETURN(const StateVector states, MakeStates(device, model, layout, groups, stages));
  SLIPWAY_ASSIGN_OR_RETURN(const StateVector derivatives, MakeStates(device, model, layout, groups, stages));
  SLIPWAY_ASSIGN_OR_RETURN(const ParameterValues parameters, ParametersOn(device, model, values, groups, stages));
  SLIPWAY_RETURN_IF_ERROR(FillStates(model, values, states));
  SLIPWAY_ASSIGN_OR_RETURN(const BoundRightHandSide launch, rhs.Bind(device, states, derivatives, parameters));
  SLIPWAY_RETURN_IF_ERROR(launch.Launch(stream));
  SLIPWAY_RETURN_IF_ERROR(stream.Synchronize());
  const std::vector<std::vector<double>> wanted =
      DerivativesOnHost(model, static_cast<size_t>(groups), static_cast<size_t>(stages), values);
  double largest = 0, error = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    SLIPWAY_ASSIGN_OR_RETURN(const std::vector<double> got, derivatives.views[i].ToVector<double>());
    for (size_t k = 0; k < got.size(); ++k) {
      largest = std::max(largest, std::abs(wanted[i][k]));
      error = std::max(error, std::abs(got[k] - wanted[i][k]));
    }
  }
  return error / largest;
}

absl::StatusOr<bool> Run(const std::string& device_name, const std::string& path, int64_t groups, int64_t stages,
                         const std::string& folder) {
  SLIPWAY_ASSIGN_OR_RETURN(const Device device, Device::Open(device_name));
  SLIPWAY_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  SLIPWAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  SLIPWAY_ASSIGN_OR_RETURN(const Model model, ParseModel(text));
  SLIPWAY_ASSIGN_OR_RETURN(const RightHandSide rhs, RightHandSide::Compile(model));
  std::printf("%zu equations over %lld groups x %lld stages on %s, one kernel:\n%s\n", model.equations.size(),
              static_cast<long long>(groups), static_cast<long long>(stages),  // NOLINT(google-runtime-int)
              device.Describe().c_str(), rhs.text().c_str());
  const HostValues values = MakeInputs(model, static_cast<size_t>(groups), static_cast<size_t>(stages));
  bool right = true;
  constexpr std::pair<MemoryLayout, const char*> kLayouts[] = {
      {MemoryLayout::kFlat, "flat"}, {MemoryLayout::kStructured, "structured"}, {MemoryLayout::kBlock, "block"}};
  for (const auto& [layout, name] : kLayouts) {
    SLIPWAY_ASSIGN_OR_RETURN(const double error, ErrorOf(stream, model, rhs, layout, groups, stages, values));
    std::printf("%-11s largest error against the cell loop: %.2g of the largest value (allowed: %.0g)\n", name, error,
                kTolerance);
    right = right && error <= kTolerance;
  }
  constexpr MemoryLayout kLayout = MemoryLayout::kFlat;
  SLIPWAY_ASSIGN_OR_RETURN(const StateVector states, MakeStates(device, model, kLayout, groups, stages));
  SLIPWAY_ASSIGN_OR_RETURN(const ParameterValues parameters, ParametersOn(device, model, values, groups, stages));
  SLIPWAY_RETURN_IF_ERROR(FillStates(model, values, states));
  SLIPWAY_ASSIGN_OR_RETURN(const Trajectory trajectory, Integrate(stream, model, rhs, kLayout, states, parameters,
                                                                  /*dt=*/0.02, /*steps=*/1500, /*keep=*/10));
  for (size_t i = 0; i < model.states.size(); ++i) {
    std::printf("%s in all: %.6g at time 0, %.6g at %g\n", model.states[i].c_str(), trajectory.totals[i].front(),
                trajectory.totals[i].back(), trajectory.times.back());
    right = right && std::isfinite(trajectory.totals[i].back());
  }
  const std::string picture = folder + "/evaluator.svg";
  std::ofstream file(picture);
  file << CurvesAsSvg(model.states, trajectory);
  file.close();
  if (!file) return absl::NotFoundError(absl::StrCat("cannot write '", picture, "'"));
  std::printf("wrote %s\n", picture.c_str());
  return right;
}

}  // namespace
}  // namespace slipway::evaluator

int main(int argc, char** argv) {
  CLI::App app("Evaluates the equations of a model as one kernel, checks it, integrates it, and draws the result.");
  std::string device, model, folder = ".";
  int64_t groups = 16, stages = 8;
  app.add_option("--model", model, "The model: a file of equations")->required();
  app.add_option("--device", device, "auto, cuda, cuda:N or cpu; without it $SLIPWAY_DEVICE");
  app.add_option("--groups", groups, "How many groups")->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option("--stages", stages, "How many stages")->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option("--out", folder, "The folder for evaluator.svg")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<bool> right = slipway::evaluator::Run(device, model, groups, stages, folder);
  if (!right.ok()) std::fprintf(stderr, "%s\n", std::string(right.status().message()).c_str());
  return right.ok() && *right ? 0 : 1;
}
