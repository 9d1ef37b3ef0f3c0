// Running what is queued.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "driver/check.h"
#include "driver/cpu/engine.h"
#include "driver/cpu/fault.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/runtime.h"
#include "driver/log.h"

namespace slipway::cpu {
namespace {

thread_local bool in_host_function = false;

void Fill(std::byte* to, uint32_t value, uint32_t width, size_t count) {
  if (width == 1) {
    std::memset(to, static_cast<int>(value), count);
    return;
  }
  uint32_t* words = reinterpret_cast<uint32_t*>(to);
  std::fill(words, words + count, value);
}

// Once for a context, because every later call fails, too.
void LogFault(const Op& op, const Fault& fault, uint64_t first, uint64_t last) {
  std::string what = fault.result == CUDA_ERROR_ILLEGAL_ADDRESS
                         ? absl::StrCat("illegal access at 0x", absl::Hex(fault.address))
                         : std::string("a trap or an illegal instruction");
  LogWarning(absl::StrCat("cpu device: ", what, " in kernel ", op.function->kernel->name, ", blocks ", first, " to ",
                          last - 1, "; every later call on its context fails"));
}

}  // namespace

// Whether only pool threads, whose stacks are large, may run it: a waiting thread is the application's, and its stack
// may be small.
static bool NeedsALargeStack(const Op& op) {
  constexpr size_t kAnywhere = 16 << 10;
  return op.kind == OpKind::kLaunch && op.function->kernel->stack_bytes > kAnywhere;
}

bool Engine::InHostFunction() { return in_host_function; }

Stream* Engine::TakeReady(bool host) {
  size_t best = ready_.size();
  for (size_t i = 0; i < ready_.size(); ++i) {
    const Stream& stream = *ready_[i];
    if ((stream.head->kind == OpKind::kHostFunction) != host || !Wanted(stream)) continue;
    // A lower number is a higher priority.
    if (best == ready_.size() || stream.priority < ready_[best]->priority) best = i;
  }
  if (best == ready_.size()) return nullptr;
  Stream* taken = ready_[best];
  ready_.erase(ready_.begin() + static_cast<ptrdiff_t>(best));
  return taken;
}

static bool HasUnclaimedBlocks(const Op& op) {
  return op.kind == OpKind::kLaunch && op.next_block.load(std::memory_order_relaxed) < op.blocks;
}

bool Engine::HasWork() const {
  if (running_ >= cores_) return false;
  for (const Stream* stream : active_) {
    if (HasUnclaimedBlocks(*stream->head)) return true;
  }
  for (const Stream* stream : ready_) {
    if (stream->head->kind != OpKind::kHostFunction && Wanted(*stream)) return true;
  }
  return false;
}

bool Engine::RunSomething(Lock& lock) {
  if (paused_.load(std::memory_order_relaxed) || running_ >= cores_) return false;
  for (Stream* stream : active_) {
    if (!HasUnclaimedBlocks(*stream->head)) continue;
    RunLaunch(lock, *stream);
    return true;
  }
  Stream* stream = TakeReady(/*host=*/false);
  if (stream == nullptr) return false;
  RunHead(lock, *stream);
  return true;
}

Stream* Engine::Help(Lock& lock, Stream& stream) {
  Stream* one = &stream;
  for (;;) {
    if ((one->state == StreamState::kReady || one->state == StreamState::kRunning) && NeedsALargeStack(*one->head)) {
      if (HasWork()) WakePool(1);
      if (pool_threads_ > 0) return one;
    }
    switch (one->state) {
      case StreamState::kReady:
        if (one->head->kind == OpKind::kHostFunction) {
          if (host_thread_) return one;
          ready_.erase(std::find(ready_.begin(), ready_.end(), one));
          RunHostFunction(lock, *one);
          return nullptr;
        }
        ready_.erase(std::find(ready_.begin(), ready_.end(), one));
        RunHead(lock, *one);
        return nullptr;
      case StreamState::kRunning:
        if (!HasUnclaimedBlocks(*one->head) || running_ >= cores_) return one;
        RunLaunch(lock, *one);
        return nullptr;
      case StreamState::kBlocked: {
        // Dependencies point to earlier work only, so this ends.
        Stream* next = nullptr;
        for (const Dependency& wait : one->head->dependencies) {
          if (wait.stream->completed < wait.position) next = wait.stream.get();
        }
        SLIPWAY_CHECK(next != nullptr, "a blocked stream waits for nothing");
        one = next;
        break;
      }
      case StreamState::kIdle:
        SLIPWAY_CHECK(false, "a wait for work that was never queued");
    }
  }
}

void Engine::RunHead(Lock& lock, Stream& stream) {
  stream.state = StreamState::kRunning;
  Op* op = stream.head;
  bool healthy = stream.context->sticky.load(std::memory_order_relaxed) == CUDA_SUCCESS;
  switch (op->kind) {
    case OpKind::kNothing:
    case OpKind::kHostFunction:
      break;
    case OpKind::kRecord:
      // Unless it has been recorded again since.
      if (op->event->stream.get() == &stream && op->event->position == op->position) {
        op->event->time = std::chrono::steady_clock::now();
      }
      break;
    case OpKind::kLaunch:
      if (!healthy) break;
      active_.push_back(&stream);
      op->runners = 0;
      if (op->blocks > op->chunk && !op->tiny) {
        uint64_t others = std::min<uint64_t>((op->blocks - 1) / op->chunk, static_cast<uint64_t>(cores_ - 1));
        WakePool(static_cast<int>(others));
      }
      RunLaunch(lock, stream);
      return;
    case OpKind::kCopy:
    case OpKind::kFill:
    case OpKind::kFree:
      // A free happens in a broken context, too: its memory is not lost.
      if (!healthy && op->kind != OpKind::kFree) break;
      ++running_;
      lock.unlock();
      RunAlone(op);
      lock.lock();
      LeaveWork();
      break;
  }
  Complete(stream);
}

void Engine::RunAlone(Op* op) {
  switch (op->kind) {
    case OpKind::kCopy:
      std::memmove(op->to, op->from, op->count);  // A device-to-device copy may overlap.
      break;
    case OpKind::kFill:
      Fill(op->to, op->value, op->width, op->count);
      break;
    case OpKind::kFree:
      Runtime::Get().arena.Free(reinterpret_cast<uintptr_t>(op->to));
      break;
    default:
      break;
  }
}

void Engine::RunLaunch(Lock& lock, Stream& stream) {
  Op* op = stream.head;
  std::byte* shared = nullptr;
  ++op->runners;
  ++running_;
  if (op->function->kernel->shared_bytes + op->launch.dynamic_shared_bytes > 0) {
    if (shared_memory_.empty()) {
      shared = static_cast<std::byte*>(std::aligned_alloc(128, kMaxSharedBytes));
    } else {
      shared = shared_memory_.back();
      shared_memory_.pop_back();
    }
  }
  lock.unlock();
  RunChunks(op, shared);
  lock.lock();
  if (shared != nullptr) shared_memory_.push_back(shared);
  LeaveWork();
  if (--op->runners > 0 || HasUnclaimedBlocks(*op)) return;  // The latter when paused for a fork.
  active_.erase(std::find(active_.begin(), active_.end(), &stream));
  Complete(stream);
}

void Engine::RunChunks(Op* op, std::byte* shared) {
  CpuRunBlocks run = op->function->kernel->run;
  CpuLaunch* launch = &op->launch;
  while (!paused_.load(std::memory_order_relaxed)) {
    uint64_t first = op->next_block.fetch_add(op->chunk, std::memory_order_relaxed);
    if (first >= op->blocks) return;
    uint64_t last = std::min(op->blocks, first + op->chunk);
    Fault fault = RunBlocksGuarded(run, launch, first, last, shared);
    if (fault.result == CUDA_SUCCESS && std::atomic_ref(launch->trapped).load(std::memory_order_relaxed) != 0) {
      fault.result = CUDA_ERROR_LAUNCH_FAILED;
    }
    if (fault.result == CUDA_SUCCESS) continue;
    op->next_block.store(op->blocks, std::memory_order_relaxed);  // Nobody takes more.
    CUresult none = CUDA_SUCCESS;
    if (op->error.compare_exchange_strong(none, fault.result)) LogFault(*op, fault, first, last);
    return;
  }
}

// A thread comes out of work. One that waits for something may go on to leave, so others are told of what is left.
void Engine::LeaveWork() {
  --running_;
  if (paused_.load(std::memory_order_relaxed)) {
    if (running_ == 0) pause_waiters_.NotifyAll();
  } else if (!IsPoolThread() && running_ + 1 == cores_ && HasWork()) {
    WakePool(1);
  }
}

void Engine::RunHostFunction(Lock& lock, Stream& stream) {
  stream.state = StreamState::kRunning;
  Op* op = stream.head;
  uint64_t forks = forks_;
  // A broken context calls no more functions, as a driver does not.
  if (stream.context->sticky.load(std::memory_order_relaxed) == CUDA_SUCCESS) {
    lock.unlock();
    in_host_function = true;
    op->host_function(op->user_data);
    in_host_function = false;
    lock.lock();
  }
  // The child of a fork inside the function has counted it as done.
  if (forks == forks_) Complete(stream);
}

}  // namespace slipway::cpu
