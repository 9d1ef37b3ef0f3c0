// The primary contexts of the devices, and each thread's stack of current ones.
#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "driver/cpu/api.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu {
namespace {

// Plain data without a destructor: threads use it while they end, and static objects after main has returned; and a
// look at it is a load. Small: a shared library that programs open while they run has little room for such (glibc's
// static TLS), so what few programs need lies elsewhere.
class ContextStack {
 public:
  CUcontext top() const { return depth_ == 0 ? nullptr : at(depth_ - 1); }
  bool empty() const { return depth_ == 0; }
  // False if there is no memory.
  bool Push(CUcontext context) {
    if (depth_ >= kInline && depth_ - kInline == capacity_) {
      const size_t capacity = capacity_ == 0 ? 64 : 2 * capacity_;
      void* const more = std::realloc(more_, sizeof(CUcontext) * capacity);
      if (more == nullptr) return false;
      more_ = static_cast<CUcontext*>(more);
      capacity_ = capacity;
    }
    at(depth_++) = context;
    return true;
  }
  CUcontext Pop() { return at(--depth_); }
  void ReplaceTop(CUcontext context) { at(depth_ - 1) = context; }
  // Whether Push has taken memory, which goes with Release.
  bool has_more() const { return more_ != nullptr; }
  void Release() {
    std::free(more_);
    more_ = nullptr;
    capacity_ = 0;
    depth_ = std::min(depth_, kInline);
  }

 private:
  static constexpr size_t kInline = 8;
  CUcontext at(size_t i) const { return i < kInline ? first_[i] : more_[i - kInline]; }
  CUcontext& at(size_t i) { return i < kInline ? first_[i] : more_[i - kInline]; }

  CUcontext first_[kInline];
  CUcontext* more_;
  size_t capacity_;  // Of `more_`.
  size_t depth_;
};
thread_local ContextStack current;

// Gives a thread's memory back when it ends. Made by those that have taken some alone.
struct ReleaseAtEnd {
  bool wanted = false;
  ~ReleaseAtEnd() {
    if (wanted) current.Release();
  }
};
thread_local ReleaseAtEnd release_at_end;

std::atomic<uint64_t> next_context_id{0};

}  // namespace

std::shared_ptr<Context> NewContext(int device) {
  Runtime& runtime = Runtime::Get();
  auto made = std::make_shared<Context>();
  made->id = ++next_context_id;
  made->device = device;
  made->heap = std::make_unique<DeviceHeap>(
      kMallocHeapBytes,
      [device, id = made->id](size_t bytes) {
        return Runtime::Get().arena.Allocate(bytes, device, id, Arena::Kind::kHeap);
      },
      runtime.settings.check.memory);
  Engine::Get().AddContext(made);
  made->handle = runtime.contexts.Add(made);
  return made;
}

void DestroyContext(const std::shared_ptr<Context>& context) {
  Runtime& runtime = Runtime::Get();
  runtime.captures.Forget(*context);
  Engine::Get().DestroyContext(*context);
  runtime.streams.RemoveIf([&](const Stream& stream) { return stream.context == context; });
  runtime.events.RemoveIf([&](const Event& event) { return event.context == context; });
  runtime.functions.RemoveIf([&](const Function& function) { return function.module->context == context; });
  runtime.modules.RemoveIf([&](const Module& module) { return module.context == context; });
  runtime.contexts.Remove(context->handle);
  runtime.arena.FreeOwner(context->id);
}

std::shared_ptr<Context> ContextById(uint64_t id) {
  return Runtime::Get().contexts.FindIf([id](const Context& context) { return context.id == id; });
}

CUresult CurrentContext(std::shared_ptr<Context>* context) {
  CUcontext handle = current.top();
  if (handle == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *context = Runtime::Get().contexts.Find(handle);
  if (*context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return Sticky(**context);
}

namespace api {

CUresult DevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  Runtime& runtime = Runtime::Get();
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device < 0 || device >= runtime.settings.devices) return CUDA_ERROR_INVALID_DEVICE;
  PrimaryContext& primary = runtime.primary[static_cast<size_t>(device)];
  std::lock_guard<std::mutex> lock(primary.mutex);
  if (primary.context == nullptr) {
    primary.context = NewContext(device);
    primary.context->primary = true;
    primary.context->flags = primary.flags;
  }
  ++primary.retained;
  *context = primary.context->handle;
  return CUDA_SUCCESS;
}

CUresult DevicePrimaryCtxRelease(CUdevice device) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  Runtime& runtime = Runtime::Get();
  if (device < 0 || device >= runtime.settings.devices) return CUDA_ERROR_INVALID_DEVICE;
  PrimaryContext& primary = runtime.primary[static_cast<size_t>(device)];
  std::lock_guard<std::mutex> lock(primary.mutex);
  if (primary.retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--primary.retained == 0 && primary.context != nullptr) {  // It may have been reset.
    DestroyContext(primary.context);
    primary.context.reset();
  }
  return CUDA_SUCCESS;
}

CUresult CtxGetCurrent(CUcontext* context) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = current.top();
  return CUDA_SUCCESS;
}

CUresult CtxSetCurrent(CUcontext context) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (context == nullptr) {
    if (!current.empty()) current.Pop();
    return CUDA_SUCCESS;
  }
  if (Runtime::Get().contexts.Find(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (current.empty()) {
    current.Push(context);
  } else {
    current.ReplaceTop(context);
  }
  return CUDA_SUCCESS;
}

CUresult CtxPushCurrent(CUcontext context) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (context == nullptr || Runtime::Get().contexts.Find(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!current.Push(context)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (current.has_more()) release_at_end.wanted = true;
  return CUDA_SUCCESS;
}

CUresult CtxPopCurrent(CUcontext* context) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  CUcontext popped = current.Pop();
  if (context != nullptr) *context = popped;
  return CUDA_SUCCESS;
}

CUresult CtxGetDevice(CUdevice* device) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  *device = context->device;
  return CUDA_SUCCESS;
}

CUresult CtxSynchronize() {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeWait(*context));
  Engine::Get().WaitAll(*context);
  return Sticky(*context);
}

CUresult CtxGetStreamPriorityRange(int* least, int* greatest) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  if (least != nullptr) *least = kLeastPriority;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return CUDA_SUCCESS;
}

// Every device sees every address here: what is kept is only whether a program has asked.
CUresult CtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> found = Runtime::Get().contexts.Find(peer);
  if (found == nullptr || found == context) return CUDA_ERROR_INVALID_CONTEXT;
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeUnsafeCall());
  std::lock_guard<std::mutex> lock(context->peers_mutex);
  return context->peers.insert(peer).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

}  // namespace api
}  // namespace slipway::cpu
