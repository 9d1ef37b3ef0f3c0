// Ranges for NVIDIA's profilers (Nsight Systems and others that know NVTX), named after kernels.
#ifndef SLIPWAY_DRIVER_NVTX_H_
#define SLIPWAY_DRIVER_NVTX_H_

#include <string>

#include "absl/status/status.h"

namespace slipway {

// Loads a profiler's injection library (a profiler gives its path in NVTX_INJECTION64_PATH) and marks from now on, for
// as long as the process lives, each compile, load and launch as a range "launch saxpy" of its thread in the domain
// "slipway". An error if `library` cannot be loaded or is no such library; then nothing is marked. Not for
// several threads at once.
absl::Status StartNvtx(const std::string& library);

}  // namespace slipway

#endif  // SLIPWAY_DRIVER_NVTX_H_
