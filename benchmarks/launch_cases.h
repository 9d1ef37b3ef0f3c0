// The launches that benchmarks/launch_latency times and tools/count_launch_instructions counts: each case by each path.
// On the null driver a launch call is a handful of instructions, so what is measured is the host's own cost.
//
//   path   bare_buffer, bare_params
//                      the driver's call with arguments packed by hand, into a launch buffer or as kernelParams with a
//                      copy of each; nothing checked. The cheaper of the two is what the tools call `bare`.
//          bound       packed and checked when bound; a launch only launches
//          bound+set   the same, with the first argument set anew before every launch (not in case 0)
//          typed       TypedKernel: everything checked that Slipway checks
//          typed+grid  the same with a grid of three dimensions and a block given; typed+shape1, typed+shape2 and
//                      typed+shape3 with a shape of so many instead, by ForShape (cases 0 and 3x1d)
//          typed+check a kernel that has checks (cases 0 and 3x1d)
//          dynamic     Kernel called with arguments: its signature is only known at run time
//          addresses   the same with contiguous arrays for parameters that are addresses (so many arrays and a scalar)
//          list        Kernel::Launch with a list of Args: both are only known at run time
//          signature   GenericKernel: the specialisation is found by the arguments
//          signature~  the same where it is one of a hundred
//          trait       dynamic, with an application's own tensors for arguments
//          elementwise a formula over the arguments, the first array its output, evaluated into it; shapes and strides
//                      are the same from launch to launch
//          elementwise~  the same with shapes and strides that change with every launch
//   case   0; 1s, 4s, 16s (scalars); 1x1d, 3x1d, 8x1d, 16x1d, 26x1d (so many strided arrays of rank 1); 3x1d+s (and a
//          scalar); 3x2d; 8x3d; 1x2d to 1x8d
//
// Arguments change from launch to launch (launch_arguments.h); so does the problem size from which a grid is computed,
// where shapes change. Results are inspected. Kernels have the parameters that they say and do nothing, but for those
// of formulas.
#ifndef SLIPWAY_BENCHMARKS_LAUNCH_CASES_H_
#define SLIPWAY_BENCHMARKS_LAUNCH_CASES_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "benchmarks/launch_arguments.h"
#include "slipway/device.h"
#include "slipway/stream.h"

namespace slipway::launch_cases {

// Ends the process if something that a benchmark relies on went wrong.
inline void Require(bool ok) {
  if (ok) [[likely]]
    return;
  std::fputs("launch_cases: a launch failed\n", stderr);
  std::exit(1);
}

// A device with a stream and the arguments of all launches.
struct Bench {
  explicit Bench(const Device& device);

  const Device device;
  const Stream stream;
  const ArgumentRing changing;
  const ArgumentRing same;
};

// Launches so many times, starting with the ring's first set of arguments, and ends the process if a launch fails.
using Run = std::function<void(const Stream& stream, int64_t launches)>;

// One path over one case. `prepare` loads the kernel; the bench outlives what it returns. `check` is null where a row's
// launches are the very ones of hand-written packing (launch_oracle.h); else it launches on a bench whose device's
// memory the host can read, and says whether the values are right.
struct LaunchCase {
  std::string path;
  std::string name;
  Run (*prepare)(const Bench& bench);
  absl::Status (*check)(const Bench& bench) = nullptr;
};

// All of them, path by path.
std::vector<LaunchCase> AllLaunchCases();

// Loads kernels until the process has `count` of these, and keeps them to its end: those that a program has besides the
// one that it launches.
void KeepLoaded(const Device& device, size_t count);

}  // namespace slipway::launch_cases

#endif  // SLIPWAY_BENCHMARKS_LAUNCH_CASES_H_
