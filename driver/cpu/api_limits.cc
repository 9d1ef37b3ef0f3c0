// cuCtxSetLimit and cuCtxGetLimit.
#include <algorithm>
#include <memory>

#include "absl/types/span.h"
#include "driver/cpu/api.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu {
namespace {

// A limit that the device has. Everything else that cuda.h lists is about what there is none of here: launches by
// kernels, L2 persistence, contexts shared with graphics.
struct Limit {
  CUlimit limit;
  size_t (*get)(const Context& context);
  CUresult (*set)(Context& context, size_t value);  // The device may keep another value than it is given.
};

// A thread's stack is the host's, and holds the most that any GPU gives; the driver raises the limit by itself for a
// kernel that is known to need more.
CUresult SetStack(Context& context, size_t bytes) {
  constexpr size_t kGranularity = 16;
  if (bytes > kLocalBytesPerThread) return CUDA_ERROR_INVALID_VALUE;
  context.stack_bytes.store((bytes + kGranularity - 1) / kGranularity * kGranularity, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

// "must be performed before launching any kernel that uses" what it limits, "otherwise CUDA_ERROR_INVALID_VALUE".
CUresult SetPrintf(Context& context, size_t bytes) {
  if (context.prints.load(std::memory_order_relaxed)) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > Runtime::Get().settings.memory_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  context.printf.SetCapacity(bytes);
  return CUDA_SUCCESS;
}

CUresult SetHeap(Context& context, size_t bytes) {
  if (context.allocates.load(std::memory_order_relaxed)) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > Runtime::Get().settings.memory_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  bytes = (bytes + DeviceHeap::kAlignment - 1) / DeviceHeap::kAlignment * DeviceHeap::kAlignment;
  return context.heap->Resize(bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// A hint, between 0 and 128.
CUresult SetL2Fetch(Context& context, size_t bytes) {
  context.l2_fetch_bytes.store(std::min(bytes, kMaxL2FetchBytes), std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

constexpr Limit kLimits[] = {
    {CU_LIMIT_STACK_SIZE, [](const Context& context) { return context.stack_bytes.load(std::memory_order_relaxed); },
     &SetStack},
    {CU_LIMIT_PRINTF_FIFO_SIZE, [](const Context& context) { return context.printf.capacity(); }, &SetPrintf},
    {CU_LIMIT_MALLOC_HEAP_SIZE, [](const Context& context) { return context.heap->bytes(); }, &SetHeap},
    {CU_LIMIT_MAX_L2_FETCH_GRANULARITY,
     [](const Context& context) { return context.l2_fetch_bytes.load(std::memory_order_relaxed); }, &SetL2Fetch},
};

CUresult Find(CUlimit limit, const Limit** found) {
  if (limit < CU_LIMIT_STACK_SIZE || limit > CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED) return CUDA_ERROR_INVALID_VALUE;
  for (const Limit& known : kLimits) {
    if (known.limit != limit) continue;
    *found = &known;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_UNSUPPORTED_LIMIT;
}

}  // namespace

namespace api {

CUresult CtxSetLimit(CUlimit limit, size_t value) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  const Limit* found = nullptr;
  SLIPWAY_RETURN_IF_FAILED(Find(limit, &found));
  return found->set(*context, value);
}

CUresult CtxGetLimit(size_t* value, CUlimit limit) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Limit* found = nullptr;
  SLIPWAY_RETURN_IF_FAILED(Find(limit, &found));
  *value = found->get(*context);
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace slipway::cpu
