// Launches in steps: block, shared memory and parameters are set one by one, and kept for the next launch.
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "driver/cpu/cuda_library/client.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu::client {
namespace {

// Does `set` to what a function has been told.
template <typename Set>
CUresult Step(CUfunction handle, const Set& set) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Function> function;
  SLIPWAY_RETURN_IF_FAILED(ResolveFunction(handle, &function));
  const std::lock_guard lock(function->module->mutex);
  return set(function->steps);
}

}  // namespace

CUresult FuncSetBlockShape(CUfunction function, int x, int y, int z) {
  if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
  return Step(function, [&](Function::Steps& steps) {
    steps.block[0] = static_cast<uint32_t>(x);
    steps.block[1] = static_cast<uint32_t>(y);
    steps.block[2] = static_cast<uint32_t>(z);
    return CUDA_SUCCESS;
  });
}

CUresult FuncSetSharedSize(CUfunction function, unsigned bytes) {
  return Step(function, [&](Function::Steps& steps) {
    steps.shared_bytes = bytes;
    return CUDA_SUCCESS;
  });
}

CUresult ParamSetSize(CUfunction function, unsigned bytes) {
  if (bytes > kMaxParameterBytes) return CUDA_ERROR_INVALID_VALUE;
  return Step(function, [&](Function::Steps& steps) {
    steps.params.resize(bytes);
    return CUDA_SUCCESS;
  });
}

CUresult ParamSeti(CUfunction function, int offset, unsigned value) {
  return ParamSetv(function, offset, &value, sizeof(value));
}

CUresult ParamSetf(CUfunction function, int offset, float value) {
  return ParamSetv(function, offset, &value, sizeof(value));
}

CUresult ParamSetv(CUfunction function, int offset, void* value, unsigned bytes) {
  if (offset < 0 || (value == nullptr && bytes != 0)) return CUDA_ERROR_INVALID_VALUE;
  const size_t end = static_cast<size_t>(offset) + bytes;
  if (end > kMaxParameterBytes) return CUDA_ERROR_INVALID_VALUE;
  return Step(function, [&](Function::Steps& steps) {
    if (steps.params.size() < end) steps.params.resize(end);
    if (bytes != 0) std::memcpy(steps.params.data() + offset, value, bytes);
    return CUDA_SUCCESS;
  });
}

CUresult Launch(CUfunction function) { return LaunchGrid(function, 1, 1); }

CUresult LaunchGrid(CUfunction function, int width, int height) {
  return LaunchGridAsync(function, width, height, nullptr);
}

CUresult LaunchGridAsync(CUfunction function, int width, int height, CUstream stream) {
  if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
  Function::Steps told;
  SLIPWAY_RETURN_IF_FAILED(Step(function, [&](const Function::Steps& steps) {
    told = steps;
    return CUDA_SUCCESS;
  }));
  size_t bytes = told.params.size();
  void* extra[] = {kLaunchParamBufferPointer, told.params.data(), kLaunchParamBufferSize, &bytes, kLaunchParamEnd};
  return LaunchKernel(function, static_cast<unsigned>(width), static_cast<unsigned>(height), 1, told.block[0],
                      told.block[1], told.block[2], told.shared_bytes, stream, nullptr, extra);
}

}  // namespace slipway::cpu::client
