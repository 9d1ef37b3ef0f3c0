// The memory that kernels get from malloc and give back by free (CUDA C++ Programming Guide, "Dynamic Global Memory
// Allocation and Operations").
#ifndef SLIPWAY_DRIVER_CPU_SYSTEM_DEVICE_HEAP_H_
#define SLIPWAY_DRIVER_CPU_SYSTEM_DEVICE_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace slipway::cpu {

// A heap of a size that is fixed when it is first used. What it knows lies outside of the memory that it gives, out of
// reach of a kernel that writes past the end of it. Thread-safe.
class DeviceHeap {
 public:
  static constexpr size_t kAlignment = 16;

  // `reserve` gets the memory of the whole heap, at the first Allocate; null: there is none, now and ever after.
  // Whoever gave it takes it back after the heap is gone.
  DeviceHeap(size_t bytes, std::function<void*(size_t bytes)> reserve);

  size_t bytes() const;
  bool Resize(size_t bytes);     // False, and nothing happens, once memory was reserved.
  void* Allocate(size_t bytes);  // Null for 0 bytes, and when there is not enough left.
  bool Free(void* address);      // False for what Allocate did not give, or was given back. Null is fine.

 private:
  const std::function<void*(size_t)> reserve_;
  mutable std::mutex mutex_;
  size_t bytes_;
  bool reserved_ = false;
  std::map<uintptr_t, size_t> live_;  // Addresses to sizes.
  std::map<uintptr_t, size_t> free_;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_SYSTEM_DEVICE_HEAP_H_
