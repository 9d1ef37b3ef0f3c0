#include "driver/allocators.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/caching_allocator.h"
#include "driver/log.h"
#include "driver/status_macros.h"
#include "slipway/graph.h"

namespace slipway {
namespace internal {
namespace {

// A pool of the driver's, of our own: others' settings of the device's default pool are not touched, and neither do
// they touch ours.
class DriverPoolAllocator : public Allocator {
 public:
  static std::shared_ptr<Allocator> Make(const DeviceState& state) {
    const DriverApi& api = *state.api;
    int supported = 0;
    if (api.MemPoolCreate == nullptr || api.MemPoolDestroy == nullptr || api.MemPoolTrimTo == nullptr ||
        api.MemPoolSetAttribute == nullptr || api.MemPoolGetAttribute == nullptr ||
        api.MemAllocFromPoolAsync == nullptr || api.MemFreeAsync == nullptr ||
        api.DeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, state.device) != CUDA_SUCCESS ||
        supported == 0) {
      return nullptr;
    }
    CUmemPoolProps props = {};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = {CU_MEM_LOCATION_TYPE_DEVICE, state.device};
    CUmemoryPool pool = nullptr;
    if (api.MemPoolCreate(&pool, &props) != CUDA_SUCCESS) return nullptr;
    // By default a pool gives everything back whenever somebody waits for the device.
    uint64_t threshold = UINT64_MAX;
    static_cast<void>(api.MemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    return std::make_shared<DriverPoolAllocator>(api, pool);
  }

  DriverPoolAllocator(const DriverApi& api, CUmemoryPool pool) : api_(api), pool_(pool) {}
  ~DriverPoolAllocator() override { static_cast<void>(api_.MemPoolDestroy(pool_)); }

  absl::StatusOr<CUdeviceptr> Allocate(CUstream stream, size_t bytes) override {
    CUdeviceptr address = 0;
    const CUresult result = api_.MemAllocFromPoolAsync(&address, bytes, pool_, stream);
    if (result != CUDA_SUCCESS) return DriverStatus(api_, result, "cuMemAllocFromPoolAsync");
    allocations_.fetch_add(1, std::memory_order_relaxed);
    return address;
  }
  void Free(CUstream stream, CUdeviceptr address, size_t) override {
    // Recorded in a capture it would free the memory at every launch of the graph.
    if (IsCapturing(api_, stream) || api_.MemFreeAsync(address, stream) != CUDA_SUCCESS) {
      static_cast<void>(api_.MemFree(address));
    }
  }
  void Trim(size_t keep) override {
    static_cast<void>(api_.MemPoolTrimTo(pool_, keep + Read(CU_MEMPOOL_ATTR_USED_MEM_CURRENT)));
  }
  MemoryStatistics Statistics() const override {
    return {.in_use = Read(CU_MEMPOOL_ATTR_USED_MEM_CURRENT),
            .peak_in_use = Read(CU_MEMPOOL_ATTR_USED_MEM_HIGH),
            .held = Read(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT),
            .peak_held = Read(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH),
            .allocations = allocations_.load(std::memory_order_relaxed)};
  }

 private:
  size_t Read(CUmemPool_attribute attribute) const {
    uint64_t value = 0;
    return api_.MemPoolGetAttribute(pool_, attribute, &value) == CUDA_SUCCESS ? value : 0;
  }

  const DriverApi& api_;
  const CUmemoryPool pool_;
  std::atomic<uint64_t> allocations_{0};
};

// None: what the driver makes of each.
class DirectAllocator : public Allocator {
 public:
  explicit DirectAllocator(const DriverApi& api)
      : api_(api), ordered_(api.MemAllocAsync != nullptr && api.MemFreeAsync != nullptr) {}

