// How launch_latency times launches, on the null driver and on real devices.
#ifndef SLIPWAY_BENCHMARKS_LAUNCH_TIMING_H_
#define SLIPWAY_BENCHMARKS_LAUNCH_TIMING_H_

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "benchmarks/launch_cases.h"
#include "slipway/null_driver.h"

namespace slipway::launch_cases {

inline bool IsNull(const Device& device) { return &device.api() == &NullDriver(); }

// Launches that are timed in one go. A real device takes only so many before it makes the caller wait, so there they
// are few, and the device is waited for, untimed, before the next.
inline int64_t BurstOn(const Device& device) { return IsNull(device) ? 1'000 : 16; }

// Seconds that one burst takes. Ends the process if the device failed.
inline double SecondsOfBurst(const Bench& bench, const Run& run) {
  const auto begin = std::chrono::steady_clock::now();
  run(bench.stream, BurstOn(bench.device));
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  Require(bench.stream.Synchronize().ok());
  return time.count();
}

// The counter `per_launch`, in seconds, of a row each of whose iterations made so many launches.
inline void SetPerLaunch(benchmark::State* state, int64_t launches) {
  const double all = static_cast<double>(launches) * static_cast<double>(state->iterations());
  state->counters["per_launch"] = benchmark::Counter(all, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// A row whose every iteration is one burst of what `prepare` gives, which is called once, before the row is timed. Its
// counter `per_launch` is in seconds. On the null driver, where nothing is waited for, it is processor time, which
// other programs do not disturb.
inline void RegisterBursts(const std::string& name, const Bench& bench, const std::function<Run()>& prepare) {
  auto* const row = benchmark::RegisterBenchmark(name.c_str(), [&bench, prepare](benchmark::State& state) {
    const Run run = prepare();
    SecondsOfBurst(bench, run);
    const int64_t burst = BurstOn(bench.device);
    if (IsNull(bench.device)) {
      for (auto _ : state) run(bench.stream, burst);
    } else {
      for (auto _ : state) state.SetIterationTime(SecondsOfBurst(bench, run));
    }
    SetPerLaunch(&state, burst);
  });
  if (!IsNull(bench.device)) row->UseManualTime();
}

}  // namespace slipway::launch_cases

#endif  // SLIPWAY_BENCHMARKS_LAUNCH_TIMING_H_
