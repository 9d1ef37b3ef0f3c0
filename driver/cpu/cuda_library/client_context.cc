// Contexts that programs make, and what is known about those of devices.
#include <memory>
#include <mutex>

#include "driver/cpu/cuda_library/client.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu::client {
namespace {

CUresult CheckFlags(unsigned flags) {
  // The lowest three say how to wait: one of 0, 1, 2 and 4.
  const unsigned schedule = flags & CU_CTX_SCHED_MASK;
  const bool fits = (flags & ~unsigned{CU_CTX_FLAGS_MASK}) == 0 && (schedule & (schedule - 1)) == 0;
  return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult FindContext(CUcontext handle, std::shared_ptr<Context>* context) {
  if (handle == nullptr) return CurrentContext(context);
  *context = Runtime::Get().contexts.Find(handle);
  return *context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUresult FindPrimary(CUdevice device, PrimaryContext** primary) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (device < 0 || device >= GetSettings().devices) return CUDA_ERROR_INVALID_DEVICE;
  *primary = &Runtime::Get().primary[static_cast<size_t>(device)];
  return CUDA_SUCCESS;
}

// Kept in the current context, and of no use.
template <typename Value>
CUresult Keep(std::atomic<Value> Context::*field, Value value) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  ((*context).*field).store(value, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}
template <typename Value, typename Out>
CUresult Kept(const std::atomic<Value> Context::*field, Out* value) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  *value = static_cast<Out>(((*context).*field).load(std::memory_order_relaxed));
  return CUDA_SUCCESS;
}

}  // namespace

CUresult DevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  PrimaryContext* primary = nullptr;
  SLIPWAY_RETURN_IF_FAILED(FindPrimary(device, &primary));
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(primary->mutex);
  *flags = primary->flags;
  *active = primary->context != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult DevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  PrimaryContext* primary = nullptr;
  SLIPWAY_RETURN_IF_FAILED(FindPrimary(device, &primary));
  SLIPWAY_RETURN_IF_FAILED(CheckFlags(flags));
  const std::lock_guard lock(primary->mutex);
  primary->flags = flags;
  if (primary->context != nullptr) primary->context->flags.store(flags, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

CUresult DevicePrimaryCtxReset(CUdevice device) {
  PrimaryContext* primary = nullptr;
  SLIPWAY_RETURN_IF_FAILED(FindPrimary(device, &primary));
  const std::lock_guard lock(primary->mutex);
  primary->flags = 0;
  if (primary->context == nullptr) return CUDA_SUCCESS;
  DestroyContext(primary->context);
  primary->context.reset();  // Those who retained it release it still.
  return CUDA_SUCCESS;
}

CUresult CtxCreate(CUcontext* context, unsigned flags, CUdevice device) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device < 0 || device >= GetSettings().devices) return CUDA_ERROR_INVALID_DEVICE;
  SLIPWAY_RETURN_IF_FAILED(CheckFlags(flags));
  const std::shared_ptr<Context> made = NewContext(device);
  made->flags.store(flags, std::memory_order_relaxed);
  const CUresult pushed = CtxPushCurrent(made->handle);
  if (pushed != CUDA_SUCCESS) {
    DestroyContext(made);
    return pushed;
  }
  *context = made->handle;
  return CUDA_SUCCESS;
}

CUresult CtxCreate_v3(CUcontext* context, void* affinities, int count, unsigned flags, CUdevice device) {
  if (affinities != nullptr || count != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  return CtxCreate(context, flags, device);
}

CUresult CtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned flags, CUdevice device) {
  if (params != nullptr && params->cigParams != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return params == nullptr
             ? CtxCreate(context, flags, device)
             : CtxCreate_v3(context, params->execAffinityParams, params->numExecAffinityParams, flags, device);
}

CUresult CtxDestroy(CUcontext handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<Context> context = Runtime::Get().contexts.Find(handle);
  // A device's own goes with the last who retains it.
  if (context == nullptr || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  CUcontext current = nullptr;
  SLIPWAY_RETURN_IF_FAILED(CtxGetCurrent(&current));
  // "If hCtx is current to the calling thread then hCtx will also be popped"; other threads are left with one that is
  // destroyed.
  if (current == handle) SLIPWAY_RETURN_IF_FAILED(CtxPopCurrent(&current));
  DestroyContext(context);
  return CUDA_SUCCESS;
}

// Deprecated: a count of users, in the days when a context belonged to one thread. One user is all there is here.
CUresult CtxAttach(CUcontext* context, unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> current;
  SLIPWAY_RETURN_IF_FAILED(Ready());
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&current));
  return CtxGetCurrent(context);
}
CUresult CtxDetach(CUcontext handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  return FindContext(handle, &context);
}

CUresult CtxGetFlags(unsigned* flags) { return Kept(&Context::flags, flags); }
CUresult CtxSetFlags(unsigned flags) {
  SLIPWAY_RETURN_IF_FAILED(CheckFlags(flags));
  return Keep(&Context::flags, flags);
}

CUresult CtxGetId(CUcontext handle, unsigned long long* id) {  // NOLINT(google-runtime-int)
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(FindContext(handle, &context));
  *id = context->id;
  return CUDA_SUCCESS;
}

CUresult CtxGetApiVersion(CUcontext handle, unsigned* version) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(FindContext(handle, &context));
  *version = 3020;  // What drivers say, whatever their CUDA version.
  return CUDA_SUCCESS;
}

CUresult CtxGetCacheConfig(CUfunc_cache* preference) { return Kept(&Context::cache_preference, preference); }
CUresult CtxSetCacheConfig(CUfunc_cache preference) {
  if (preference < CU_FUNC_CACHE_PREFER_NONE || preference > CU_FUNC_CACHE_PREFER_EQUAL) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return Keep(&Context::cache_preference, static_cast<int>(preference));
}
CUresult CtxGetSharedMemConfig(CUsharedconfig* bank_size) { return Kept(&Context::shared_bank_size, bank_size); }
CUresult CtxSetSharedMemConfig(CUsharedconfig bank_size) {
  if (!IsBankSize(bank_size)) return CUDA_ERROR_INVALID_VALUE;
  return Keep(&Context::shared_bank_size, static_cast<int>(bank_size));
}
CUresult CtxResetPersistingL2Cache() {
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(Ready());
  return CurrentContext(&context);
}

CUresult CtxDisablePeerAccess(CUcontext peer) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  if (Runtime::Get().contexts.Find(peer) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const std::lock_guard lock(context->peers_mutex);
  if (context->peers.erase(peer) == 0) return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  Runtime::Get().arena.NoteFree();  // What has been found live may no longer be touched.
  return CUDA_SUCCESS;
}

CUresult CtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(FindContext(handle, &context));
  *device = context->device;
  return CUDA_SUCCESS;
}

CUresult CtxSynchronize_v2(CUcontext handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(FindContext(handle, &context));
  SLIPWAY_RETURN_IF_FAILED(Sticky(*context));
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeWait(*context));
  Engine::Get().WaitAll(*context);
  return Sticky(*context);
}

}  // namespace slipway::cpu::client
