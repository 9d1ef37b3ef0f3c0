#include "launch/shared_modules.h"

#include <optional>

#include "driver/status_macros.h"

namespace slipway::internal {

absl::StatusOr<Module> SharedModules::Load(const Device& device, std::string_view ptx) {
  const std::lock_guard lock(mutex_);
  Module::Weak* gone = nullptr;
  for (Module::Weak& known : modules_) {
    const std::optional<Module> module = known.Lock();
    if (!module.has_value()) {
      gone = &known;
    } else if (module->device() == device) {
      return *module;
    }
  }
  SLIPWAY_ASSIGN_OR_RETURN(Module loaded, Module::LoadPtx(device, ptx));
  if (gone == nullptr) gone = &modules_.emplace_back();
  *gone = loaded.AsWeak();
  return loaded;
}

}  // namespace slipway::internal
