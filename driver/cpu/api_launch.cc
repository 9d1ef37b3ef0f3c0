// cuLaunchKernel.
#include <algorithm>
#include <cstring>
#include <utility>

#include "driver/cpu/api.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu {
namespace {

// A thread takes a launch's blocks in so many portions for each core, so that a slow one does not leave the others
// idle at the end; fewer for a launch so small that taking a portion shows.
constexpr uint64_t kPortionsPerCore = 16;
constexpr uint64_t kPortionsPerCoreSmall = 4;
constexpr uint64_t kSmallThreads = 8192;

// The arguments of a launch, as they come: a buffer, or a pointer for each.
struct Arguments {
  const std::byte* buffer = nullptr;
  size_t bytes = 0;
  void** pointers = nullptr;
};

// "extra" is a list of names and values that ends with CU_LAUNCH_PARAM_END.
CUresult ParseExtra(void** extra, Arguments* arguments) {
  bool has_size = false;
  for (; *extra != kLaunchParamEnd; extra += 2) {
    if (*extra == kLaunchParamBufferPointer) {
      arguments->buffer = static_cast<const std::byte*>(extra[1]);
    } else if (*extra == kLaunchParamBufferSize) {
      if (extra[1] == nullptr) return CUDA_ERROR_INVALID_VALUE;
      arguments->bytes = *static_cast<const size_t*>(extra[1]);
      has_size = true;
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return has_size && (arguments->buffer != nullptr || arguments->bytes == 0) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CheckArguments(const CpuKernel& kernel, void** params, void** extra, Arguments* arguments) {
  if (extra != nullptr) {
    if (params != nullptr) return CUDA_ERROR_INVALID_VALUE;
    SLIPWAY_RETURN_IF_FAILED(ParseExtra(extra, arguments));
    // A GPU's driver answers 701 to a buffer that is too long and takes some that are too short; there the kernel reads
    // whatever lies behind.
    if (arguments->bytes > kernel.params_bytes) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    return arguments->bytes < kernel.params_bytes ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  }
  if (kernel.params.empty()) return CUDA_SUCCESS;
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    if (params[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
  }
  arguments->pointers = params;
  return CUDA_SUCCESS;
}

void CopyArguments(const CpuKernel& kernel, const Arguments& arguments, std::byte* to) {
  if (arguments.pointers == nullptr) {
    if (arguments.bytes != 0) std::memcpy(to, arguments.buffer, arguments.bytes);
    return;
  }
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const CpuParameter& parameter = kernel.params[i];
    std::memcpy(to + parameter.offset, arguments.pointers[i], parameter.size);
  }
}

CUresult CheckShape(const Function& function, const uint32_t (&grid)[3], const uint32_t (&block)[3],
                    uint32_t shared_bytes) {
  const CpuKernel& kernel = *function.kernel;
  for (int i = 0; i < 3; ++i) {
    if (grid[i] == 0 || grid[i] > kMaxGrid[i] || block[i] == 0 || block[i] > kMaxBlock[i]) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
  if (threads > kMaxThreadsPerBlock) return CUDA_ERROR_INVALID_VALUE;
  if (kernel.required_block[0] != 0) {
    if (!std::equal(block, block + 3, kernel.required_block)) return CUDA_ERROR_INVALID_VALUE;
  } else if (kernel.max_threads != 0 && threads > kernel.max_threads) {
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  }
  int allowed = function.max_dynamic_shared_bytes.load(std::memory_order_relaxed);
  return shared_bytes > static_cast<uint32_t>(allowed) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

uint64_t ChunkOf(uint64_t blocks, const uint32_t (&block)[3], int cores) {
  uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
  bool small = blocks <= kSmallThreads && blocks * threads <= kSmallThreads;
  uint64_t portions = static_cast<uint64_t>(cores) * (small ? kPortionsPerCoreSmall : kPortionsPerCore);
  return std::max<uint64_t>(1, blocks / portions);
}

}  // namespace

namespace api {

CUresult LaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream_handle, void** params,
                      void** extra) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  Runtime& runtime = Runtime::Get();
  std::shared_ptr<Function> function = runtime.functions.Find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(stream_handle, &stream));
  // On a default stream: a foreign context is current. On a created one: it is another context's.
  if (stream->context != function->module->context) return CUDA_ERROR_INVALID_HANDLE;

  const uint32_t grid[3] = {grid_x, grid_y, grid_z};
  const uint32_t block[3] = {block_x, block_y, block_z};
  const CpuKernel& kernel = *function->kernel;
  SLIPWAY_RETURN_IF_FAILED(CheckShape(*function, grid, block, shared_bytes));
  Arguments arguments;
  SLIPWAY_RETURN_IF_FAILED(CheckArguments(kernel, params, extra, &arguments));

  Engine& engine = Engine::Get();
  Op* op = engine.NewOp(OpKind::kLaunch);
  std::byte* copied = op->buffer.Reserve(std::max<size_t>(kernel.params_bytes, 16));
  CopyArguments(kernel, arguments, copied);
  op->launch.params = copied;
  std::copy(grid, grid + 3, op->launch.grid);
  std::copy(block, block + 3, op->launch.block);
  op->launch.dynamic_shared_bytes = shared_bytes;
  op->launch.trapped = 0;
  op->blocks = uint64_t{grid_x} * grid_y * grid_z;
  op->chunk = ChunkOf(op->blocks, block, runtime.settings.cores);
  op->next_block.store(0, std::memory_order_relaxed);
  op->function = std::move(function);
  return engine.Enqueue(*stream, op);
}

}  // namespace api
}  // namespace slipway::cpu
