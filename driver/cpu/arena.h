// Device memory: one stretch of reserved address space between two guards, from which allocations are cut.
//
// Host addresses are device addresses. What is not allocated is inaccessible where whole segments are free, so a kernel
// that runs away faults instead of scribbling over the host's heap.
#ifndef SLIPWAY_DRIVER_CPU_ARENA_H_
#define SLIPWAY_DRIVER_CPU_ARENA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driver/cpu/freed_ranges.h"

namespace slipway::cpu {

class Arena {
 public:
  static constexpr size_t kAlignment = 256;  // What cuMemAlloc promises.

  // Who may free an allocation. Pinned host memory, module variables and what kernels call malloc for live in the same
  // arena, for the same checks. kManaged is device memory that the host may touch.
  enum class Kind : uint8_t { kDevice, kManaged, kHost, kModule, kHeap };

  struct Allocation {
    uintptr_t address = 0;
    size_t bytes = 0;    // As asked for.
    size_t granted = 0;  // With padding; what counts against the limit.
    uint64_t owner = 0;  // The context's id.
    int device = 0;
    Kind kind = Kind::kDevice;
    uint64_t id = 0;       // Never given out again.
    uint64_t pool = 0;     // That it counts for; 0: none.
    bool freeing = false;  // A stream-ordered free is queued; for the caller it is gone.
    // Told to who asks, and of no use.
    unsigned host_flags = 0;   // What cuMemHostAlloc was given.
    bool sync_memops = false;  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS.
  };

  // `limit` bytes for each of `devices`; address space for more than that, against fragmentation. Where even the limit
  // cannot be reserved, it shrinks to what can. `checked`: for the memory checker. Then allocations lie apart, so that
  // one step too far is not a neighbour's memory, and what is freed is kept back for a while and remembered.
  Arena(size_t limit, int devices, bool checked = false);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Null if the device's limit or the address space is exhausted. The memory's contents are undefined.
  void* Allocate(size_t bytes, int device, uint64_t owner, Kind kind, uint64_t pool = 0);

  // Notes something about the allocation that holds an address. False if there is none.
  bool SetHostFlags(uintptr_t address, unsigned flags);
  bool SetSyncMemops(uintptr_t address, bool on);

  // Bytes that are allocated for a pool, and the most since ResetPeak.
  struct PoolUse {
    size_t bytes = 0;
    size_t peak = 0;
    uint32_t open_to = 0;  // Devices, a bit each.
  };
  PoolUse UseOf(uint64_t pool) const;
  void ResetPeak(uint64_t pool);
  void ForgetPool(uint64_t pool);  // What is left of it is counted for none.
  // Whether another device than its own may touch a pool's memory: for the memory checker.
  void SetPoolAccess(uint64_t pool, int device, bool allowed);

  // Marks an allocation as on its way out, by its exact address and kind. Nothing if it is not there, or marked
  // already: the caller answers INVALID_VALUE.
  std::optional<Allocation> BeginFree(uintptr_t address, Kind kind);
  // Takes the mark back, for a free that could not be queued.
  void CancelFree(uintptr_t address);
  // Gives the memory back: of an allocation that BeginFree accepted, or of a module's variables.
  void Free(uintptr_t address);
  // Frees everything that belongs to a context but modules' variables, which go with their modules.
  void FreeOwner(uint64_t owner);

  // Memory outside the stretch that kernels and copies may use like pinned memory until it is taken back. Ranges may
  // overlap; of those with one address the smallest is taken back first, so that what is left covers what is still in
  // use. False if there is none.
  void Register(uintptr_t address, size_t bytes, int device, uint64_t owner);
  bool Unregister(uintptr_t address);
  // Whether any of the bytes are registered, or in the stretch.
  bool Overlaps(uintptr_t address, size_t bytes) const;

  // The live allocation, or the registered range, that holds all of [address, address + bytes); nothing if there is
  // none. A range of 0 bytes needs one, too, and may stand at its end.
  std::optional<Allocation> Find(uintptr_t address, size_t bytes) const;

  // --- For the memory checker; of a checked arena.

  // What an access may touch: an allocation, or one of the parts that were named for it.
  struct Range {
    uintptr_t begin = 0;
    size_t bytes = 0;
    Kind kind = Kind::kDevice;
    bool constant = false;
    std::shared_ptr<const std::string> name;  // Of a part.
    // Who may touch it: contexts of its device, those that its owner is a peer of, and those of the devices that its
    // pool was opened for, a bit each. Memory of the host, and managed memory, anybody.
    int device = 0;
    uint64_t owner = 0;
    uint32_t open_to = 0;
  };
  // All of them, by address, at one moment.
  struct Ranges {
    uint64_t frees = 0;
    std::vector<Range> list;
    // The last that begins at or before an address; null if none does.
    const Range* Below(uintptr_t address) const;
  };
  // Immutable, and shared until something changes. What is being freed in stream order is among them until then.
  std::shared_ptr<const Ranges> LiveRanges() const;
  // Grows with every free: what has been found live stays so while this stays the same.
  const std::atomic<uint64_t>& frees() const { return frees_; }
  // Of memory that a kernel's malloc gave.
  void NoteFree() { frees_.fetch_add(1, std::memory_order_release); }
  // Says that only these parts of an allocation may be touched: a module's variables.
  struct Part {
    std::string name;
    uintptr_t address = 0;
    size_t bytes = 0;
    bool constant = false;
  };
  void SetParts(uintptr_t address, const std::vector<Part>& parts);
  // The freed allocation that held an address, if it is remembered.
  std::optional<FreedRanges::Range> FindFreed(uintptr_t address) const;

  // Whether an address is in the reserved stretch, guards included, allocated or not.
  bool Reserved(uintptr_t address) const { return address - base_ < reserved_; }

  size_t used(int device) const;
  size_t limit() const { return limit_; }

  std::mutex& mutex_for_fork() { return mutex_; }

 private:
  Allocation* FindLocked(uintptr_t address);  // Of the stretch.
  std::optional<Allocation> FindRegistered(uintptr_t address, size_t bytes) const;
  bool Commit(uintptr_t begin, uintptr_t end);
  void AddFree(uintptr_t address, size_t bytes);
  void RemoveFree(std::map<uintptr_t, size_t>::iterator block);
  void FreeLocked(std::map<uintptr_t, Allocation>::iterator allocation);
  size_t Taken(size_t bytes) const;  // Of the address space, by an allocation.
  void DecommitFreeSegments();

  size_t limit_ = 0;
  uintptr_t base_ = 0;   // Of the reserved stretch.
  size_t reserved_ = 0;  // Its bytes.
  uintptr_t begin_ = 0;  // Between the guards.
  uintptr_t end_ = 0;

  mutable std::mutex mutex_;
  std::map<uintptr_t, Allocation> live_;
  std::multimap<uintptr_t, Allocation> registered_;
  std::map<uintptr_t, size_t> free_;                     // By address, for merging neighbours.
  std::set<std::pair<size_t, uintptr_t>> free_by_size_;  // The same, for best fit.
  std::vector<bool> committed_;                          // By segment.
  size_t committed_segments_ = 0;
  size_t granted_total_ = 0;
  uint64_t last_id_ = 0;
  std::vector<size_t> used_;  // By device.
  std::map<uint64_t, PoolUse> pools_;

  const bool checked_;
  FreedRanges freed_;
  std::map<uintptr_t, std::vector<Range>> parts_;  // By allocation.
  std::atomic<uint64_t> frees_{1};
  mutable std::shared_ptr<const Ranges> ranges_;  // Null if something has changed.
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_ARENA_H_
