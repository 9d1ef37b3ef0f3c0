// The launches that benchmarks/launch_latency times and tools/count_launch_instructions counts: each case by each path,
// on the null driver, whose launch call is a handful of instructions. What is measured is the host's own cost.
//
//   path   bare      hand-written packing into a launch buffer and the driver's call, nothing checked
//          typed     TypedKernel: everything checked that Slipway checks
//          dynamic   Kernel called with arguments: its signature is only known at run time
//          list      Kernel::Launch with a list of Args: both are only known at run time
//   case   0, 4s (four scalars), 3x1d (three strided arrays of rank 1), 3x1d+s, 3x2d, 8x3d
//
// Arguments come from memory that the compiler knows nothing about and change from launch to launch, so that no packing
// can be hoisted out of a loop. The grid is computed from a size that changes too. Results are inspected.
#ifndef SLIPWAY_BENCHMARKS_LAUNCH_CASES_H_
#define SLIPWAY_BENCHMARKS_LAUNCH_CASES_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/kernel.h"
#include "slipway/null_driver.h"
#include "slipway/stream.h"
#include "slipway/typed_kernel.h"

namespace slipway::launch_cases {

// What an application holds, and what its kernels take: the struct that Slipway's views begin with.
template <int N>
struct Tensor {
  float* data;
  int64_t shape[N];
  int64_t strides[N];
};

// The arguments of one launch, in both forms.
struct ArgumentSet {
  int64_t size;
  int32_t i;
  float f;
  int64_t l;
  double d;
  Tensor<1> t1[3];
  Tensor<2> t2[3];
  Tensor<3> t3[8];
  std::vector<ArrayView<float, 1>> a1;
  std::vector<ArrayView<float, 2>> a2;
  std::vector<ArrayView<float, 3>> a3;
};
inline constexpr int kSets = 16;

// A device on the null driver with a stream and the argument sets.
struct Bench {
  Device device;
  Stream stream;
  CUfunction function;  // For bare launches.
  std::vector<ArgumentSet> sets;

  static Bench Make();
};

// One path over one case: `run(iterations)` launches that many times and ends the process if one fails.
struct LaunchCase {
  const char* path;
  const char* name;
  void (*run)(const Bench& bench, int64_t iterations);
};

// All of them. The kernels are made when a case first runs.
const std::vector<LaunchCase>& AllLaunchCases();

}  // namespace slipway::launch_cases

#endif  // SLIPWAY_BENCHMARKS_LAUNCH_CASES_H_
