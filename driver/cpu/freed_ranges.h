// What the memory checker knows of memory that has been freed.
#ifndef SLIPWAY_DRIVER_CPU_FREED_RANGES_H_
#define SLIPWAY_DRIVER_CPU_FREED_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <deque>

namespace slipway::cpu {

// The newest frees of an allocator. Their memory is kept back for a while before it is given out again, so that who
// uses it after the free does not meet the memory's next owner. Not thread-safe: the allocator's lock guards it.
class FreedRanges {
 public:
  static constexpr size_t kMostRanges = 4096;

  struct Range {
    uintptr_t address = 0;
    size_t bytes = 0;   // As asked for.
    size_t taken = 0;   // Of the allocator: what is given back.
    bool kept = false;  // Not given back yet.
  };

  explicit FreedRanges(size_t most_kept_bytes) : most_kept_bytes_(most_kept_bytes) {}

  // Notes a free; `give_back(address, taken)` takes memory that is no longer kept, this or older.
  template <class F>
  void Add(uintptr_t address, size_t bytes, size_t taken, const F& give_back) {
    ranges_.push_back({address, bytes, taken, true});
    kept_bytes_ += taken;
    if (ranges_.size() > kMostRanges) {
      GiveBack(ranges_.front(), give_back);
      ranges_.pop_front();
      if (first_kept_ > 0) --first_kept_;
    }
    while (kept_bytes_ > most_kept_bytes_) GiveBack(ranges_[first_kept_++], give_back);
  }

  // Gives all back: there is no other memory left. False if nothing was kept.
  template <class F>
  bool GiveAllBack(const F& give_back) {
    const bool any = kept_bytes_ > 0;
    while (first_kept_ < ranges_.size()) GiveBack(ranges_[first_kept_++], give_back);
    return any;
  }

  // Memory is given out again: whoever misses it by a little has not used what was there before.
  void Forget(uintptr_t address, size_t taken) {
    for (size_t i = 0; i < first_kept_; ++i) {
      Range& range = ranges_[i];
      if (address < range.address + range.taken && range.address < address + taken) range.bytes = 0;
    }
  }

  // The last free of memory that held this byte; null if none is remembered.
  const Range* Find(uintptr_t address) const {
    for (auto range = ranges_.rbegin(); range != ranges_.rend(); ++range) {
      if (address - range->address < range->bytes) return &*range;
    }
    return nullptr;
  }

 private:
  template <class F>
  void GiveBack(Range& range, const F& give_back) {
    if (!range.kept) return;
    range.kept = false;
    kept_bytes_ -= range.taken;
    give_back(range.address, range.taken);
  }

  size_t most_kept_bytes_;
  std::deque<Range> ranges_;
  size_t first_kept_ = 0;  // Those before have been given back.
  size_t kept_bytes_ = 0;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_FREED_RANGES_H_
