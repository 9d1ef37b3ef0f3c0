// Nanoseconds of one launch, for every path and case of launch_cases.h side by side in one process.
//
//   launch_latency [--device null|cpu|cuda|cuda:N] [--benchmark_filter=typed] [--benchmark_out=FILE] ...
//   launch_latency --samples [--filter REGEX] [--count 21]        for tools/compare
//
// On the null driver (unless --device says otherwise) what is measured is the host's own cost. On a real device a
// launch is timed in bursts that fit its queue, and the device is waited for between them, untimed: what is measured is
// the time until the caller can go on.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/launch_cases.h"
#include "benchmarks/launch_oracle.h"
#include "benchmarks/launch_scale.h"
#include "benchmarks/launch_timing.h"
#include "benchmarks/samples.h"
#include "slipway/null_driver.h"

namespace {

using namespace slipway::launch_cases;
using slipway::Device;

struct Options {
  std::string device = "null";
  bool samples = false;
  std::string filter;
  int count = 21;
};

// Nanoseconds of a launch over as many bursts as make a sample worth timing.
double Sample(const Bench& bench, const Run& run) {
  constexpr int kBursts = 10;
  double seconds = 0;
  for (int i = 0; i < kBursts; ++i) seconds += SecondsOfBurst(bench, run);
  return seconds * 1e9 / static_cast<double>(kBursts * BurstOn(bench.device));
}

int PrintSamples(const Bench& bench, const Options& options) {
  slipway::SampleReport report;
  const std::regex filter(options.filter);
  for (const LaunchCase& row : AllLaunchCases()) {
    const std::string name = row.path + "/" + row.name;
    if (!std::regex_search(name, filter)) continue;
    const absl::StatusOr<std::string> result = CheckLaunches(row);
    if (!result.ok()) {
      std::fprintf(stderr, "launch_latency: %s\n", std::string(result.status().message()).c_str());
      return 1;
    }
    const Run run = row.prepare(bench);
    Sample(bench, run);
    report.Add(name, "ns", *result, options.count, [&] { return Sample(bench, run); });
  }
  report.Print();
  return 0;
}

void RegisterLaunchCases(const Bench& bench) {
  for (const LaunchCase& row : AllLaunchCases()) {
    RegisterBursts(row.path + "/" + row.name, bench, [&bench, row] { return row.prepare(bench); });
  }
}

int Usage() {
  std::fputs(
      "usage: launch_latency [--device null|cpu|cuda|cuda:N] [--benchmark_...]\n"
      "       launch_latency [--device D] --samples [--filter REGEX] [--count N]\n",
      stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);  // Takes its own arguments out.
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--samples") {
      options.samples = true;
    } else if (argument == "--device" && i + 1 < argc) {
      options.device = argv[++i];
    } else if (argument == "--filter" && i + 1 < argc) {
      options.filter = argv[++i];
    } else if (argument == "--count" && i + 1 < argc && std::atoi(argv[i + 1]) > 0) {
      options.count = std::atoi(argv[++i]);
    } else {
      return Usage();
    }
  }
  const absl::StatusOr<Device> device =
      options.device == "null" ? Device::Open(slipway::NullDriver()) : Device::Open(options.device);
  if (!device.ok()) {
    std::fprintf(stderr, "launch_latency: %s\n", std::string(device.status().message()).c_str());
    return 1;
  }
  setenv("SLIPWAY_LAUNCH_WARNINGS", "off", /*replace=*/0);  // Launches are small here, and are to be.
  const Bench bench(*device);
  if (options.samples) return PrintSamples(bench, options);
  RegisterLaunchCases(bench);
  RegisterScaleRows(bench);
  RegisterHostRows();
  benchmark::AddCustomContext("device", device->Describe());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
