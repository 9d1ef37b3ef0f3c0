// Several compiles at once.
#ifndef SLIPWAY_LAUNCH_RUN_ALL_H_
#define SLIPWAY_LAUNCH_RUN_ALL_H_

#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace slipway::internal {

// Calls `work` for 0 to count - 1, on this thread and on as many others as there are cores for; all are called even if
// some fail. The error of the first that failed, by number.
absl::Status RunAll(size_t count, absl::FunctionRef<absl::Status(size_t)> work);

}  // namespace slipway::internal

#endif  // SLIPWAY_LAUNCH_RUN_ALL_H_
