#include "driver/caching_allocator.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <utility>

#include "driver/allocators.h"
#include "slipway/driver_api.h"
#include "slipway/graph.h"

namespace slipway::internal {
namespace {

// A block of the class `bytes`, the last freed first: it is the likeliest to be in a cache.
template <class Block>
bool Pop(std::map<size_t, std::vector<Block>>& blocks, size_t bytes, Block* block) {
  const auto found = blocks.find(bytes);
  if (found == blocks.end() || found->second.empty()) return false;
  *block = std::move(found->second.back());
  found->second.pop_back();
  return true;
}

}  // namespace

size_t CachingAllocator::RoundUp(size_t bytes) {
  if (bytes <= kMemoryAlignment) return kMemoryAlignment;
  if (bytes > SIZE_MAX / 2) return bytes;  // No device has it.
  const size_t eighth = std::bit_floor(bytes - 1) / 8;
  const size_t step = std::clamp(eighth, kMemoryAlignment, size_t{16} << 20);
  return (bytes + step - 1) / step * step;
}

absl::StatusOr<CUdeviceptr> CachingAllocator::Allocate(CUstream stream, size_t bytes) {
  bytes = RoundUp(bytes);
  std::lock_guard<std::mutex> lock(mutex_);
  CUdeviceptr address = 0;
  if (TakeOwn(stream, bytes, &address)) {
    ++statistics_.reused;
    Count(address, bytes);
    return address;
  }
  const ScopedContext current(state_);
  if (!current.ok()) return current.status();
  const RelaxedCapture relaxed(*state_.api);
  const bool reused = TakeOthers(stream, bytes, /*wait=*/false, &address);
  if (!reused) {
    CUresult result = TakeNew(bytes, &address);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && !TakeOthers(stream, bytes, /*wait=*/true, &address)) {
      TrimLocked(0);
      result = TakeNew(bytes, &address);
    }
    if (address == 0) return DriverStatus(*state_.api, result, "CachingAllocator");
  }
  statistics_.reused += reused ? 1 : 0;
  Count(address, bytes);
  return address;
}

void CachingAllocator::Count(CUdeviceptr address, size_t bytes) {
  ++statistics_.allocations;
  statistics_.in_use += bytes;
  statistics_.peak_in_use = std::max(statistics_.peak_in_use, statistics_.in_use);
  if (bytes < kLeastOwnBytes) SlabOf(address)->in_use += bytes;
}

void CachingAllocator::Free(CUstream stream, CUdeviceptr address, size_t bytes) {
  bytes = RoundUp(bytes);
  std::lock_guard<std::mutex> lock(mutex_);
  statistics_.in_use -= bytes;
  if (bytes < kLeastOwnBytes) SlabOf(address)->in_use -= bytes;
  by_stream_[stream][bytes].push_back({address, nullptr});
}

bool CachingAllocator::TakeOwn(CUstream stream, size_t bytes, CUdeviceptr* address) {
  const auto own = by_stream_.find(stream);
  Block block;
  if (own == by_stream_.end() || !Pop(own->second, bytes, &block)) return false;
  *address = block.address;
  return true;
}

bool CachingAllocator::TakeOthers(CUstream stream, size_t bytes, bool wait, CUdeviceptr* address) {
  const DriverApi& api = *state_.api;
  const auto take = [&](Blocks& blocks) {
    const auto found = blocks.find(bytes);
    if (found == blocks.end()) return false;
    std::vector<Block>& list = found->second;
    // The first freed first: it is the likeliest to be done.
    for (auto block = list.begin(); block != list.end(); ++block) {
      const CUevent event = block->done == nullptr ? nullptr : block->done->event;
      // A device that failed runs nothing more.
      const bool busy = event != nullptr && api.EventQuery(event) == CUDA_ERROR_NOT_READY;
      if (busy && !wait) continue;
      if (busy && api.StreamWaitEvent(stream, event, 0) != CUDA_SUCCESS) return false;
      *address = block->address;
      list.erase(block);
      return true;
    }
    return false;
  };
  if (take(of_no_stream_)) return true;
  for (auto& [other, blocks] : by_stream_) {
    if (other == stream || !blocks.contains(bytes)) continue;
    if (!MarkAll(other, blocks)) continue;
    if (take(blocks)) return true;
  }
  return false;
}

