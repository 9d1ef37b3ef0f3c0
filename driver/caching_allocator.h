// A pool for drivers that have none: it keeps what is given back and gives it out again, first on the stream that it
// came from, which costs no call of the driver.
//
// Sizes are rounded up to one of eight classes in each power of two (at most 12.5% more). Blocks below 1 MiB are cut
// from slabs of 2 MiB; larger ones are allocations of their own. A free block belongs to the stream on which it was
// freed. Another stream gets it once the work that was queued there is done, which an event tells that is recorded when
// it is asked for the first time; where memory would run out, the other stream waits for the event.
#ifndef SLIPWAY_DRIVER_CACHING_ALLOCATOR_H_
#define SLIPWAY_DRIVER_CACHING_ALLOCATOR_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "slipway/allocator.h"
#include "slipway/device.h"

namespace slipway::internal {

class CachingAllocator : public Allocator {
 public:
  // `state` outlives it, and is not kept: it is the device that keeps its allocator.
  explicit CachingAllocator(const DeviceState& state) : state_(state) {}
  ~CachingAllocator() override { Trim(0); }

  absl::StatusOr<CUdeviceptr> Allocate(CUstream stream, size_t bytes) override;
  void Free(CUstream stream, CUdeviceptr address, size_t bytes) override;
  void Forget(CUstream stream) override;
  void Trim(size_t keep) override;
  MemoryStatistics Statistics() const override;
  bool ManagesContext() const override { return true; }  // What is reused on its own stream needs none.

  static size_t RoundUp(size_t bytes);

 private:
  static constexpr size_t kSlabBytes = size_t{2} << 20;
  static constexpr size_t kLeastOwnBytes = size_t{1} << 20;  // Of an allocation of its own.

  // Owned by the blocks that wait for it.
  struct Mark {
    Mark(const DriverApi& with, CUevent handle) : api(with), event(handle) {}
    ~Mark() { static_cast<void>(api.EventDestroy(event)); }
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;
    const DriverApi& api;
    const CUevent event;
  };
  struct Block {
    CUdeviceptr address;
    std::shared_ptr<const Mark> done;  // Null where only its stream knows when it is free.
  };
  struct Slab {
    size_t cut = 0;     // Bytes that blocks were made of, from the front,
    size_t in_use = 0;  // and bytes of those that are given out.
  };
  // Free blocks of one stream by class, the last freed last. Those of no stream have a mark.
  using Blocks = std::map<size_t, std::vector<Block>>;

  bool TakeOwn(CUstream stream, size_t bytes, CUdeviceptr* address);
  // From other streams: those that are done, or, where `wait` is set, any, for which `stream` is made to wait.
  bool TakeOthers(CUstream stream, size_t bytes, bool wait, CUdeviceptr* address);
  CUresult TakeNew(size_t bytes, CUdeviceptr* address);
  CUresult NewMemory(size_t bytes, CUdeviceptr* address);
  // Gives a mark to all blocks that have none; false where that cannot be now.
  bool MarkAll(CUstream stream, Blocks& blocks);
  void GiveBack(CUdeviceptr address, size_t bytes);
  void TrimLocked(size_t keep);
  Slab* SlabOf(CUdeviceptr address);
  void Count(CUdeviceptr address, size_t bytes);

  const DeviceState& state_;
  mutable std::mutex mutex_;
  std::unordered_map<CUstream, Blocks> by_stream_;
  Blocks of_no_stream_;
  std::map<CUdeviceptr, Slab> slabs_;
  CUdeviceptr open_slab_ = 0;  // Which still has room; 0 for none.
  MemoryStatistics statistics_;
};

}  // namespace slipway::internal

#endif  // SLIPWAY_DRIVER_CACHING_ALLOCATOR_H_
