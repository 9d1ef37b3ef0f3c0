// Waves through two slits: a host application whose inner loop is bound launches, or a graph of them. It solves the
// wave equation both ways, checks the result against plain loops on the host and against what Huygens' principle
// predicts, and draws it.
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <string>

#include "examples/waves/picture.h"
#include "examples/waves/reference.h"
#include "examples/waves/scene.h"
#include "examples/waves/solver.h"
#include "slipway/device.h"

namespace slipway::waves {
namespace {

constexpr int64_t kSteps = 1500;      // Waves have crossed the scene and filled it.
constexpr int64_t kWatchFrom = 1180;  // Ten periods.
constexpr double kTolerance = 1e-3;   // float32 against float64, after so many steps.
constexpr double kLikeness = 0.95;

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Whether all is right. What is wrong is said.
bool Run(const std::string& device_name, const std::string& folder) {
  const auto failed = [](const absl::Status& status) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return false;
  };
  const absl::StatusOr<Device> device = Device::Open(device_name);
  if (!device.ok()) return failed(device.status());
  const Scene scene = TwoSlits();
  std::printf("%lld x %lld cells, %lld steps on %s\n", static_cast<long long>(scene.rows),  // NOLINT
              static_cast<long long>(scene.columns), static_cast<long long>(kSteps),        // NOLINT
              device->Describe().c_str());

  absl::StatusOr<Result> results[2];
  const Road roads[] = {Road::kBoundLaunches, Road::kGraph};
  const char* const names[] = {"bound launches", "a graph of them"};
  for (int i = 0; i < 2; ++i) {
    const double start = Seconds();
    results[i] = Solve(*device, scene, kSteps, kWatchFrom, roads[i]);
    if (!results[i].ok()) return failed(results[i].status());
    std::printf("  %-16s %6.3f s\n", names[i], Seconds() - start);
  }
  const double start = Seconds();
  const Result host = SolveOnHost(scene, kSteps, kWatchFrom);
  std::printf("  %-16s %6.3f s\n", "loops on the host", Seconds() - start);

  const bool same = results[0]->field == results[1]->field && results[0]->screen == results[1]->screen;
  const double error = LargestError(results[1]->field, host.field);
  const std::vector<double> predicted = PredictedScreen(scene);
  const double likeness = Correlation(results[1]->screen, predicted, scene.rows / 4, scene.rows * 3 / 4);
  std::printf("launches and graph agree bit by bit: %s\n", same ? "yes" : "NO");
  std::printf("largest error against the host: %.2g of the largest value (allowed: %.0g)\n", error, kTolerance);
  std::printf("correlation with Huygens' principle on the screen: %.3f (wanted: %.2f)\n", likeness, kLikeness);

  for (const auto& [name, content] :
       {std::pair<const char*, std::string>("waves.png", FieldAsPng(scene, results[1]->field)),
        {"waves.svg", ScreenAsSvg(results[1]->screen, predicted)}}) {
    const std::string path = folder + "/" + name;
    if (absl::Status status = WriteFile(path, content); !status.ok()) return failed(status);
    std::printf("wrote %s\n", path.c_str());
  }
  return same && error <= kTolerance && likeness >= kLikeness;
}

}  // namespace
}  // namespace slipway::waves

int main(int argc, char** argv) {
  CLI::App app("Waves through two slits.");
  std::string device, folder = ".";
  app.add_option("--device", device, "auto, cuda, cuda:N or cpu; default: $SLIPWAY_DEVICE, else auto");
  app.add_option("--out", folder, "folder for waves.png and waves.svg, which has to be there; default: this one");
  CLI11_PARSE(app, argc, argv);
  return slipway::waves::Run(device, folder) ? 0 : 1;
}
