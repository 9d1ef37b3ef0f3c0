// The primary contexts of the devices, and each thread's stack of current ones.
#include <atomic>

#include "driver/cpu/api.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu {
namespace {

// Plain data without a destructor: threads use it while they end, and static objects after main has returned.
struct ContextStack {
  static constexpr int kCapacity = 256;
  CUcontext entries[kCapacity];
  int depth;

  CUcontext top() const { return depth == 0 ? nullptr : entries[depth - 1]; }
};
thread_local ContextStack current;

std::atomic<uint64_t> next_context_id{0};

// Everything that lives in a context goes with it; the handles become invalid.
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

}  // namespace

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
    primary.context = std::move(made);
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
  if (--primary.retained == 0) {
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
    if (current.depth > 0) --current.depth;
    return CUDA_SUCCESS;
  }
  if (Runtime::Get().contexts.Find(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (current.depth == 0) current.depth = 1;
  current.entries[current.depth - 1] = context;
  return CUDA_SUCCESS;
}

CUresult CtxPushCurrent(CUcontext context) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (context == nullptr || Runtime::Get().contexts.Find(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (current.depth == ContextStack::kCapacity) return CUDA_ERROR_OUT_OF_MEMORY;
  current.entries[current.depth++] = context;
  return CUDA_SUCCESS;
}

CUresult CtxPopCurrent(CUcontext* context) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (current.depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
  CUcontext popped = current.entries[--current.depth];
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
