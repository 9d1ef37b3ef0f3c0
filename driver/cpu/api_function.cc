// What is known about a kernel, and the block size to launch it with.
#include <algorithm>

#include "driver/cpu/api.h"
#include "driver/cpu/function_attributes.h"
#include "driver/cpu/launch.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu {
namespace {

// Large enough to spread the cost of entering a block, small enough to leave blocks for every core; a power of two,
// which turns a grid computation into a shift. Measured on saxpy: over 1e5 elements blocks of 32 take four times as
// long as these, larger ones up to a fifth less; over 1e7 elements blocks from 128 to 256 are the fastest.
constexpr int kBlockSize = 256;

// CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET to CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE.
constexpr int kClusterAttributes[] = {10, 15};
bool IsAboutClusters(int attribute) { return attribute >= kClusterAttributes[0] && attribute <= kClusterAttributes[1]; }

int MaxDynamicSharedBytes(const CpuKernel& kernel) {
  return static_cast<int>(MaxSharedBytesOptIn(GetSettings().sm) - kernel.shared_bytes);
}

}  // namespace

CUresult GetAttribute(const Program& program, const CpuKernel& kernel, const FunctionSettings& settings,
                      CUfunction_attribute attribute, int* value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = static_cast<int>(kernel.max_threads == 0 ? kMaxThreadsPerBlock
                                                        : std::min(kernel.max_threads, kMaxThreadsPerBlock));
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(kernel.shared_bytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: {
      size_t bytes = 0;
      for (const CpuGlobal& global : program.globals()) bytes += global.constant ? global.size : 0;
      *value = static_cast<int>(bytes);
      return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = static_cast<int>(kernel.local_bytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = kNominalRegisters;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:  // The virtual architecture, as "major * 10 + minor".
      *value = program.sm();
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = GetSettings().sm;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = settings.max_dynamic_shared_bytes.load(std::memory_order_relaxed);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = settings.shared_carveout.load(std::memory_order_relaxed);
      return CUDA_SUCCESS;
    default:
      if (attribute != CU_FUNC_ATTRIBUTE_CACHE_MODE_CA && !IsAboutClusters(attribute)) return CUDA_ERROR_INVALID_VALUE;
      *value = 0;  // Caches are the host's, and there are no clusters.
      return CUDA_SUCCESS;
  }
}

CUresult SetAttribute(const CpuKernel& kernel, CUfunction_attribute attribute, int value, FunctionSettings* settings) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 || value > MaxDynamicSharedBytes(kernel)) return CUDA_ERROR_INVALID_VALUE;
      settings->max_dynamic_shared_bytes.store(value, std::memory_order_relaxed);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:  // Percent; -1 is the driver's choice.
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      settings->shared_carveout.store(value, std::memory_order_relaxed);
      return CUDA_SUCCESS;
    default:
      // Of clusters, there are those of one block; MUST_BE_SET is for asking.
      if (!IsAboutClusters(attribute) || attribute == kClusterAttributes[0]) return CUDA_ERROR_INVALID_VALUE;
      return value < 0 ? CUDA_ERROR_INVALID_VALUE : value <= 1 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
  }
}

namespace api {

CUresult FuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Function> found;
  SLIPWAY_RETURN_IF_FAILED(ResolveFunction(function, &found));
  return GetAttribute(*found->module->program, *found->kernel, *found->settings, attribute, value);
}

CUresult FuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Function> found;
  SLIPWAY_RETURN_IF_FAILED(ResolveFunction(function, &found));
  return SetAttribute(*found->kernel, attribute, value, found->settings.get());
}

CUresult FuncSetCacheConfig(CUfunction function, CUfunc_cache preference) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Function> found;
  SLIPWAY_RETURN_IF_FAILED(ResolveFunction(function, &found));
  if (preference < CU_FUNC_CACHE_PREFER_NONE || preference > CU_FUNC_CACHE_PREFER_EQUAL) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;  // A hint, about caches that are the host's.
}

CUresult FuncGetName(const char** name, CUfunction function) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Function> found;
  SLIPWAY_RETURN_IF_FAILED(ResolveFunction(function, &found));
  *name = found->kernel->name.c_str();
  return CUDA_SUCCESS;
}

CUresult OccupancyMaxPotentialBlockSize(int* min_grid_size, int* block_size, CUfunction function,
                                        CUoccupancyB2DSize shared_bytes_of_block, size_t dynamic_shared_bytes,
                                        int block_size_limit) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (min_grid_size == nullptr || block_size == nullptr || block_size_limit < 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Function> found;
  SLIPWAY_RETURN_IF_FAILED(ResolveFunction(function, &found));
  const CpuKernel& kernel = *found->kernel;
  uint32_t most = kernel.max_threads == 0 ? kMaxThreadsPerBlock : std::min(kernel.max_threads, kMaxThreadsPerBlock);
  if (block_size_limit > 0) most = std::min(most, static_cast<uint32_t>(block_size_limit));
  int size = kBlockSize;
  if (kernel.required_block[0] != 0) {
    size = static_cast<int>(kernel.max_threads);
  } else {
    while (size > static_cast<int>(most)) size /= 2;
  }
  const auto shared = [&](int block) {
    return shared_bytes_of_block == nullptr ? dynamic_shared_bytes : shared_bytes_of_block(block);
  };
  const auto optin = static_cast<size_t>(MaxDynamicSharedBytes(kernel));
  while (size > 1 && shared(size) > optin) size /= 2;
  if (shared(size) > optin) return CUDA_ERROR_INVALID_VALUE;
  *block_size = size;
  // As many blocks as the multiprocessors hold: a cooperative launch may have so many.
  *min_grid_size = GetSettings().cores * MaxActiveBlocks(*found, static_cast<uint64_t>(size), shared(size));
  return CUDA_SUCCESS;
}

CUresult FuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Function> found;
  SLIPWAY_RETURN_IF_FAILED(ResolveFunction(function, &found));
  if (index >= found->kernel->params.size()) return CUDA_ERROR_INVALID_VALUE;
  const CpuParameter& parameter = found->kernel->params[index];
  *offset = parameter.offset;
  if (bytes != nullptr) *bytes = parameter.size;
  return CUDA_SUCCESS;
}

CUresult OccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int block_size,
                                                   size_t dynamic_shared_bytes) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (blocks == nullptr || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Function> found;
  SLIPWAY_RETURN_IF_FAILED(ResolveFunction(function, &found));
  *blocks = MaxActiveBlocks(*found, static_cast<uint64_t>(block_size), dynamic_shared_bytes);
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace slipway::cpu
