#include "benchmarks/launch_scale.h"

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/launch_timing.h"
#include "slipway/graph.h"

namespace slipway::launch_cases {
namespace {

constexpr char kCase[] = "3x1d";
constexpr int kLoaded = 100'000;

void RegisterThreads(const Bench& bench, const LaunchCase& row) {
  const auto run = std::make_shared<Run>();  // Prepared by the first thread of the first run, kept for the rest.
  benchmark::RegisterBenchmark(("threads/" + row.path).c_str(),
                               [&bench, row, run](benchmark::State& state) {
                                 const Stream stream = bench.device.CreateStream().value();
                                 if (state.thread_index() == 0 && *run == nullptr) *run = row.prepare(bench);
                                 const int64_t burst = BurstOn(bench.device);
                                 for (auto _ : state) (*run)(stream, burst);  // All threads begin together.
                                 Require(stream.Synchronize().ok());
                                 state.SetItemsProcessed(state.iterations() * burst);
                               })
      ->Threads(1)
      ->Threads(2)
      ->UseRealTime();
}

void RegisterLoaded(const Bench& bench, const LaunchCase& row, size_t count) {
  RegisterBursts("loaded/" + row.path + "/" + std::to_string(count), bench, [&bench, row, count] {
    KeepLoaded(bench.device, count);
    return row.prepare(bench);
  });
}

// A graph of kGraph launches, beside as many launches. Both are timed to the end of their work.
void RegisterGraph(const Bench& bench, const LaunchCase& row) {
  constexpr int kGraph = 1'000;
  const auto register_row = [&](const char* name, const auto& prepare) {
    benchmark::RegisterBenchmark(name, [&bench, row, prepare](benchmark::State& state) {
      const Run run = row.prepare(bench);
      auto work = prepare(bench, run);
      work();
      Require(bench.stream.Synchronize().ok());
      for (auto _ : state) {
        work();
        Require(bench.stream.Synchronize().ok());
      }
      SetPerLaunch(&state, kGraph);
    })->UseRealTime();
  };
  register_row("graph/launches",
               [](const Bench& bench, const Run& run) { return [&bench, &run] { run(bench.stream, kGraph); }; });
  register_row("graph/replay", [](const Bench& bench, const Run& run) {
    const Graph graph = Graph::Capture(bench.stream, [&] {
                          run(bench.stream, kGraph);
                          return absl::OkStatus();
                        }).value();
    return [&bench, exec = std::make_shared<GraphExec>(graph.Instantiate().value())] {
      Require(exec->Launch(bench.stream).ok());
    };
  });
}

}  // namespace

void RegisterScaleRows(const Bench& bench) {
  const std::vector<LaunchCase> cases = AllLaunchCases();
  const auto each = [&](const auto& f) {
    for (const LaunchCase& row : cases) {
      if (row.name == kCase && row.path != "bare_params") f(row);
    }
  };
  each([&](const LaunchCase& row) {
    // What bound+set sets, the threads would share, and setting is for one thread at a time.
    if (row.path != "bound+set") RegisterThreads(bench, row);
  });
  each([&](const LaunchCase& row) {
    if (row.path == "typed") RegisterGraph(bench, row);
  });
  if (!IsNull(bench.device)) return;  // Another device would compile them all.
  each([&](const LaunchCase& row) { RegisterLoaded(bench, row, 0); });
  each([&](const LaunchCase& row) { RegisterLoaded(bench, row, kLoaded); });
}

}  // namespace slipway::launch_cases
