// Code that several kernels share: one module a device for all kernels that are loaded from copies of one
// CompiledKernel, as long as any of them is there.
#ifndef SLIPWAY_LAUNCH_SHARED_MODULES_H_
#define SLIPWAY_LAUNCH_SHARED_MODULES_H_

#include <mutex>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "slipway/device.h"
#include "slipway/module.h"

namespace slipway::internal {

// Keeps no module and no device alive. Safe to use from any thread.
class SharedModules {
 public:
  // The module of `ptx`, always the same text, on a device: one that is loaded already, or else a new one. Loads of one
  // text wait for each other.
  absl::StatusOr<Module> Load(const Device& device, std::string_view ptx);

 private:
  std::mutex mutex_;
  std::vector<Module::Weak> modules_;  // At most one of a device.
};

}  // namespace slipway::internal

#endif  // SLIPWAY_LAUNCH_SHARED_MODULES_H_
