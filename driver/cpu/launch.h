// A kernel launch, checked as a driver checks it and made into an op: by LaunchKernel, LaunchKernelEx and the updates
// of graphs.
#ifndef SLIPWAY_DRIVER_CPU_LAUNCH_H_
#define SLIPWAY_DRIVER_CPU_LAUNCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "driver/cpu/op.h"

namespace slipway::cpu {

struct LaunchRequest {
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;
  void** params = nullptr;  // One of the two, as cuLaunchKernel takes them.
  void** extra = nullptr;
  bool cooperative = false;
  std::optional<int> priority;  // Else the stream's.
};

// The arguments of a launch, as they come: a buffer, or a pointer for each.
struct LaunchArguments {
  const std::byte* buffer = nullptr;
  size_t bytes = 0;
  void** pointers = nullptr;
};

// Whether the function can be launched so. The answers are cuLaunchKernel's.
CUresult CheckLaunch(const Function& function, const LaunchRequest& request, LaunchArguments* arguments);

// Makes an empty op a launch that has been checked; copies the arguments.
void FillLaunch(std::shared_ptr<Function> function, const LaunchRequest& request, const LaunchArguments& arguments,
                Op* op);

// Makes a launch cooperative, or an ordinary one. COOPERATIVE_LAUNCH_TOO_LARGE if its blocks do not fit.
CUresult SetCooperative(bool cooperative, Op* op);

// Blocks of a kernel that a multiprocessor of the device that is modelled holds at once; 0 if it cannot hold one.
int MaxActiveBlocks(const Function& function, uint64_t threads_per_block, size_t dynamic_shared_bytes);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_LAUNCH_H_
