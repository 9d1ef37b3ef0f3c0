// The memory that kernels get from malloc and give back by free (CUDA C++ Programming Guide, "Dynamic Global Memory
// Allocation and Operations").
#ifndef SLIPWAY_DRIVER_CPU_SYSTEM_DEVICE_HEAP_H_
#define SLIPWAY_DRIVER_CPU_SYSTEM_DEVICE_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "driver/cpu/freed_ranges.h"

namespace slipway::cpu {

// A heap of a size that is fixed when it is first used. What it knows lies outside of the memory that it gives, out of
// reach of a kernel that writes past the end of it. Thread-safe.
class DeviceHeap {
 public:
  static constexpr size_t kAlignment = 16;

  // `reserve` gets the memory of the whole heap, at the first Allocate; null: there is none, now and ever after.
  // Whoever gave it takes it back after the heap is gone. `checked`: for the memory checker; blocks lie apart, and
  // freed ones are kept back for a while and remembered.
  DeviceHeap(size_t bytes, std::function<void*(size_t bytes)> reserve, bool checked = false);

  size_t bytes() const;
  bool Resize(size_t bytes);     // False, and nothing happens, once memory was reserved.
  void* Allocate(size_t bytes);  // Null for 0 bytes, and when there is not enough left.
  bool Free(void* address);      // False for what Allocate did not give, or was given back. Null is fine.

  struct Block {
    uintptr_t address = 0;
    size_t bytes = 0;  // As asked for.
  };
  // The live block that lies nearest to an address, or holds it; nothing if there is none.
  std::optional<Block> Nearest(uintptr_t address);
  // The freed block that held an address, if it is remembered: of a checked heap.
  std::optional<FreedRanges::Range> FindFreed(uintptr_t address);

 private:
  static size_t Rounded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
  size_t Taken(size_t bytes) const { return Rounded(bytes) + (checked_ ? kAlignment : 0); }
  void AddFree(uintptr_t address, size_t bytes);

  const std::function<void*(size_t)> reserve_;
  mutable std::mutex mutex_;
  size_t bytes_;
  bool reserved_ = false;
  std::map<uintptr_t, size_t> live_;  // Addresses to sizes, as asked for.
  std::map<uintptr_t, size_t> free_;
  const bool checked_;  // Then there is more room than may be given: for what keeps blocks apart.
  size_t given_ = 0;    // Bytes that are live, rounded up.
  FreedRanges freed_;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_SYSTEM_DEVICE_HEAP_H_
