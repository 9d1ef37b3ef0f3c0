#include "driver/cpu/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <limits>

#include "driver/cpu/sanitizers.h"

namespace slipway::cpu {
namespace {

// Access rights change by whole segments, so that a million small allocations are not a million mappings.
constexpr size_t kSegment = size_t{2} << 20;
// Inaccessible space on either side: an index that is wrong by less than 2^32 float64 elements still faults.
constexpr size_t kGuard = size_t{32} << 30;
// Sanitizers keep shadow memory for what is reserved.
constexpr size_t kSanitizedLimit = size_t{4} << 30;
constexpr size_t kSanitizedGuard = size_t{1} << 30;
// Of a checked arena. Address space: allocations lie apart, and freed ones are kept back.
constexpr size_t kCheckedSlack = 4;
constexpr size_t kMostKeptBytes = size_t{256} << 20;
constexpr size_t kMostPadding = size_t{64} << 10;
// Free memory kept accessible for the next allocation before it goes back to the system.
constexpr size_t kKeepBytes = size_t{1} << 30;

size_t RoundUp(size_t value, size_t to) { return (value + to - 1) / to * to; }

}  // namespace

Arena::Arena(size_t limit, int devices, bool checked)
    : limit_(limit), used_(devices, 0), checked_(checked), freed_(std::min(limit / 4, kMostKeptBytes)) {
  if (kSanitized) limit_ = std::min(limit_, kSanitizedLimit);
  limit_ = std::min(limit_, size_t{1} << 44);
  size_t guard = kSanitized ? kSanitizedGuard : kGuard;
  size_t slack = checked ? kCheckedSlack : 2;
  void* mapped = MAP_FAILED;
  size_t space = 0;
  for (;;) {
    space = RoundUp(std::max(limit_, kSegment) * static_cast<size_t>(devices) * slack, kSegment);
    reserved_ = space + 2 * guard + kSegment;
    mapped = mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped != MAP_FAILED) break;
    // A limit on address space (ulimit -v): first without the luxuries, then with less memory.
    if (guard > kSegment) {
      guard = kSegment;
    } else if (slack > 1) {
      slack = 1;
    } else if (limit_ > kSegment) {
      limit_ /= 2;
    } else {
      limit_ = reserved_ = 0;
      return;
    }
  }
  base_ = reinterpret_cast<uintptr_t>(mapped);
  begin_ = RoundUp(base_ + guard, kSegment);
  end_ = begin_ + space;
  committed_.assign(space / kSegment, false);
  AddFree(begin_, space);
}

void Arena::AddFree(uintptr_t address, size_t bytes) {
  auto next = free_.lower_bound(address);
  if (next != free_.end() && address + bytes == next->first) {
    bytes += next->second;
    RemoveFree(next++);
  }
  next = free_.lower_bound(address);
  if (next != free_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == address) {
      address = previous->first;
      bytes += previous->second;
      RemoveFree(previous);
    }
  }
  free_.emplace(address, bytes);
  free_by_size_.emplace(bytes, address);
}

void Arena::RemoveFree(std::map<uintptr_t, size_t>::iterator block) {
  free_by_size_.erase({block->second, block->first});
  free_.erase(block);
}

bool Arena::Commit(uintptr_t begin, uintptr_t end) {
  size_t last = (end - 1 - begin_) / kSegment;
  for (size_t segment = (begin - begin_) / kSegment; segment <= last;) {
    if (committed_[segment]) {
      ++segment;
      continue;
    }
    size_t stop = segment;
    while (stop <= last && !committed_[stop]) ++stop;
    void* address = reinterpret_cast<void*>(begin_ + segment * kSegment);
    if (mprotect(address, (stop - segment) * kSegment, PROT_READ | PROT_WRITE) != 0) return false;
    std::fill(committed_.begin() + segment, committed_.begin() + stop, true);
    committed_segments_ += stop - segment;
    segment = stop;
  }
  return true;
}

size_t Arena::Taken(size_t bytes) const {
  const size_t granted = RoundUp(bytes, kAlignment);
  return checked_ ? granted + RoundUp(std::clamp(bytes / 8, kAlignment, kMostPadding), kAlignment) : granted;
}

void* Arena::Allocate(size_t bytes, int device, uint64_t owner, Kind kind, uint64_t pool) {
  if (bytes == 0 || bytes > limit_) return nullptr;
  const size_t granted = RoundUp(bytes, kAlignment);
  const size_t taken = Taken(bytes);
  std::lock_guard<std::mutex> lock(mutex_);
  // Pinned host memory is the host's, and does not count as the device's.
  bool counts = kind != Kind::kHost;
  if (counts && granted > limit_ - std::min(limit_, used_[device])) return nullptr;
  auto found = free_by_size_.lower_bound({taken, 0});
  if (found == free_by_size_.end() && freed_.GiveAllBack([&](uintptr_t at, size_t size) { AddFree(at, size); })) {
    found = free_by_size_.lower_bound({taken, 0});
  }
  if (found == free_by_size_.end()) return nullptr;
  auto [block_bytes, address] = *found;
  if (!Commit(address, address + granted)) return nullptr;
  RemoveFree(free_.find(address));
  if (block_bytes > taken) {
    free_.emplace(address + taken, block_bytes - taken);
    free_by_size_.emplace(block_bytes - taken, address + taken);
  }
  if (checked_) {
    freed_.Forget(address, taken);
    ranges_.reset();
  }
  if (counts) used_[device] += granted;
  granted_total_ += granted;
  if (pool != 0) {
    PoolUse& use = pools_[pool];
    use.bytes += granted;
    use.peak = std::max(use.peak, use.bytes);
  }
  live_.emplace(address, Allocation{.address = address,
                                    .bytes = bytes,
                                    .granted = granted,
                                    .owner = owner,
                                    .device = device,
                                    .kind = kind,
                                    .id = ++last_id_,
                                    .pool = pool});
  return reinterpret_cast<void*>(address);
}

