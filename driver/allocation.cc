#include "driver/allocation.h"

#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "slipway/graph.h"

namespace slipway::internal {
namespace {

// By first address. The drivers of a process share one space of addresses: a GPU's are set apart from the host's, in
// which the CPU device has its own.
struct Allocations {
  std::mutex mutex;
  std::map<CUdeviceptr, std::weak_ptr<const Allocation>> by_address;
};

// Never destroyed: handles may go during static destruction.
Allocations& TheAllocations() {
  static auto* allocations = new Allocations;
  return *allocations;
}

}  // namespace

std::shared_ptr<const Allocation> Allocation::PartOf(std::shared_ptr<const void> whole, const Device& device,
                                                     CUdeviceptr address, size_t bytes) {
  auto allocation = std::make_shared<const Allocation>(std::move(whole), device, address, bytes);
  Allocations& all = TheAllocations();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.by_address[address] = allocation;
  return allocation;
}

Allocation::~Allocation() {
  {
    // Before the memory is free: another thread may be given the same address then. A part that was asked for again
    // in the meantime has taken this one's place.
    Allocations& all = TheAllocations();
    std::lock_guard<std::mutex> lock(all.mutex);
    const auto own = all.by_address.find(address);
    if (own != all.by_address.end() && own->second.expired()) all.by_address.erase(own);
  }
  if (whole != nullptr) return;
  const ScopedContext current(*device.state());
  const RelaxedCapture relaxed(device.api());
  // As for streams: memory goes with its context.
  if (current.ok()) static_cast<void>(device.api().MemFree(address));
}

Owner OwnerOf(CUdeviceptr address) {
  Allocations& all = TheAllocations();
  std::lock_guard<std::mutex> lock(all.mutex);
  const auto next = all.by_address.upper_bound(address);
  if (next == all.by_address.begin()) return nullptr;
  // Expired, where the last owner is about to go on another thread.
  std::shared_ptr<const Allocation> allocation = std::prev(next)->second.lock();
  if (allocation == nullptr || address - allocation->address >= allocation->bytes) return nullptr;
  return allocation;
}

}  // namespace slipway::internal
