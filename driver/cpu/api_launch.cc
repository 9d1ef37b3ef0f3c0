// cuLaunchKernel and cuLaunchKernelEx.
#include <algorithm>
#include <utility>

#include "absl/types/span.h"
#include "driver/cpu/api.h"
#include "driver/cpu/launch.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu {
namespace {

CUresult Launch(CUfunction handle, const LaunchRequest& request, CUstream stream_handle) {
  Runtime& runtime = Runtime::Get();
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Function> function = runtime.functions.Find(handle);
  if (function != nullptr) {
    SLIPWAY_RETURN_IF_FAILED(ResolveStream(stream_handle, &stream));
  } else if (runtime.kernels.Find(reinterpret_cast<CUkernel>(handle)) == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  } else {
    SLIPWAY_RETURN_IF_FAILED(ResolveStream(stream_handle, &stream));
    SLIPWAY_RETURN_IF_FAILED(ResolveFunction(handle, stream->context, &function));
  }
  // On a default stream: a foreign context is current. On a created one: it is another context's.
  if (stream->context != function->module->context) return CUDA_ERROR_INVALID_HANDLE;
  LaunchArguments arguments;
  SLIPWAY_RETURN_IF_FAILED(CheckLaunch(*function, request, &arguments));
  Op* op = Engine::Get().NewOp(OpKind::kLaunch);
  FillLaunch(std::move(function), request, arguments, op);
  return runtime.captures.Submit(stream, op);
}

// Of CUlaunchAttributeID, besides what the driver table has. Hints, which change no result: IGNORE,
// ACCESS_POLICY_WINDOW, CLUSTER_SCHEDULING_POLICY_PREFERENCE, MEM_SYNC_DOMAIN_MAP, MEM_SYNC_DOMAIN,
// PREFERRED_CLUSTER_DIMENSION, PREFERRED_SHARED_MEMORY_CARVEOUT, NVLINK_UTIL_CENTRIC_SCHEDULING.
constexpr int kHints[] = {0, 1, 5, 9, 10, 11, 14, 16};
// Which there is none of: PROGRAMMATIC_EVENT, LAUNCH_COMPLETION_EVENT, DEVICE_UPDATABLE_KERNEL_NODE.
constexpr int kMissing[] = {7, 12, 13};

bool IsIn(absl::Span<const int> ids, int id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

// What each attribute does here.
CUresult Apply(const CUlaunchAttribute& attribute, LaunchRequest* request) {
  const CUlaunchAttributeValue& value = attribute.value;
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      request->cooperative = value.cooperative != 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      if (value.clusterDim.x == 0 || value.clusterDim.y == 0 || value.clusterDim.z == 0) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      // A cluster of one block is what every launch is. Larger ones share memory across blocks, which is not modelled.
      return value.clusterDim.x == 1 && value.clusterDim.y == 1 && value.clusterDim.z == 1 ? CUDA_SUCCESS
                                                                                           : CUDA_ERROR_NOT_SUPPORTED;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      // It allows, and does not ask, that a kernel begins before the one ahead of it has ended: here it never does.
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      request->priority = std::clamp(value.priority, kGreatestPriority, kLeastPriority);
      return CUDA_SUCCESS;
  }
  if (IsIn(kHints, attribute.id)) return CUDA_SUCCESS;
  return IsIn(kMissing, attribute.id) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

namespace api {

CUresult LaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** params,
                      void** extra) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  LaunchRequest request{.grid = {grid_x, grid_y, grid_z},
                        .block = {block_x, block_y, block_z},
                        .shared_bytes = shared_bytes,
                        .params = params,
                        .extra = extra,
                        .cooperative = false,
                        .priority = std::nullopt};
  return Launch(function, request, stream);
}

CUresult LaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** params, void** extra) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  LaunchRequest request{.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                        .shared_bytes = config->sharedMemBytes,
                        .params = params,
                        .extra = extra,
                        .cooperative = false,
                        .priority = std::nullopt};
  for (unsigned i = 0; i < config->numAttrs; ++i) SLIPWAY_RETURN_IF_FAILED(Apply(config->attrs[i], &request));
  return Launch(function, request, config->hStream);
}

}  // namespace api
}  // namespace slipway::cpu
