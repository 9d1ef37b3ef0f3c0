// Nanoseconds per launch on the null driver: bare, typed and dynamic, side by side in one process.
//
//   launch_latency [--benchmark_filter=typed] [--benchmark_format=json] ...
#include <benchmark/benchmark.h>

#include <string>

#include "benchmarks/launch_cases.h"
#include "slipway/null_driver.h"

int main(int argc, char** argv) {
  using namespace slipway::launch_cases;
  const Bench bench(slipway::Device::Open(slipway::NullDriver()).value());
  for (const LaunchCase& row : AllLaunchCases()) {
    benchmark::RegisterBenchmark((row.path + "/" + row.name).c_str(), [&bench, row](benchmark::State& state) {
      const Run run = row.prepare(bench);
      run(bench.stream, 1000);
      for (auto _ : state) run(bench.stream, 1000);
      state.SetItemsProcessed(state.iterations() * 1000);
      state.counters["per_launch"] = benchmark::Counter(1000.0 * static_cast<double>(state.iterations()),
                                                        benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    });
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
