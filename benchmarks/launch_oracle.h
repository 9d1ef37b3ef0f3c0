// Whether a row of launch_cases.h launches what it says, checked before it is timed.
#ifndef SLIPWAY_BENCHMARKS_LAUNCH_ORACLE_H_
#define SLIPWAY_BENCHMARKS_LAUNCH_ORACLE_H_

#include <string>

#include "absl/status/statusor.h"
#include "benchmarks/launch_cases.h"

namespace slipway::launch_cases {

// A row of formulas is evaluated on the CPU device and its values are compared with a loop over the same arguments
// ("unchecked" where the CPU device is not built). For any other, runs one round of it on the recording driver, beside
// hand-written packing into a launch buffer: every launch's grid, block, shared memory and parameter bytes must be the
// same; gives a fingerprint of them in which device addresses count from the start of the arguments' memory, so that it
// is the same in every build that launches the same. INTERNAL with the first difference.
absl::StatusOr<std::string> CheckLaunches(const LaunchCase& row);

}  // namespace slipway::launch_cases

#endif  // SLIPWAY_BENCHMARKS_LAUNCH_ORACLE_H_