std::optional<Arena::Allocation> Arena::BeginFree(uintptr_t address, Kind kind) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = live_.find(address);
  if (found == live_.end() || found->second.freeing || found->second.kind != kind) return std::nullopt;
  found->second.freeing = true;
  return found->second;
}

void Arena::CancelFree(uintptr_t address) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto found = live_.find(address); found != live_.end()) found->second.freeing = false;
}

void Arena::FreeLocked(std::map<uintptr_t, Allocation>::iterator allocation) {
  const Allocation& gone = allocation->second;
  if (gone.kind != Kind::kHost) used_[gone.device] -= gone.granted;
  granted_total_ -= gone.granted;
  if (const auto pool = pools_.find(gone.pool); pool != pools_.end()) pool->second.bytes -= gone.granted;
  if (checked_) {
    freed_.Add(gone.address, gone.bytes, Taken(gone.bytes),
               [&](uintptr_t address, size_t bytes) { AddFree(address, bytes); });
    parts_.erase(gone.address);
    ranges_.reset();
    frees_.fetch_add(1, std::memory_order_release);
  } else {
    AddFree(gone.address, gone.granted);
  }
  live_.erase(allocation);
}

void Arena::Free(uintptr_t address) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = live_.find(address);
  // Not one that has been given out again, if its context was destroyed while somebody was freeing it.
  if (found == live_.end() || (!found->second.freeing && found->second.kind != Kind::kModule)) return;
  FreeLocked(found);
  if (committed_segments_ * kSegment > granted_total_ + kKeepBytes) DecommitFreeSegments();
}

void Arena::FreeOwner(uint64_t owner) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto allocation = live_.begin(); allocation != live_.end();) {
    auto current = allocation++;
    if (current->second.owner == owner && current->second.kind != Kind::kModule) FreeLocked(current);
  }
  std::erase_if(registered_, [&](const auto& range) { return range.second.owner == owner; });
  ranges_.reset();
  DecommitFreeSegments();
}

// Returns free memory to the system and makes it fault again. By remapping, which does both in one call.
void Arena::DecommitFreeSegments() {
  for (const auto& [address, bytes] : free_) {
    size_t first = (RoundUp(address, kSegment) - begin_) / kSegment;
    size_t last = (address + bytes) / kSegment * kSegment;
    size_t stop = last < begin_ ? 0 : (last - begin_) / kSegment;
    while (first < stop) {
      if (!committed_[first]) {
        ++first;
        continue;
      }
      size_t end = first;
      while (end < stop && committed_[end]) ++end;
      void* at = reinterpret_cast<void*>(begin_ + first * kSegment);
      void* mapped =
          mmap(at, (end - first) * kSegment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
      if (mapped == MAP_FAILED) return;  // Stays as it is: usable, and counted.
      std::fill(committed_.begin() + first, committed_.begin() + end, false);
      committed_segments_ -= end - first;
      first = end;
    }
  }
}

void Arena::Register(uintptr_t address, size_t bytes, int device, uint64_t owner) {
  std::lock_guard<std::mutex> lock(mutex_);
  registered_.emplace(
      address,
      Allocation{
          .address = address, .bytes = bytes, .owner = owner, .device = device, .kind = Kind::kHost, .id = ++last_id_});
  ranges_.reset();
}

bool Arena::Unregister(uintptr_t address) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto [first, last] = registered_.equal_range(address);
  if (first == last) return false;
  registered_.erase(
      std::min_element(first, last, [](const auto& x, const auto& y) { return x.second.bytes < y.second.bytes; }));
  ranges_.reset();
  frees_.fetch_add(1, std::memory_order_release);
  return true;
}

Arena::Allocation* Arena::FindLocked(uintptr_t address) {
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) return nullptr;
  Allocation& candidate = std::prev(after)->second;
  return candidate.freeing || address - candidate.address >= candidate.bytes ? nullptr : &candidate;
}

bool Arena::SetHostFlags(uintptr_t address, unsigned flags) {
  std::lock_guard<std::mutex> lock(mutex_);
  Allocation* const found = FindLocked(address);
  if (found != nullptr) found->host_flags = flags;
  return found != nullptr;
}

bool Arena::SetSyncMemops(uintptr_t address, bool on) {
  std::lock_guard<std::mutex> lock(mutex_);
  Allocation* const found = FindLocked(address);
  if (found != nullptr) found->sync_memops = on;
  return found != nullptr;
}

