// One allocation on a device, and how its owner is found by an address in it.
#ifndef SLIPWAY_DRIVER_ALLOCATION_H_
#define SLIPWAY_DRIVER_ALLOCATION_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "slipway/device.h"

namespace slipway::internal {

// Frees its memory when destroyed, and can be found (internal::OwnerOf) until then.
struct Allocation {
  // Takes over memory that MemAlloc gave.
  static std::shared_ptr<const Allocation> Own(const Device& device, CUdeviceptr address, size_t bytes);

  Allocation(Device on, CUdeviceptr at, size_t size) : device(std::move(on)), address(at), bytes(size) {}
  ~Allocation();
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  const Device device;
  const CUdeviceptr address;
  const size_t bytes;
};

}  // namespace slipway::internal

#endif  // SLIPWAY_DRIVER_ALLOCATION_H_
