// Memory between guards: a kernel that runs over its end faults, whatever lies next to it.
#ifndef SLIPWAY_DRIVER_CPU_GUARDED_MEMORY_H_
#define SLIPWAY_DRIVER_CPU_GUARDED_MEMORY_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "driver/cpu/sanitizers.h"

namespace slipway::cpu {

// Address space that is kept until this dies; pages cost nothing until they are touched. Not thread-safe.
class GuardedMemory {
 public:
  GuardedMemory() = default;
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { Reset(); }

  // At least `bytes`, aligned to a page; null if there is no memory. What was there is lost if it has to grow.
  std::byte* Reserve(size_t bytes) {
    if (bytes <= bytes_) return data_;
    Reset();
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    bytes = (bytes + page - 1) / page * page;
    // Where address space is limited (ulimit -v), small guards have to do.
    if (!Map(bytes, kSanitized ? page : kGuard) && !Map(bytes, page)) return nullptr;
    return data_;
  }

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  bool Contains(uintptr_t address) const { return address - reinterpret_cast<uintptr_t>(data_) < bytes_; }

 private:
  // An index that is wrong by less than 2^30 float32 elements still faults. Sanitizers keep shadow memory for them.
  static constexpr size_t kGuard = size_t{4} << 30;

  bool Map(size_t bytes, size_t guard) {
    void* const mapped =
        mmap(nullptr, bytes + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return false;
    std::byte* const data = static_cast<std::byte*>(mapped) + guard;
    if (mprotect(data, bytes, PROT_READ | PROT_WRITE) != 0) {
      munmap(mapped, bytes + 2 * guard);
      return false;
    }
    data_ = data;
    bytes_ = bytes;
    guard_ = guard;
    return true;
  }
  void Reset() {
    if (data_ != nullptr) munmap(data_ - guard_, bytes_ + 2 * guard_);
    data_ = nullptr;
    bytes_ = 0;
  }

  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  size_t guard_ = 0;  // Bytes on either side.
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_GUARDED_MEMORY_H_
