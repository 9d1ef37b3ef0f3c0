// Device memory, pinned host memory, copies and fills.
#include <cstring>
#include <limits>

#include "driver/cpu/api.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu {
namespace {

// "For transfers from pageable host memory to device memory, ... the function will return once the pageable buffer has
// been copied to the staging memory" (CUDA driver API, API synchronization behavior). Larger ones are copied before the
// call returns, which comes to the same.
constexpr size_t kMaxStagedBytes = size_t{64} << 10;

std::byte* Pointer(CUdeviceptr address) { return reinterpret_cast<std::byte*>(address); }

bool IsDeviceRange(CUdeviceptr address, size_t bytes) { return Runtime::Get().arena.Find(address, bytes).has_value(); }

// Whether an asynchronous copy may read or write it after the call has returned. A host pointer into the arena's
// address space must be allocated; any other is the caller's.
enum class HostRange { kInvalid, kPageable, kPinned };
HostRange ClassifyHost(const void* host, size_t bytes) {
  if (host == nullptr) return HostRange::kInvalid;
  const Arena& arena = Runtime::Get().arena;
  uintptr_t address = reinterpret_cast<uintptr_t>(host);
  if (!arena.Reserved(address)) return arena.Find(address, bytes) ? HostRange::kPinned : HostRange::kPageable;
  return arena.Find(address, bytes) ? HostRange::kPinned : HostRange::kInvalid;
}

enum class Direction { kHostToDevice, kDeviceToHost, kDeviceToDevice };

// A copy on `handle`. `wait`: return when it is done, whatever memory it is. On a capturing stream nothing is waited
// for or staged: the memory is read and written when the graph runs.
CUresult Copy(Direction direction, std::byte* to, const std::byte* from, size_t bytes, CUstream handle, bool wait) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  Captures& captures = Runtime::Get().captures;
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  const bool capturing = Captures::IsCapturing(*stream);
  if (wait) SLIPWAY_RETURN_IF_FAILED(captures.BeforeSynchronousCall(*stream));
  if (bytes == 0) return CUDA_SUCCESS;
  bool stage = false;
  if (direction == Direction::kHostToDevice) {
    HostRange host = ClassifyHost(from, bytes);
    if (host == HostRange::kInvalid) return CUDA_ERROR_INVALID_VALUE;
    stage = host == HostRange::kPageable && !wait && bytes <= kMaxStagedBytes;
    wait |= host == HostRange::kPageable && !stage;
  } else if (!IsDeviceRange(reinterpret_cast<CUdeviceptr>(from), bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (direction == Direction::kDeviceToHost) {
    HostRange host = ClassifyHost(to, bytes);
    if (host == HostRange::kInvalid) return CUDA_ERROR_INVALID_VALUE;
    wait |= host == HostRange::kPageable;
  } else if (!IsDeviceRange(reinterpret_cast<CUdeviceptr>(to), bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Engine& engine = Engine::Get();
  Op* op = engine.NewOp(OpKind::kCopy);
  if (capturing) stage = wait = false;
  op->to = to;
  op->from = from;
  op->count = bytes;
  if (stage) {
    std::memcpy(op->buffer.Reserve(bytes), from, bytes);
    op->from = op->buffer.data();
  }
  if (!wait) return captures.Submit(stream, op);
  return engine.EnqueueAndWait(*stream, op);
}

CUresult Fill(CUdeviceptr to, uint32_t value, uint32_t width, size_t count, CUstream handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  if (count == 0) return CUDA_SUCCESS;
  if (to % width != 0 || count > std::numeric_limits<size_t>::max() / width || !IsDeviceRange(to, count * width)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Op* op = Engine::Get().NewOp(OpKind::kFill);
  op->to = Pointer(to);
  op->value = value;
  op->width = width;
  op->count = count;
  return Runtime::Get().captures.Submit(stream, op);
}

// Before the synchronous forms of what can also be queued, which are not told apart further down.
CUresult BeforeSynchronousCall() {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Stream> legacy;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(nullptr, &legacy));
  return Runtime::Get().captures.BeforeSynchronousCall(*legacy);
}

// The context that an allocation belongs to; null if it is gone.
std::shared_ptr<Context> OwnerOf(const Arena::Allocation& allocation) {
  PrimaryContext& primary = Runtime::Get().primary[static_cast<size_t>(allocation.device)];
  std::lock_guard<std::mutex> lock(primary.mutex);
  bool same = primary.context != nullptr && primary.context->id == allocation.owner;
  return same ? primary.context : nullptr;
}

CUresult AllocateIn(Context& context, size_t bytes, Arena::Kind kind, void** memory) {
  Arena& arena = Runtime::Get().arena;
  *memory = arena.Allocate(bytes, context.device, context.id, kind);
  if (*memory == nullptr) {
    // Frees may be queued; what they give back may be enough.
    Engine::Get().WaitAll(context);
    *memory = arena.Allocate(bytes, context.device, context.id, kind);
  }
  if (*memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!Engine::Get().IsDestroyed(context)) return CUDA_SUCCESS;
  // By another thread, since it was looked up: what it owned may have been freed before this was among it.
  arena.FreeOwner(context.id);
  return CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

// Whether a range is memory of a context.
CUresult CheckOwner(CUdeviceptr address, size_t bytes, CUcontext handle) {
  std::shared_ptr<Context> context = Runtime::Get().contexts.Find(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (bytes == 0) return CUDA_SUCCESS;
  std::optional<Arena::Allocation> allocation = Runtime::Get().arena.Find(address, bytes);
  return allocation && allocation->owner == context->id ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
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
  if (!allocation) return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE;
  if (std::shared_ptr<Context> owner = OwnerOf(*allocation)) Engine::Get().WaitAll(*owner);
  Runtime::Get().arena.Free(address);
  return Sticky(*current);
}

}  // namespace

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
  op->to = Pointer(address);
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
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if ((flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  return MemAllocHost(address, bytes);
}

CUresult MemHostGetDevicePointer(CUdeviceptr* address, void* host, unsigned flags) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (address == nullptr || host == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto given = reinterpret_cast<CUdeviceptr>(host);
  std::optional<Arena::Allocation> allocation = Runtime::Get().arena.Find(given, 1);
  if (!allocation || allocation->kind != Arena::Kind::kHost) return CUDA_ERROR_INVALID_VALUE;
  *address = given;
  return CUDA_SUCCESS;
}

// Memory that host and device share is what the arena is.
CUresult MemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  constexpr unsigned kAttachHost = 2;  // CU_MEM_ATTACH_HOST.
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != kAttachHost) return CUDA_ERROR_INVALID_VALUE;
  return MemAlloc(address, bytes);
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
  constexpr auto kNotRegistered = static_cast<CUresult>(713);  // CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED.
  const bool known = Runtime::Get().arena.Unregister(reinterpret_cast<uintptr_t>(host));
  return known ? CUDA_SUCCESS : kNotRegistered;
}

CUresult MemFreeHost(void* address) { return FreeNow(reinterpret_cast<uintptr_t>(address), Arena::Kind::kHost); }

CUresult MemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return Copy(Direction::kHostToDevice, Pointer(to), static_cast<const std::byte*>(from), bytes, nullptr, true);
}
CUresult MemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return Copy(Direction::kDeviceToHost, static_cast<std::byte*>(to), Pointer(from), bytes, nullptr, true);
}
// "For transfers from device memory to device memory, no host-side synchronization is performed."
CUresult MemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  SLIPWAY_RETURN_IF_FAILED(BeforeSynchronousCall());
  return Copy(Direction::kDeviceToDevice, Pointer(to), Pointer(from), bytes, nullptr, false);
}
CUresult MemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return Copy(Direction::kHostToDevice, Pointer(to), static_cast<const std::byte*>(from), bytes, stream, false);
}
CUresult MemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return Copy(Direction::kDeviceToHost, static_cast<std::byte*>(to), Pointer(from), bytes, stream, false);
}
CUresult MemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return Copy(Direction::kDeviceToDevice, Pointer(to), Pointer(from), bytes, stream, false);
}

