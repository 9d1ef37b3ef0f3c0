// The kernels that are measured: each with its inputs, a native loop beside it, and what both have to compute.
#ifndef SLIPWAY_BENCHMARKS_CPU_KERNELS_CASES_H_
#define SLIPWAY_BENCHMARKS_CPU_KERNELS_CASES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/cpu_kernels/workers.h"
#include "slipway/device.h"
#include "slipway/module.h"
#include "slipway/stream.h"

namespace slipway::cpu_kernels {

struct Bench {
  Device device;
  Stream stream;
  Module module;
  Workers workers;

  Bench(Device device, Stream stream, Module module);
};

// A case at one size, ready to run. Both sides read the same inputs and write the same outputs, in device memory, which
// on the CPU device is memory of the process.
struct Prepared {
  std::string size;                    // What a reader is told.
  std::function<void()> reset;         // Puts the outputs back to what they were before the first run.
  std::function<void()> native;        // The loops, on all of bench.workers, which are awake.
  std::function<void()> native_alone;  // On this thread.
  std::function<void()> launch;        // Queues the kernel on bench.stream.
  // What differs from the oracle, computed in wider precision; empty if nothing does.
  std::function<std::string()> check;
};

struct Case {
  std::string name;
  Prepared (*prepare)(Bench& bench, int64_t n);  // For about n elements; where work grows faster than that, fewer.
};

const std::vector<Case>& Cases();

}  // namespace slipway::cpu_kernels

#endif  // SLIPWAY_BENCHMARKS_CPU_KERNELS_CASES_H_