bool Arena::Overlaps(uintptr_t address, size_t bytes) const {
  if (Reserved(address) || Reserved(address + bytes - 1)) return true;
  std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(registered_.begin(), registered_.end(), [&](const auto& range) {
    return range.first < address + bytes && address < range.first + range.second.bytes;
  });
}

std::optional<Arena::Allocation> Arena::FindRegistered(uintptr_t address, size_t bytes) const {
  for (auto range = registered_.upper_bound(address); range != registered_.begin();) {
    const Allocation& candidate = (--range)->second;
    const size_t offset = address - candidate.address;
    if (offset <= candidate.bytes && bytes <= candidate.bytes - offset) return candidate;
  }
  return std::nullopt;
}

std::optional<Arena::Allocation> Arena::Find(uintptr_t address, size_t bytes) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!Reserved(address)) return FindRegistered(address, bytes);
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) return std::nullopt;
  const Allocation& candidate = std::prev(after)->second;
  size_t offset = address - candidate.address;
  if (candidate.freeing || offset > candidate.bytes || bytes > candidate.bytes - offset) return std::nullopt;
  return candidate;
}

const Arena::Range* Arena::Ranges::Below(uintptr_t address) const {
  auto after = std::upper_bound(list.begin(), list.end(), address,
                                [](uintptr_t at, const Range& range) { return at < range.begin; });
  return after == list.begin() ? nullptr : &*std::prev(after);
}

std::shared_ptr<const Arena::Ranges> Arena::LiveRanges() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (ranges_ != nullptr) return ranges_;
  auto ranges = std::make_shared<Ranges>();
  ranges->frees = frees_.load(std::memory_order_relaxed);
  ranges->list.reserve(live_.size());
  for (const auto& [address, allocation] : live_) {
    const auto pool = pools_.find(allocation.pool);
    const size_t first = ranges->list.size();
    if (const auto parts = parts_.find(address); parts != parts_.end()) {
      ranges->list.insert(ranges->list.end(), parts->second.begin(), parts->second.end());
    } else {
      ranges->list.push_back({.begin = address, .bytes = allocation.bytes, .kind = allocation.kind});
    }
    for (size_t i = first; i < ranges->list.size(); ++i) {
      Range& range = ranges->list[i];
      range.device = allocation.device;
      range.owner = allocation.pool == 0 ? allocation.owner : 0;  // Pools are their devices'.
      range.open_to = pool == pools_.end() ? 0 : pool->second.open_to;
    }
  }
  // Registered ranges may overlap each other, and lie on one side of the stretch or the other.
  std::vector<Range> registered;
  for (const auto& [address, allocation] : registered_) {
    if (!registered.empty() && address <= registered.back().begin + registered.back().bytes) {
      Range& last = registered.back();
      last.bytes = std::max(last.bytes, address + allocation.bytes - last.begin);
    } else {
      registered.push_back({.begin = address, .bytes = allocation.bytes, .kind = allocation.kind});
    }
  }
  if (!registered.empty()) {
    ranges->list.insert(ranges->list.end(), registered.begin(), registered.end());
    std::sort(ranges->list.begin(), ranges->list.end(),
              [](const Range& x, const Range& y) { return x.begin < y.begin; });
  }
  return ranges_ = std::move(ranges);
}

void Arena::SetParts(uintptr_t address, const std::vector<Part>& parts) {
  std::vector<Range> ranges;
  for (const Part& part : parts) {
    ranges.push_back({.begin = part.address,
                      .bytes = part.bytes,
                      .kind = Kind::kModule,
                      .constant = part.constant,
                      .name = std::make_shared<const std::string>(part.name)});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& x, const Range& y) { return x.begin < y.begin; });
  std::lock_guard<std::mutex> lock(mutex_);
  parts_[address] = std::move(ranges);
  ranges_.reset();
  frees_.fetch_add(1, std::memory_order_release);  // What lies between them has been live.
}

std::optional<FreedRanges::Range> Arena::FindFreed(uintptr_t address) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const FreedRanges::Range* found = freed_.Find(address);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

Arena::PoolUse Arena::UseOf(uint64_t pool) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = pools_.find(pool);
  return found == pools_.end() ? PoolUse() : found->second;
}

void Arena::ForgetPool(uint64_t pool) {
  std::lock_guard<std::mutex> lock(mutex_);
  pools_.erase(pool);
}

void Arena::SetPoolAccess(uint64_t pool, int device, bool allowed) {
  std::lock_guard<std::mutex> lock(mutex_);
  uint32_t& open_to = pools_[pool].open_to;
  const uint32_t bit = uint32_t{1} << device;
  open_to = allowed ? open_to | bit : open_to & ~bit;
  ranges_.reset();
  NoteFree();  // What has been found live may no longer be touched.
}

void Arena::ResetPeak(uint64_t pool) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = pools_.find(pool); found != pools_.end()) found->second.peak = found->second.bytes;
}

size_t Arena::used(int device) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return used_[device];
}

}  // namespace slipway::cpu
