#include "driver/cpu/system/device_heap.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace slipway::cpu {
namespace {

// How much of a checked heap is kept back after it was freed.
size_t KeptOf(size_t bytes) { return bytes / 4; }

}  // namespace

DeviceHeap::DeviceHeap(size_t bytes, std::function<void*(size_t bytes)> reserve, bool checked)
    : reserve_(std::move(reserve)), bytes_(bytes), checked_(checked), freed_(KeptOf(bytes)) {}

size_t DeviceHeap::bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

bool DeviceHeap::Resize(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (reserved_) return false;
  bytes_ = bytes;
  freed_ = FreedRanges(KeptOf(bytes));
  return true;
}

void* DeviceHeap::Allocate(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (bytes == 0 || bytes > bytes_) return nullptr;
  const size_t taken = Taken(bytes);
  if (!reserved_) {
    reserved_ = true;
    const size_t room = checked_ ? 2 * bytes_ : bytes_;
    if (void* const memory = reserve_(room)) free_.emplace(reinterpret_cast<uintptr_t>(memory), room);
  }
  if (Rounded(bytes) > bytes_ - given_) return nullptr;
  const auto find = [&] {
    return std::find_if(free_.begin(), free_.end(), [&](const auto& block) { return block.second >= taken; });
  };
  auto fits = find();
  if (fits == free_.end() && freed_.GiveAllBack([&](uintptr_t at, size_t size) { AddFree(at, size); })) fits = find();
  if (fits == free_.end()) return nullptr;
  const auto [address, size] = *fits;
  free_.erase(fits);
  if (size > taken) free_.emplace(address + taken, size - taken);
  if (checked_) freed_.Forget(address, taken);
  live_.emplace(address, bytes);
  given_ += Rounded(bytes);
  return reinterpret_cast<void*>(address);
}

bool DeviceHeap::Free(void* address) {
  if (address == nullptr) return true;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = live_.find(reinterpret_cast<uintptr_t>(address));
  if (found == live_.end()) return false;
  const auto [begin, bytes] = *found;
  live_.erase(found);
  given_ -= Rounded(bytes);
  const auto give_back = [&](uintptr_t at, size_t size) { AddFree(at, size); };
  if (checked_) {
    freed_.Add(begin, bytes, Taken(bytes), give_back);
  } else {
    AddFree(begin, Taken(bytes));
  }
  return true;
}

void DeviceHeap::AddFree(uintptr_t address, size_t bytes) {
  auto block = free_.emplace(address, bytes).first;
  if (const auto next = std::next(block); next != free_.end() && block->first + block->second == next->first) {
    block->second += next->second;
    free_.erase(next);
  }
  if (block == free_.begin()) return;
  if (const auto before = std::prev(block); before->first + before->second == block->first) {
    before->second += block->second;
    free_.erase(block);
  }
}

std::optional<DeviceHeap::Block> DeviceHeap::Nearest(uintptr_t address) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto after = live_.upper_bound(address);
  std::optional<Block> nearest;
  if (after != live_.end()) nearest = Block{after->first, after->second};
  if (after == live_.begin()) return nearest;
  const auto& [begin, bytes] = *std::prev(after);
  if (address - begin < bytes || !nearest || address - begin - bytes <= nearest->address - address) {
    nearest = Block{begin, bytes};
  }
  return nearest;
}

std::optional<FreedRanges::Range> DeviceHeap::FindFreed(uintptr_t address) {
  std::lock_guard<std::mutex> lock(mutex_);
  const FreedRanges::Range* const found = freed_.Find(address);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

}  // namespace slipway::cpu
