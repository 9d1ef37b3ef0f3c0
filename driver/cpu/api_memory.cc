// Device memory, pinned host memory, copies and fills.
#include <memory>
#include <optional>

#include "driver/cpu/allocate.h"
#include "driver/cpu/api.h"
#include "driver/cpu/copy.h"
#include "driver/cpu/cuda_types.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu {
namespace {

CUresult CopyLinear(Where to_where, CUdeviceptr to, Where from_where, CUdeviceptr from, size_t bytes, CUstream stream,
                    CopyWait wait) {
  return Copy({.where = to_where, .address = to}, {.where = from_where, .address = from}, {.bytes = bytes}, stream,
              wait);
}

bool IsHostMemory(const void* host) {
  const std::optional<Arena::Allocation> found = Runtime::Get().arena.Find(reinterpret_cast<uintptr_t>(host), 1);
  return found && found->kind == Arena::Kind::kHost;
}

CUdeviceptr Address(const void* host) { return reinterpret_cast<CUdeviceptr>(host); }

// Whether a range is memory of a context.
CUresult CheckOwner(CUdeviceptr address, size_t bytes, CUcontext handle) {
  std::shared_ptr<Context> context = Runtime::Get().contexts.Find(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (bytes == 0) return CUDA_SUCCESS;
  std::optional<Arena::Allocation> allocation = Runtime::Get().arena.Find(address, bytes);
  return allocation && allocation->owner == context->id ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult AllocateIn(Context& context, size_t bytes, Arena::Kind kind, void** memory, const PoolRequest* pool) {
  Arena& arena = Runtime::Get().arena;
  const auto allocate = [&] {
    if (pool == nullptr) return arena.Allocate(bytes, context.device, context.id, kind);
    const bool fits =
        pool->max_bytes == 0 || (bytes <= pool->max_bytes && arena.UseOf(pool->id).bytes <= pool->max_bytes - bytes);
    return fits ? arena.Allocate(bytes, pool->device, context.id, kind, pool->id) : nullptr;
  };
  *memory = allocate();
  if (*memory == nullptr) {
    // Frees may be queued; what they give back may be enough.
    Engine::Get().WaitAll(context);
    *memory = allocate();
  }
  if (*memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!Engine::Get().IsDestroyed(context)) return CUDA_SUCCESS;
  // By another thread, since it was looked up: what it owned may have been freed before this was among it.
  arena.FreeOwner(context.id);
  return CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult FreeNow(uintptr_t address, Arena::Kind kind) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (address == 0) return CUDA_SUCCESS;
  std::shared_ptr<Context> current;
  // A broken context can free, so that what owns memory in it can let go; the call still tells of the fault.
  CUresult result = CurrentContext(&current);
  if (current == nullptr) return result;
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeUnsafeCall());
  std::optional<Arena::Allocation> allocation = Runtime::Get().arena.BeginFree(address, kind);
  if (!allocation && kind == Arena::Kind::kDevice) {
    allocation = Runtime::Get().arena.BeginFree(address, Arena::Kind::kManaged);
  }
  if (!allocation) return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE;
  if (std::shared_ptr<Context> owner = ContextById(allocation->owner)) Engine::Get().WaitAll(*owner);
  Runtime::Get().arena.Free(address);
  return Sticky(*current);
}

namespace api {

CUresult MemGetInfo(size_t* free, size_t* total) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (free == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  const Arena& arena = Runtime::Get().arena;
  *total = arena.limit();
  *free = arena.limit() - arena.used(context->device);
  return CUDA_SUCCESS;
}

CUresult MemAlloc(CUdeviceptr* address, size_t bytes) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeUnsafeCall());
  void* memory = nullptr;
  SLIPWAY_RETURN_IF_FAILED(AllocateIn(*context, bytes, Arena::Kind::kDevice, &memory));
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}

CUresult MemFree(CUdeviceptr address) { return FreeNow(address, Arena::Kind::kDevice); }

CUresult MemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeUncapturable(*stream));
  void* memory = nullptr;
  SLIPWAY_RETURN_IF_FAILED(AllocateIn(*stream->context, bytes, Arena::Kind::kDevice, &memory));
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}

CUresult MemFreeAsync(CUdeviceptr address, CUstream handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Stream> stream;
  CUresult result = ResolveStream(handle, &stream);
  if (stream == nullptr) return result;
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeUncapturable(*stream));
  Arena& arena = Runtime::Get().arena;
  if (!arena.BeginFree(address, Arena::Kind::kDevice))
    return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE;
  if (result != CUDA_SUCCESS) {
    // A broken context queues nothing any more; its memory is given back as soon as nothing of it runs.
    Engine::Get().WaitAll(*stream->context);
    arena.Free(address);
    return result;
  }
  Op* op = Engine::Get().NewOp(OpKind::kFree);
  op->to = reinterpret_cast<std::byte*>(address);
  result = Engine::Get().Enqueue(*stream, op);
  if (result != CUDA_SUCCESS) arena.CancelFree(address);
  return result;
}

// There is one pool, the arena; MemAllocAsync takes from it.
CUresult MemPoolCreate(CUmemoryPool*, const CUmemPoolProps*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult MemPoolDestroy(CUmemoryPool) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult MemPoolTrimTo(CUmemoryPool, size_t) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult MemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, void*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult MemPoolGetAttribute(CUmemoryPool, CUmemPool_attribute, void*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult MemAllocFromPoolAsync(CUdeviceptr*, size_t, CUmemoryPool, CUstream) { return CUDA_ERROR_NOT_SUPPORTED; }

CUresult MemAllocHost(void** address, size_t bytes) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeUnsafeCall());
  return AllocateIn(*context, bytes, Arena::Kind::kHost, address);
}

