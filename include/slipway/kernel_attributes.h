// What a loaded kernel is to its driver, and what a driver can be told about it.
//
//   KernelAttributes is = AttributesOf(kernel).value();
//   absl::Status status = SetSharedCarveout(kernel, 50);          // Half of L1 and shared memory as shared memory.
//   status = SetCachePreference(kernel, CachePreference::kL1);
//
// Dynamic shared memory past 48 KiB a block needs nothing of this: kernels opt in to what the device has when they are
// loaded, and LaunchConfig::shared_bytes says how much a launch takes.
#ifndef SLIPWAY_KERNEL_ATTRIBUTES_H_
#define SLIPWAY_KERNEL_ATTRIBUTES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/kernel.h"
#include "slipway/machine_code.h"

namespace slipway {

// Which of L1 cache and shared memory, which are cut out of the same memory, a kernel wants more of. A hint.
enum class CachePreference { kNone, kShared, kL1, kEqual };

// In percent of what the multiprocessor has for both: shared memory that blocks of the kernel want. A hint, rounded up
// to what the device can do.
inline constexpr int kDefaultCarveout = -1;
inline constexpr int kMaxL1Carveout = 0;
inline constexpr int kMaxSharedCarveout = 100;

struct KernelAttributes {
  KernelResources resources;             // As of ResourcesOf: registers, shared, local and constant memory.
  int64_t max_dynamic_shared_bytes = 0;  // That a launch may give a block, after the kernel opted in.
  int max_threads_per_block = 0;
  int ptx_version = 0;     // Virtual architecture that it was compiled for, capability * 10.
  int binary_version = 0;  // Architecture of the machine code, likewise.
  int shared_carveout = kDefaultCarveout;
};

// As the driver says them now. Thread-safe. Errors are the driver's.
absl::StatusOr<KernelAttributes> AttributesOf(const Kernel& kernel);

// For launches from now on, of whichever handle or stream. INVALID_ARGUMENT for a percentage that is neither -1 nor 0
// to 100. Drivers do not tell the cache preference back.
absl::Status SetSharedCarveout(const Kernel& kernel, int percent);
absl::Status SetCachePreference(const Kernel& kernel, CachePreference preference);

}  // namespace slipway

#endif  // SLIPWAY_KERNEL_ATTRIBUTES_H_
