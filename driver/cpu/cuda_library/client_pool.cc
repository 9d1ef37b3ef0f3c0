// Pools of memory. Every allocation comes from the arena, which reuses what is freed by itself: a pool is what is
// counted for it, and keeps nothing back.
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "driver/cpu/allocate.h"
#include "driver/cpu/cuda_library/client.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu::client {
namespace {

// CU_MEM_ACCESS_FLAGS_PROT_*.
constexpr int kNoAccess = 0, kReadAccess = 1, kReadWriteAccess = 3;

struct MemPool {
  uint64_t id = 0;  // For Arena.
  int device = 0;
  size_t max_bytes = 0;  // That may be allocated from it; 0: whatever there is.
  std::atomic<uint64_t> release_threshold{0};
  std::array<std::atomic<int>, kMostDevices> access = {};  // Of each device, kReadWriteAccess of its own.
  std::atomic<int> reuse[3] = {1, 1, 1};  // By attribute, from REUSE_FOLLOW_EVENT_DEPENDENCIES on; of no use.
};

struct Pools {
  HandleTable<MemPool, CUmemoryPool, 12> all;
  std::mutex mutex;
  std::vector<CUmemoryPool> defaults;  // By device.
  std::vector<CUmemoryPool> current;
};

std::shared_ptr<MemPool> NewPool(int device) {
  static std::atomic<uint64_t> last_id{0};
  auto made = std::make_shared<MemPool>();
  made->id = ++last_id;
  made->device = device;
  made->access[static_cast<size_t>(device)] = kReadWriteAccess;
  return made;
}

// Never destroyed, like all that the device knows.
Pools& ThePools() {
  static Pools* const pools = [] {
    auto* made = new Pools;
    for (int device = 0; device < GetSettings().devices; ++device)
      made->defaults.push_back(made->all.Add(NewPool(device)));
    made->current = made->defaults;
    return made;
  }();
  return *pools;
}

CUresult CheckDevice(CUdevice device) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  return device >= 0 && device < GetSettings().devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult Find(CUmemoryPool handle, std::shared_ptr<MemPool>* pool) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  *pool = ThePools().all.Find(handle);
  return *pool == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// Pools of the host's memory are not there.
CUresult DeviceOf(const CUmemLocation* location, CUmemAllocationType type, CUdevice* device) {
  if (location == nullptr || type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  *device = location->id;
  return CheckDevice(*device);
}

CUresult Allocate(const MemPool& pool, CUdeviceptr* address, size_t bytes, CUstream handle) {
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeUncapturable(*stream));
  void* memory = nullptr;
  const PoolRequest request = {.id = pool.id, .device = pool.device, .max_bytes = pool.max_bytes};
  SLIPWAY_RETURN_IF_FAILED(AllocateIn(*stream->context, bytes, Arena::Kind::kDevice, &memory, &request));
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult DeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  SLIPWAY_RETURN_IF_FAILED(CheckDevice(device));
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pool = ThePools().defaults[static_cast<size_t>(device)];
  return CUDA_SUCCESS;
}

CUresult DeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  SLIPWAY_RETURN_IF_FAILED(CheckDevice(device));
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Pools& pools = ThePools();
  const std::lock_guard lock(pools.mutex);
  *pool = pools.current[static_cast<size_t>(device)];
  return CUDA_SUCCESS;
}

CUresult DeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
  SLIPWAY_RETURN_IF_FAILED(CheckDevice(device));
  std::shared_ptr<MemPool> pool;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, &pool));
  if (pool->device != device) return CUDA_ERROR_INVALID_VALUE;
  Pools& pools = ThePools();
  const std::lock_guard lock(pools.mutex);
  pools.current[static_cast<size_t>(device)] = handle;
  return CUDA_SUCCESS;
}

CUresult MemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  CUdevice device = 0;
  SLIPWAY_RETURN_IF_FAILED(DeviceOf(location, type, &device));
  return DeviceGetDefaultMemPool(pool, device);
}
CUresult MemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  CUdevice device = 0;
  SLIPWAY_RETURN_IF_FAILED(DeviceOf(location, type, &device));
  return DeviceGetMemPool(pool, device);
}
CUresult MemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  CUdevice device = 0;
  SLIPWAY_RETURN_IF_FAILED(DeviceOf(location, type, &device));
  return DeviceSetMemPool(device, pool);
}

