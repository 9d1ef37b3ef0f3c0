#include "slipway/host_function.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "slipway/device.h"

namespace slipway::internal {

absl::StatusOr<Kernel> MakeHostKernel(HostEntry::Call call, void (*function)(), std::string name, Signature signature,
                                      std::vector<std::string> param_names) {
  if (name.empty()) {
    return absl::InvalidArgumentError("HostFunction::Make: the name is empty; give one, which messages then show");
  }
  const auto error = [&](auto... parts) {
    return absl::InvalidArgumentError(absl::StrCat("host function '", name, "': ", parts...));
  };
  if (function == nullptr) return error("the function is null; give the address of one");
  if (!param_names.empty() && param_names.size() != signature.size()) {
    return error(param_names.size(), param_names.size() == 1 ? " name was" : " names were", " given for ",
                 signature.size(), signature.size() == 1 ? " parameter" : " parameters",
                 "; give one a parameter, or none");
  }
  for (size_t i = 0; i < param_names.size(); ++i) signature[i].name = std::move(param_names[i]);

  const BufferLayout layout = LayOut(signature);
  HostEntry entry = {.call = call, .function = function, .bytes = layout.size};
  for (size_t i = 0; i < signature.size(); ++i) {
    entry.params.push_back({.offset = layout.offsets[i], .bytes = static_cast<uint32_t>(AbiSize(signature[i]))});
  }
  SLIPWAY_ASSIGN_OR_RETURN(const Device device, Device::Open(HostDriver()));
  return Kernel::FromFunction(device, RegisterHostEntry(std::move(entry)), std::move(name), std::move(signature));
}

}  // namespace slipway::internal
