// Nanoseconds of one launch on a device, every path of benchmarks/launch_cases beside the bare call.
//
// A launch's cost drifts with the machine's clocks and queues, and differences of a few per cent are looked for. So the
// paths of a case take turns: a burst of launches of each, then the next round; medians over the rounds are compared. A
// burst fits the device's queue, and the device is waited for after it, which is not timed.
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "benchmarks/launch_cases.h"
#include "driver/status_macros.h"
#include "tests/gpu_check/checks.h"

namespace slipway::gpu_check {
namespace {

using launch_cases::Bench;
using launch_cases::LaunchCase;
using launch_cases::Run;

constexpr int kBurst = 16;
constexpr int kRounds = 200;

struct Row {
  std::string path;
  Run run;
  std::vector<double> nanoseconds;  // Of a launch, one a round.
};

absl::Status TimeBurst(const Stream& stream, Row& row) {
  const auto begin = std::chrono::steady_clock::now();
  row.run(stream, kBurst);
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
  row.nanoseconds.push_back(time.count() / kBurst);
  return stream.Synchronize();
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

absl::StatusOr<Json> MeasureLaunches(const Device& device) {
  const Bench bench(device);
  std::vector<std::string> order;
  std::map<std::string, std::vector<Row>> cases;
  for (const LaunchCase& launch : launch_cases::AllLaunchCases()) {
    if (!cases.contains(launch.name)) order.push_back(launch.name);
    cases[launch.name].push_back({launch.path, launch.prepare(bench), {}});
  }
  Json result = Json::array();
  for (const std::string& name : order) {
    std::vector<Row>& rows = cases[name];
    for (int round = 0; round <= kRounds; ++round) {
      for (Row& row : rows) SLIPWAY_RETURN_IF_ERROR(TimeBurst(bench.stream, row));
      if (round == 0) {  // Loads, compiles and warms up.
        for (Row& row : rows) row.nanoseconds.clear();
      }
    }
    for (const Row& row : rows) {
      result.push_back({{"path", row.path}, {"case", name}, {"ns", Median(row.nanoseconds)}});
    }
  }
  return result;
}

}  // namespace slipway::gpu_check