  absl::StatusOr<CUdeviceptr> Allocate(CUstream stream, size_t bytes) override {
    CUdeviceptr address = 0;
    const CUresult result = ordered_ ? api_.MemAllocAsync(&address, bytes, stream) : api_.MemAlloc(&address, bytes);
    if (result != CUDA_SUCCESS) return DriverStatus(api_, result, ordered_ ? "cuMemAllocAsync" : "cuMemAlloc");
    std::lock_guard<std::mutex> lock(mutex_);
    ++statistics_.allocations;
    statistics_.in_use += bytes;
    statistics_.held = statistics_.in_use;
    statistics_.peak_held = statistics_.peak_in_use = std::max(statistics_.peak_in_use, statistics_.in_use);
    return address;
  }
  void Free(CUstream stream, CUdeviceptr address, size_t bytes) override {
    if (!ordered_ || IsCapturing(api_, stream) || api_.MemFreeAsync(address, stream) != CUDA_SUCCESS) {
      static_cast<void>(api_.MemFree(address));
    }
    std::lock_guard<std::mutex> lock(mutex_);
    statistics_.in_use -= bytes;
    statistics_.held = statistics_.in_use;
  }
  MemoryStatistics Statistics() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return statistics_;
  }

 private:
  const DriverApi& api_;
  const bool ordered_;
  mutable std::mutex mutex_;
  MemoryStatistics statistics_;
};

bool IsSet(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// By $SLIPWAY_POOL and what the driver has.
std::shared_ptr<Allocator> MakeAllocator(const DeviceState& state) {
  const char* const asked = std::getenv("SLIPWAY_POOL");
  const std::string_view kind = asked == nullptr ? "" : asked;
  const bool is_cpu = std::string_view(state.api->name) == "cpu";
  // Within a pool a checker sees neither ends of allocations nor uses after they were freed.
  const bool checked = kind.empty() && is_cpu && IsSet("SLIPWAY_CPU_CHECK");
  if (kind == "off" || checked) return std::make_shared<DirectAllocator>(*state.api);
  // To the CPU device every free is work that is queued.
  if (kind == "caching" || (kind.empty() && is_cpu)) return std::make_shared<CachingAllocator>(state);
  if (!kind.empty() && kind != "driver") {
    static std::once_flag told;
    std::call_once(told, [&] {
      LogWarning(absl::StrCat("SLIPWAY_POOL=", AsAbsl(kind), " is none of driver, caching and off; it is ignored"));
    });
  }
  if (std::shared_ptr<Allocator> pool = DriverPoolAllocator::Make(state)) return pool;
  return std::make_shared<CachingAllocator>(state);
}

}  // namespace

std::shared_ptr<Allocator> AllocatorOf(const DeviceState& state) {
  std::lock_guard<std::mutex> lock(state.allocator_mutex);
  if (state.allocator == nullptr) state.allocator = MakeAllocator(state);
  return state.allocator;
}

void ForgetStream(const DeviceState& state, CUstream stream) {
  std::shared_ptr<Allocator> allocator;
  {
    std::lock_guard<std::mutex> lock(state.allocator_mutex);
    allocator = state.allocator;
  }
  if (allocator != nullptr) allocator->Forget(stream);
}

}  // namespace internal

void SetAllocator(const Device& device, std::shared_ptr<Allocator> allocator) {
  const DeviceState& state = *device.state();
  {
    std::lock_guard<std::mutex> lock(state.allocator_mutex);
    state.allocator.swap(allocator);
  }
  // The one before may go here, and give back what it holds.
  const ScopedContext current(state);
  const internal::RelaxedCapture relaxed(*state.api);
  allocator = nullptr;
}

MemoryStatistics StatisticsOf(const Device& device) {
  const ScopedContext current(*device.state());
  if (!current.ok()) return {};
  return internal::AllocatorOf(*device.state())->Statistics();
}

absl::Status internal::TrimOf(const Device& device, Allocator& allocator, size_t keep) {
  const ScopedContext current(*device.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const RelaxedCapture relaxed(device.api());
  allocator.Trim(keep);
  return absl::OkStatus();
}

absl::Status TrimMemory(const Device& device, size_t keep) {
  return internal::TrimOf(device, *internal::AllocatorOf(*device.state()), keep);
}

}  // namespace slipway