// All host memory of the arena is addressable by kernels and pinned for every context, whatever is asked for.
CUresult MemHostAlloc(void** address, size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = kMemHostPortable | kMemHostDeviceMap | kMemHostWriteCombined;
  if ((flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  SLIPWAY_RETURN_IF_FAILED(MemAllocHost(address, bytes));
  Runtime::Get().arena.SetHostFlags(reinterpret_cast<uintptr_t>(*address), flags);
  return CUDA_SUCCESS;
}

CUresult MemHostGetDevicePointer(CUdeviceptr* address, void* host, unsigned flags) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (address == nullptr || flags != 0 || !IsHostMemory(host)) return CUDA_ERROR_INVALID_VALUE;
  *address = reinterpret_cast<CUdeviceptr>(host);
  return CUDA_SUCCESS;
}

CUresult MemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(Ready());
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeUnsafeCall());
  void* memory = nullptr;
  SLIPWAY_RETURN_IF_FAILED(AllocateIn(*context, bytes, Arena::Kind::kManaged, &memory));
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}

// A GPU refuses what is registered already (CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED), because it pins whole pages;
// here ranges may overlap. Memory of the arena is never the application's own.
CUresult MemHostRegister(void* host, size_t bytes, unsigned flags) {
  constexpr unsigned kReadOnly = 8;  // CU_MEMHOSTREGISTER_READ_ONLY.
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  const auto address = reinterpret_cast<uintptr_t>(host);
  if (host == nullptr || bytes == 0 || address + bytes < address) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & ~(kMemHostPortable | kMemHostDeviceMap | kReadOnly)) != 0) return CUDA_ERROR_INVALID_VALUE;
  Arena& arena = Runtime::Get().arena;
  if (arena.Reserved(address) || arena.Reserved(address + bytes - 1)) return CUDA_ERROR_INVALID_VALUE;
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeUnsafeCall());
  arena.Register(address, bytes, context->device, context->id);
  return CUDA_SUCCESS;
}

CUresult MemHostUnregister(void* host) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeUnsafeCall());
  const bool known = Runtime::Get().arena.Unregister(reinterpret_cast<uintptr_t>(host));
  return known ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult MemFreeHost(void* address) { return FreeNow(reinterpret_cast<uintptr_t>(address), Arena::Kind::kHost); }

CUresult MemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return CopyLinear(Where::kDevice, to, Where::kHost, Address(from), bytes, nullptr, CopyWait::kAlways);
}
CUresult MemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return CopyLinear(Where::kHost, Address(to), Where::kDevice, from, bytes, nullptr, CopyWait::kAlways);
}
// "For transfers from device memory to device memory, no host-side synchronization is performed."
CUresult MemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return CopyLinear(Where::kDevice, to, Where::kDevice, from, bytes, nullptr, CopyWait::kSync);
}
CUresult MemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return CopyLinear(Where::kDevice, to, Where::kHost, Address(from), bytes, stream, CopyWait::kAsync);
}
CUresult MemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return CopyLinear(Where::kHost, Address(to), Where::kDevice, from, bytes, stream, CopyWait::kAsync);
}
CUresult MemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return CopyLinear(Where::kDevice, to, Where::kDevice, from, bytes, stream, CopyWait::kAsync);
}

// Between devices of one process a copy is a copy. The contexts say whose memory it must be.
CUresult MemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                         CUstream stream) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  SLIPWAY_RETURN_IF_FAILED(CheckOwner(to, bytes, to_context));
  SLIPWAY_RETURN_IF_FAILED(CheckOwner(from, bytes, from_context));
  return MemcpyDtoDAsync(to, from, bytes, stream);
}

CUresult MemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  return Fill(to, 0, value, 1, count, 1, nullptr, CopyWait::kSync);
}
CUresult MemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return Fill(to, 0, value, 1, count, 1, stream, CopyWait::kAsync);
}
CUresult MemsetD32(CUdeviceptr to, unsigned value, size_t count) {
  return Fill(to, 0, value, 4, count, 1, nullptr, CopyWait::kSync);
}
CUresult MemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return Fill(to, 0, value, 4, count, 1, stream, CopyWait::kAsync);
}

CUresult PointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::optional<Arena::Allocation> allocation = Runtime::Get().arena.Find(address, 1);
  if (!allocation) return CUDA_ERROR_INVALID_VALUE;
  const bool host = allocation->kind == Arena::Kind::kHost;
  const bool managed = allocation->kind == Arena::Kind::kManaged;
  switch (static_cast<int>(attribute)) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: {
      std::shared_ptr<Context> owner = ContextById(allocation->owner);
      if (owner == nullptr) return CUDA_ERROR_INVALID_VALUE;
      *static_cast<CUcontext*>(value) = owner->handle;
      return CUDA_SUCCESS;
    }
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(value) = address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!host && !managed) return CUDA_ERROR_INVALID_VALUE;
      *static_cast<void**>(value) = reinterpret_cast<void*>(address);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = allocation->device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      *static_cast<uint64_t*>(value) = allocation->id;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<bool*>(value) = managed;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      *static_cast<CUdeviceptr*>(value) = allocation->address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      *static_cast<size_t*>(value) = allocation->bytes;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *static_cast<bool*>(value) = true;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      *static_cast<uint64_t*>(value) = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE.
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:  // Slipway's own table has no pools.
      *static_cast<void**>(value) = nullptr;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:  // Nothing is shared with other processes.
      *static_cast<uint64_t*>(value) = 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      *static_cast<bool*>(value) = allocation->sync_memops;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      *static_cast<bool*>(value) = false;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace api
}  // namespace slipway::cpu