CUresult MemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (pool == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUdevice device = 0;
  SLIPWAY_RETURN_IF_FAILED(DeviceOf(&properties->location, properties->allocType, &device));
  if (properties->handleTypes != 0) return CUDA_ERROR_NOT_SUPPORTED;  // For other processes.
  std::shared_ptr<MemPool> made = NewPool(device);
  made->max_bytes = properties->maxSize;
  *pool = ThePools().all.Add(std::move(made));
  return CUDA_SUCCESS;
}

// What was allocated from it stays until it is freed.
CUresult MemPoolDestroy(CUmemoryPool handle) {
  std::shared_ptr<MemPool> pool;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, &pool));
  Pools& pools = ThePools();
  const std::lock_guard lock(pools.mutex);
  const size_t device = static_cast<size_t>(pool->device);
  if (pools.defaults[device] == handle) return CUDA_ERROR_INVALID_VALUE;
  if (pools.current[device] == handle) pools.current[device] = pools.defaults[device];
  pools.all.Remove(handle);
  Runtime::Get().arena.ForgetPool(pool->id);
  return CUDA_SUCCESS;
}

CUresult MemPoolTrimTo(CUmemoryPool handle, size_t) {
  std::shared_ptr<MemPool> pool;
  return Find(handle, &pool);  // There is nothing that it keeps back.
}

CUresult MemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  std::shared_ptr<MemPool> pool;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, &pool));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (static_cast<int>(attribute)) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = *static_cast<const int*>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      pool->release_threshold = *static_cast<const uint64_t*>(value);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:  // "can only be reset to zero".
      if (*static_cast<const uint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
      Runtime::Get().arena.ResetPeak(pool->id);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult MemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  std::shared_ptr<MemPool> pool;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, &pool));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Arena::PoolUse use = Runtime::Get().arena.UseOf(pool->id);
  switch (static_cast<int>(attribute)) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      *static_cast<int*>(value) = pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      *static_cast<uint64_t*>(value) = pool->release_threshold;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      *static_cast<uint64_t*>(value) = use.bytes;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      *static_cast<uint64_t*>(value) = use.peak;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// What is kept here is what the memory checker asks; without it every device sees every address.
CUresult MemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* accesses, size_t count) {
  std::shared_ptr<MemPool> pool;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, &pool));
  if (accesses == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    CUdevice device = 0;
    SLIPWAY_RETURN_IF_FAILED(DeviceOf(&accesses[i].location, CU_MEM_ALLOCATION_TYPE_PINNED, &device));
    const int flags = accesses[i].flags;
    if (flags != kNoAccess && flags != kReadAccess && flags != kReadWriteAccess) return CUDA_ERROR_INVALID_VALUE;
    // The device's own access cannot be taken away.
    if (device == pool->device && flags == kNoAccess) return CUDA_ERROR_INVALID_DEVICE;
  }
  for (size_t i = 0; i < count; ++i) {
    if (accesses[i].location.id == pool->device) continue;
    Runtime::Get().arena.SetPoolAccess(pool->id, accesses[i].location.id, accesses[i].flags != kNoAccess);
    pool->access[static_cast<size_t>(accesses[i].location.id)] = accesses[i].flags;
  }
  return CUDA_SUCCESS;
}

CUresult MemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* location) {
  std::shared_ptr<MemPool> pool;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, &pool));
  CUdevice device = 0;
  SLIPWAY_RETURN_IF_FAILED(DeviceOf(location, CU_MEM_ALLOCATION_TYPE_PINNED, &device));
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = static_cast<CUmemAccess_flags>(pool->access[static_cast<size_t>(device)].load());
  return CUDA_SUCCESS;
}

// The pool that an allocation is of; null for one of none, or of one that is destroyed.
CUmemoryPool PoolOf(uint64_t id) {
  return id == 0 ? nullptr : ThePools().all.HandleIf([id](const MemPool& pool) { return pool.id == id; });
}

CUresult MemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  CUmemoryPool current = nullptr;
  SLIPWAY_RETURN_IF_FAILED(DeviceGetMemPool(&current, stream->context->device));
  return MemAllocFromPoolAsync(address, bytes, current, handle);
}

CUresult MemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool handle, CUstream stream) {
  std::shared_ptr<MemPool> pool;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, &pool));
  return Allocate(*pool, address, bytes, stream);
}

}  // namespace slipway::cpu::client