bool CachingAllocator::MarkAll(CUstream stream, Blocks& blocks) {
  const auto unmarked = [](const Block& block) { return block.done == nullptr; };
  const bool needed = std::any_of(blocks.begin(), blocks.end(), [&](const auto& list) {
    return std::any_of(list.second.begin(), list.second.end(), unmarked);
  });
  if (!needed) return true;
  const DriverApi& api = *state_.api;
  // What is recorded in a capture is a part of a graph and tells nothing of now.
  if (IsCapturing(api, stream)) return false;
  CUevent event = nullptr;
  if (api.EventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return false;
  const auto mark = std::make_shared<const Mark>(api, event);
  if (api.EventRecord(event, stream) != CUDA_SUCCESS) return false;
  for (auto& [bytes, list] : blocks) {
    for (Block& block : list) {
      if (unmarked(block)) block.done = mark;
    }
  }
  return true;
}

void CachingAllocator::Forget(CUstream stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto own = by_stream_.find(stream);
  if (own == by_stream_.end()) return;
  if (!MarkAll(stream, own->second)) static_cast<void>(state_.api->StreamSynchronize(stream));
  for (auto& [bytes, list] : own->second) {
    std::vector<Block>& to = of_no_stream_[bytes];
    to.insert(to.end(), std::make_move_iterator(list.begin()), std::make_move_iterator(list.end()));
  }
  by_stream_.erase(own);
}

CUresult CachingAllocator::TakeNew(size_t bytes, CUdeviceptr* address) {
  if (bytes >= kLeastOwnBytes) return NewMemory(bytes, address);
  if (open_slab_ == 0 || slabs_[open_slab_].cut + bytes > kSlabBytes) {
    CUdeviceptr slab = 0;
    const CUresult result = NewMemory(kSlabBytes, &slab);
    if (result != CUDA_SUCCESS) return result;
    // What is left of the slab before is lost until it is given back as a whole: less than one block.
    slabs_[slab] = {};
    open_slab_ = slab;
  }
  Slab& slab = slabs_[open_slab_];
  *address = open_slab_ + slab.cut;
  slab.cut += bytes;
  return CUDA_SUCCESS;
}

CUresult CachingAllocator::NewMemory(size_t bytes, CUdeviceptr* address) {
  const CUresult result = state_.api->MemAlloc(address, bytes);
  if (result != CUDA_SUCCESS) return result;
  statistics_.held += bytes;
  statistics_.peak_held = std::max(statistics_.peak_held, statistics_.held);
  return CUDA_SUCCESS;
}

CachingAllocator::Slab* CachingAllocator::SlabOf(CUdeviceptr address) {
  return &std::prev(slabs_.upper_bound(address))->second;
}

void CachingAllocator::GiveBack(CUdeviceptr address, size_t bytes) {
  // Waits for the work that may use it. A failure leaves nothing that could be done: the context is gone, and the
  // memory with it.
  static_cast<void>(state_.api->MemFree(address));
  statistics_.held -= bytes;
}

void CachingAllocator::Trim(size_t keep) {
  std::lock_guard<std::mutex> lock(mutex_);
  TrimLocked(keep);
}

void CachingAllocator::TrimLocked(size_t keep) {
  const auto enough = [&] { return statistics_.held - statistics_.in_use <= keep; };
  const auto for_each = [&](const auto& visit) {
    visit(of_no_stream_);
    for (auto& [stream, blocks] : by_stream_) visit(blocks);
  };
  for_each([&](Blocks& blocks) {
    for (auto own = blocks.rbegin(); own != blocks.rend() && own->first >= kLeastOwnBytes; ++own) {
      for (; !own->second.empty() && !enough(); own->second.pop_back())
        GiveBack(own->second.back().address, own->first);
    }
  });
  for (auto slab = slabs_.begin(); slab != slabs_.end() && !enough();) {
    if (slab->second.in_use != 0) {
      ++slab;
      continue;
    }
    for_each([&](Blocks& blocks) {
      for (auto& [bytes, list] : blocks) {
        std::erase_if(list, [&](const Block& block) {
          return block.address >= slab->first && block.address < slab->first + kSlabBytes;
        });
      }
    });
    GiveBack(slab->first, kSlabBytes);
    if (open_slab_ == slab->first) open_slab_ = 0;
    slab = slabs_.erase(slab);
  }
}

MemoryStatistics CachingAllocator::Statistics() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return statistics_;
}

}  // namespace slipway::internal
