#include "driver/cpu/system/device_heap.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace slipway::cpu {

DeviceHeap::DeviceHeap(size_t bytes, std::function<void*(size_t bytes)> reserve)
    : reserve_(std::move(reserve)), bytes_(bytes) {}

size_t DeviceHeap::bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

bool DeviceHeap::Resize(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (reserved_) return false;
  bytes_ = bytes;
  return true;
}

void* DeviceHeap::Allocate(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (bytes == 0 || bytes > bytes_) return nullptr;
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (!reserved_) {
    reserved_ = true;
    if (void* const memory = reserve_(bytes_)) free_.emplace(reinterpret_cast<uintptr_t>(memory), bytes_);
  }
  const auto fits = std::find_if(free_.begin(), free_.end(), [&](const auto& block) { return block.second >= bytes; });
  if (fits == free_.end()) return nullptr;
  const auto [address, size] = *fits;
  free_.erase(fits);
  if (size > bytes) free_.emplace(address + bytes, size - bytes);
  live_.emplace(address, bytes);
  return reinterpret_cast<void*>(address);
}

bool DeviceHeap::Free(void* address) {
  if (address == nullptr) return true;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = live_.find(reinterpret_cast<uintptr_t>(address));
  if (found == live_.end()) return false;
  auto block = free_.emplace(found->first, found->second).first;
  live_.erase(found);
  if (const auto next = std::next(block); next != free_.end() && block->first + block->second == next->first) {
    block->second += next->second;
    free_.erase(next);
  }
  if (block == free_.begin()) return true;
  if (const auto before = std::prev(block); before->first + before->second == block->first) {
    before->second += block->second;
    free_.erase(block);
  }
  return true;
}

}  // namespace slipway::cpu
