#include "launch/keep_alive.h"

#include <cstring>

#include "slipway/graph.h"

namespace slipway::internal {

std::vector<std::shared_ptr<const void>> OwnersOf(const Kernel& kernel, const std::byte* buffer) {
  std::vector<std::shared_ptr<const void>> owners = {kernel.owner()};
  for (size_t i = 0; i < kernel.signature().size(); ++i) {
    const ParamKind kind = kernel.signature()[i].kind;
    if (kind != ParamKind::kArray && kind != ParamKind::kPointer) continue;
    CUdeviceptr address;  // An array's struct begins with it.
    std::memcpy(&address, buffer + kernel.params()[i].offset, sizeof(address));
    if (std::shared_ptr<const void> owner = OwnerOf(address)) owners.push_back(std::move(owner));
  }
  return owners;
}

}  // namespace slipway::internal
