#include "driver/cpu/op.h"

#include <algorithm>
#include <cstring>

namespace slipway::cpu {
namespace {

// Work up to this size does not wake a pool thread by itself: the wake-up would cost more than the work.
constexpr uint64_t kTinyThreads = 8192;
constexpr size_t kTinyBytes = 64 << 10;

}  // namespace

bool IsTiny(const Op& op) {
  switch (op.kind) {
    case OpKind::kLaunch:
      return op.blocks <= kTinyThreads &&
             op.blocks * op.launch.block[0] * op.launch.block[1] * op.launch.block[2] <= kTinyThreads;
    case OpKind::kCopy:
    case OpKind::kFill:
      return op.count * op.width * op.box.rows * op.box.slices <= kTinyBytes;
    default:
      return true;
  }
}

std::shared_ptr<Op> CopyForGraph(const Op& op) {
  auto copy = std::make_shared<Op>();
  copy->kind = op.kind;
  copy->in_graph = true;
  copy->has_priority = op.has_priority;
  copy->priority = op.priority;
  copy->function = op.function;
  copy->launch = op.launch;
  copy->launch.grid_workspace = nullptr;  // A run's, if one is on.
  copy->cooperative = op.cooperative;
  copy->blocks = op.blocks;
  copy->chunk = op.chunk;
  copy->to = op.to;
  copy->from = op.from;
  copy->count = op.count;
  copy->value = op.value;
  copy->width = op.width;
  copy->box = op.box;
  copy->event = op.event;
  copy->host_function = op.host_function;
  copy->user_data = op.user_data;
  if (op.kind == OpKind::kLaunch) {
    const CpuKernel& kernel = *op.function->kernel;
    std::byte* params = copy->buffer.Reserve(kernel.buffer_bytes);
    std::memcpy(params, op.launch.params, kernel.call_stack_at != 0 ? kernel.buffer_bytes : kernel.params_bytes);
    copy->launch.params = params;
  }
  return copy;
}

}  // namespace slipway::cpu
