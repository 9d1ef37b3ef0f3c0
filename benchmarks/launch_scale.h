// Rows of launch_latency that ask what more of something does to a launch: threads, loaded kernels, kernels of a graph.
//
//   threads/<path>          launches of 3x1d on so many threads, each on a stream of its own: launches a second in all
//   loaded/<path>/<count>   launches of 3x1d with so many other kernels loaded (on the null driver)
//   graph/launches, graph/replay
//                           1,000 launches of 3x1d and a graph of them, each to the end of the work: time a kernel
//   host/call, host/typed, host/dynamic
//                           a C function of two pointers and two scalars, called, and launched on the host device
#ifndef SLIPWAY_BENCHMARKS_LAUNCH_SCALE_H_
#define SLIPWAY_BENCHMARKS_LAUNCH_SCALE_H_

#include "benchmarks/launch_cases.h"

namespace slipway::launch_cases {

// Registers them with Google Benchmark. `bench` outlives their runs.
void RegisterScaleRows(const Bench& bench);

// Registers the host/ rows (launch_host.cc).
void RegisterHostRows();

}  // namespace slipway::launch_cases

#endif  // SLIPWAY_BENCHMARKS_LAUNCH_SCALE_H_
