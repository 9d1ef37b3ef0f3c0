// Code loaded on a device.
#ifndef SLIPWAY_MODULE_H_
#define SLIPWAY_MODULE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "slipway/device.h"

namespace slipway {

// A handle with shared ownership, safe to use from any thread. The module is unloaded when its last handle goes, which
// waits for the device's work.
class Module {
 public:
  // Loads PTX text. INVALID_ARGUMENT for PTX that does not compile, with the driver's log in the message (for the CPU
  // device: line, opcode and what is wrong); UNIMPLEMENTED for a PTX version that is newer than the driver, naming
  // both.
  static absl::StatusOr<Module> LoadPtx(const Device& device, std::string_view ptx);

  // The kernel `name`; valid while a handle of this module lives. NOT_FOUND if the module has no kernel of that name
  // (the message lists those that it has).
  absl::StatusOr<CUfunction> GetFunction(const std::string& name) const;

  const Device& device() const;

  // A handle that does not keep the module loaded.
  class Weak;
  Weak AsWeak() const;

 private:
  struct State;
  explicit Module(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

class Module::Weak {
 public:
  Weak() = default;
  // The module, if it is still loaded.
  std::optional<Module> Lock() const {
    std::shared_ptr<State> state = state_.lock();
    if (state == nullptr) return std::nullopt;
    return Module(std::move(state));
  }

 private:
  friend class Module;
  explicit Weak(std::weak_ptr<State> state) : state_(std::move(state)) {}
  std::weak_ptr<State> state_;
};

inline Module::Weak Module::AsWeak() const { return Weak(state_); }

}  // namespace slipway

#endif  // SLIPWAY_MODULE_H_
