#include "driver/cpu/launch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "driver/cpu/call_stack.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu {
namespace {

// A thread takes a launch's blocks in so many portions for each core, so that a slow one does not leave the others
// idle at the end; fewer for a launch so small that taking a portion shows.
constexpr uint64_t kPortionsPerCore = 16;
constexpr uint64_t kPortionsPerCoreSmall = 4;
constexpr uint64_t kSmallThreads = 8192;

// "extra" is a list of names and values that ends with CU_LAUNCH_PARAM_END.
CUresult ParseExtra(void** extra, LaunchArguments* arguments) {
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

CUresult CheckArguments(const CpuKernel& kernel, void** params, void** extra, LaunchArguments* arguments) {
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

void CopyArguments(const CpuKernel& kernel, const LaunchArguments& arguments, std::byte* to) {
  if (arguments.pointers == nullptr) {
    if (arguments.bytes != 0) std::memcpy(to, arguments.buffer, arguments.bytes);
    return;
  }
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const CpuParameter& parameter = kernel.params[i];
    std::memcpy(to + parameter.offset, arguments.pointers[i], parameter.size);
  }
}

CUresult CheckResident(const Function& function, uint64_t blocks, uint64_t threads, size_t shared_bytes) {
  const int resident = MaxActiveBlocks(function, threads, shared_bytes);
  return blocks <= static_cast<uint64_t>(resident) * static_cast<uint64_t>(GetSettings().cores)
             ? CUDA_SUCCESS
             : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

CUresult CheckShape(const Function& function, const LaunchRequest& request) {
  const CpuKernel& kernel = *function.kernel;
  const uint32_t(&grid)[3] = request.grid;
  const uint32_t(&block)[3] = request.block;
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
    return CUDA_ERROR_INVALID_VALUE;  // As numba-cuda's tests (TestLaunchBounds), made on GPUs, have it.
  }
  int allowed = function.settings->max_dynamic_shared_bytes.load(std::memory_order_relaxed);
  if (request.shared_bytes > static_cast<uint32_t>(allowed)) return CUDA_ERROR_INVALID_VALUE;
  if (!request.cooperative) return CUDA_SUCCESS;
  return CheckResident(function, uint64_t{grid[0]} * grid[1] * grid[2], threads, request.shared_bytes);
}

uint64_t ChunkOf(uint64_t blocks, const uint32_t (&block)[3], int cores) {
  uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
  bool small = blocks <= kSmallThreads && blocks * threads <= kSmallThreads;
  uint64_t portions = static_cast<uint64_t>(cores) * (small ? kPortionsPerCoreSmall : kPortionsPerCore);
  return std::max<uint64_t>(1, blocks / portions);
}

}  // namespace

CUresult CheckLaunch(const Function& function, const LaunchRequest& request, LaunchArguments* arguments) {
  SLIPWAY_RETURN_IF_FAILED(CheckShape(function, request));
  return CheckArguments(*function.kernel, request.params, request.extra, arguments);
}

void FillLaunch(std::shared_ptr<Function> function, const LaunchRequest& request, const LaunchArguments& arguments,
                Op* op) {
  const CpuKernel& kernel = *function->kernel;
  op->kind = OpKind::kLaunch;
  std::byte* copied = op->buffer.Reserve(kernel.buffer_bytes);
  CopyArguments(kernel, arguments, copied);
  if (kernel.call_stack_at != 0) NoteCallStack(copied + kernel.call_stack_at);
  op->launch.params = copied;
  std::copy(request.grid, request.grid + 3, op->launch.grid);
  std::copy(request.block, request.block + 3, op->launch.block);
  op->launch.dynamic_shared_bytes = request.shared_bytes;
  op->launch.trapped = 0;
  Context& context = *function->module->context;
  op->launch.heap = context.heap.get();
  op->launch.printf = &context.printf;
  op->launch.context = &context;
  context.NoteUse(kernel);
  op->blocks = uint64_t{request.grid[0]} * request.grid[1] * request.grid[2];
  op->chunk = request.cooperative ? 1 : ChunkOf(op->blocks, request.block, GetSettings().cores);
  op->next_block.store(0, std::memory_order_relaxed);
  op->cooperative = request.cooperative;
  op->has_priority = request.priority.has_value();
  op->priority = request.priority.value_or(0);
  op->function = std::move(function);
}

CUresult SetCooperative(bool cooperative, Op* op) {
  const uint32_t(&block)[3] = op->launch.block;
  const uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
  if (cooperative) {
    SLIPWAY_RETURN_IF_FAILED(CheckResident(*op->function, op->blocks, threads, op->launch.dynamic_shared_bytes));
  }
  op->cooperative = cooperative;
  op->chunk = cooperative ? 1 : ChunkOf(op->blocks, block, GetSettings().cores);
  return CUDA_SUCCESS;
}

int MaxActiveBlocks(const Function& function, uint64_t threads_per_block, size_t dynamic_shared_bytes) {
  const int sm = GetSettings().sm;
  const ArchLimits& limits = LimitsFor(sm);
  const CpuKernel& kernel = *function.kernel;
  const uint64_t most = kernel.max_threads == 0 ? kMaxThreadsPerBlock : kernel.max_threads;
  const size_t shared = kernel.shared_bytes + dynamic_shared_bytes;
  if (threads_per_block == 0 || threads_per_block > most || shared > MaxSharedBytesOptIn(sm)) return 0;
  const uint64_t threads = (threads_per_block + kWarpSize - 1) / kWarpSize * kWarpSize;
  uint64_t blocks = std::min<uint64_t>(static_cast<uint64_t>(limits.max_blocks_per_multiprocessor),
                                       static_cast<uint64_t>(limits.max_threads_per_multiprocessor) / threads);
  const size_t unit = SharedGranularity(sm);
  const size_t taken = (shared + ReservedSharedBytes(sm) + unit - 1) / unit * unit;
  if (taken > 0) blocks = std::min<uint64_t>(blocks, limits.shared_bytes_per_multiprocessor / taken);
  return static_cast<int>(blocks);
}

}  // namespace slipway::cpu
