// One allocation on a device, and how its owner is found by an address in it.
#ifndef SLIPWAY_DRIVER_ALLOCATION_H_
#define SLIPWAY_DRIVER_ALLOCATION_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "slipway/device.h"

namespace slipway::internal {

// Frees its memory when destroyed, or lets go of what the memory is a part of, and can be found (internal::OwnerOf)
// until then.
struct Allocation {
  // Takes over memory that MemAlloc gave.
  static std::shared_ptr<const Allocation> Own(const Device& device, CUdeviceptr address, size_t bytes) {
    return PartOf(nullptr, device, address, bytes);
  }
  // Memory that is there as long as `whole` is: a variable of a module.
  static std::shared_ptr<const Allocation> PartOf(std::shared_ptr<const void> whole, const Device& device,
                                                  CUdeviceptr address, size_t bytes);

  Allocation(std::shared_ptr<const void> part_of, Device on, CUdeviceptr at, size_t size)
      : whole(std::move(part_of)), device(std::move(on)), address(at), bytes(size) {}
  ~Allocation();
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  const std::shared_ptr<const void> whole;  // Null where the memory is its own.
  const Device device;
  const CUdeviceptr address;
  const size_t bytes;
};

}  // namespace slipway::internal

#endif  // SLIPWAY_DRIVER_ALLOCATION_H_