// Between devices of one process a copy is a copy. The contexts say whose memory it must be.
CUresult MemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                         CUstream stream) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  SLIPWAY_RETURN_IF_FAILED(CheckOwner(to, bytes, to_context));
  SLIPWAY_RETURN_IF_FAILED(CheckOwner(from, bytes, from_context));
  return Copy(Direction::kDeviceToDevice, Pointer(to), Pointer(from), bytes, stream, false);
}

CUresult MemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  SLIPWAY_RETURN_IF_FAILED(BeforeSynchronousCall());
  return Fill(to, value, 1, count, nullptr);
}
CUresult MemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return Fill(to, value, 1, count, stream);
}
CUresult MemsetD32(CUdeviceptr to, unsigned value, size_t count) {
  SLIPWAY_RETURN_IF_FAILED(BeforeSynchronousCall());
  return Fill(to, value, 4, count, nullptr);
}
CUresult MemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return Fill(to, value, 4, count, stream);
}

CUresult PointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::optional<Arena::Allocation> allocation = Runtime::Get().arena.Find(address, 1);
  if (!allocation) return CUDA_ERROR_INVALID_VALUE;
  // CU_MEMORYTYPE_HOST and CU_MEMORYTYPE_DEVICE of cuda.h.
  constexpr unsigned kHost = 1, kDevice = 2;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: {
      std::shared_ptr<Context> owner = OwnerOf(*allocation);
      if (owner == nullptr) return CUDA_ERROR_INVALID_VALUE;
      *static_cast<CUcontext*>(value) = owner->handle;
      return CUDA_SUCCESS;
    }
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) = allocation->kind == Arena::Kind::kHost ? kHost : kDevice;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(value) = address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = allocation->device;
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace api
}  // namespace slipway::cpu
