// Destroying a context whose work may never finish.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "driver/cpu/engine.h"
#include "driver/cpu/fault.h"
#include "driver/cpu/testing.h"
#include "driver/log.h"

namespace slipway::cpu {
namespace {

// What is queued when a context is destroyed has so long to finish. Programs that end with `cudaDeviceReset()` behind a
// launch see its output on a GPU, too; a kernel that waits for what never comes must not keep them from ending.
std::atomic<int64_t> finish_milliseconds{5000};
// How often a thread that could not be interrupted is asked again.
constexpr uint32_t kAskMicroseconds = 1000;

}  // namespace

void SetTimeToFinishForTesting(int64_t milliseconds) { finish_milliseconds = milliseconds; }

// A thread that does what waits for the context would do: runs its work.
struct Engine::Drain {
  Context& context;
  bool done = false;
  WaitQueue waiters;
};

void* Engine::DrainThread(void* argument) {
  Engine& self = Get();
  Drain& drain = *static_cast<Drain*>(argument);
  Lock lock(self.mutex_);
  self.WaitUntilIdle(lock, drain.context);
  drain.done = true;
  drain.waiters.NotifyAll();
  return nullptr;
}

void Engine::WaitUntilIdle(Lock& lock, Context& context) {
  // A graph that was launched on another context's stream may still queue work on this one.
  for (std::vector<Dependency> pending; pending = Pending(context, /*blocking_only=*/false), !pending.empty();) {
    for (const Dependency& wait : pending) WaitLocked(lock, *wait.stream, wait.position);
  }
}

void Engine::FinishOrEnd(Lock& lock, Context& context) {
  using Clock = std::chrono::steady_clock;
  Drain drain{context};
  // A waiting thread runs what it waits for; this one watches it.
  if (!threads_allowed_ || !StartThread(DrainThread, &drain)) return WaitUntilIdle(lock, context);
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(finish_milliseconds.load());
  while (!drain.done) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end - Clock::now()).count();
    if (left > 0) {
      drain.waiters.Wait(lock, static_cast<uint32_t>(left));
      continue;
    }
    StopLaunches(lock, context);
    drain.waiters.Wait(lock, kAskMicroseconds);
  }
}

// Whatever of the context has not run yet never will (Engine::RunHead), and whoever waits for it gets this error.
void Engine::StopLaunches(Lock& lock, Context& context) {
  CUresult none = CUDA_SUCCESS;
  if (context.sticky.compare_exchange_strong(none, CUDA_ERROR_CONTEXT_IS_DESTROYED, std::memory_order_acq_rel)) {
    std::string kernels;
    for (const Stream* stream : active_) {
      if (stream->context.get() != &context || stream->head->kind != OpKind::kLaunch) continue;
      absl::StrAppend(&kernels, kernels.empty() ? "kernel " : ", ", stream->head->function->kernel->name);
    }
    lock.unlock();
    LogWarning(absl::StrCat("cpu device: a context was destroyed before its work was done, and ends it",
                            kernels.empty() ? "" : ": ", kernels));
    lock.lock();
  }
  const auto stop = [](CpuLaunch& launch) {
    std::atomic_ref(launch.trapped).store(kStopped, std::memory_order_relaxed);
  };
  std::vector<Stream*> left;  // Launches that nobody runs now.
  for (Stream* stream : active_) {
    if (stream->context.get() != &context) continue;
    Op& op = *stream->head;
    op.next_block.store(op.blocks, std::memory_order_relaxed);
    stop(op.launch);
    for (const std::shared_ptr<Op>& one : op.sequence) stop(one->launch);
    if (op.runners == 0) left.push_back(stream);
  }
  for (Stream* stream : left) CompleteLaunch(*stream);
  for (const Runner& runner : runners_) {
    if (runner.stream->context.get() == &context) InterruptBlocks(runner.thread);
  }
}

}  // namespace slipway::cpu
