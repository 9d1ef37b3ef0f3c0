// Running what is queued.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/check.h"
#include "driver/cpu/engine.h"
#include "driver/cpu/failed_threads.h"
#include "driver/cpu/fault.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/runtime.h"
#include "driver/log.h"

namespace slipway::cpu {
namespace {

constexpr size_t kSharedAlignment = 128;  // What CpuRunBlocks asks for.

// A launch that is tiny by its number of threads may still have much to do. If this much of it seems to be left after
// the first portion, other threads are woken, which takes them some tens of microseconds.
constexpr std::chrono::microseconds kWorthWaking(50);

thread_local bool in_host_function = false;

void Fill(std::byte* to, uint32_t value, uint32_t width, size_t count) {
  if (width == 1) {
    std::memset(to, static_cast<int>(value), count);
    return;
  }
  if (width == 2) {
    uint16_t* halves = reinterpret_cast<uint16_t*>(to);
    std::fill(halves, halves + count, static_cast<uint16_t>(value));
    return;
  }
  uint32_t* words = reinterpret_cast<uint32_t*>(to);
  std::fill(words, words + count, value);
}

// What becomes of a CpuFailure.
struct Failure {
  CpuFailure reason;
  CUresult result;
  const char* what;
};
constexpr Failure kFailures[] = {
    {kThreadTrapped, CUDA_ERROR_LAUNCH_FAILED, "a trap"},
    {kDeadlock, CUDA_ERROR_LAUNCH_FAILED,
     "threads of a block wait for others that have ended or wait themselves, at a barrier or in a warp operation"},
    {kBadBarrier, CUDA_ERROR_LAUNCH_FAILED,
     "a barrier with a number past 15, or for a number of threads that is no multiple of 32"},
    {kNoMemory, CUDA_ERROR_LAUNCH_FAILED, "no memory for the registers and the local memory of a block"},
    {kAssertionFailed, CUDA_ERROR_ASSERT, "a failed assertion"},
    {kInvalidAccess, CUDA_ERROR_ILLEGAL_ADDRESS, "an invalid access"},
    {kMisalignedAccess, CUDA_ERROR_MISALIGNED_ADDRESS, "a misaligned access"},
    {kStopped, CUDA_ERROR_CONTEXT_IS_DESTROYED, nullptr},  // Whoever stops it says so.
};

// Once for a context, because every later call fails, too. `failure` is null for a fault.
void LogFault(const Op& op, const Fault& fault, const Failure* failure, const std::string& where) {
  std::string what = "an illegal instruction", hint;
  if (failure != nullptr) {
    what = failure->what;
  } else if (fault.result == CUDA_ERROR_ILLEGAL_ADDRESS) {
    what = absl::StrCat("illegal access at 0x", absl::Hex(fault.address));
    if (!GetSettings().check.memory) hint = " (SLIPWAY_CPU_CHECK=memory tells of the thread and the place)";
  }
  LogWarning(absl::StrCat("cpu device: ", what, " in kernel ", op.function->kernel->name, ", ", where,
                          "; every later call on its context fails", hint));
}

}  // namespace

bool Engine::InHostFunction() { return in_host_function; }

// A lower number is a higher priority; of equals the one that waits longest.
static bool IsMoreUrgent(const Stream* stream, const Stream* than) {
  return than == nullptr || stream->head->priority < than->head->priority;
}

Stream* Engine::BestReady(bool host) const {
  Stream* best = nullptr;
  for (Stream* stream : ready_) {
    if ((stream->head->kind == OpKind::kHostFunction) != host || !Wanted(*stream)) continue;
    if (IsMoreUrgent(stream, best)) best = stream;
  }
  return best;
}

// Whether a thread can take part of it. A sequence is for one thread: it is left only when paused for a fork.
static bool HasUnclaimedBlocks(const Op& op) {
  if (op.kind != OpKind::kLaunch && (op.kind != OpKind::kSequence || op.runners > 0)) return false;
  return op.next_block.load(std::memory_order_relaxed) < op.blocks;
}

Stream* Engine::BestActive() const {
  Stream* best = nullptr;
  for (Stream* stream : active_) {
    if (HasUnclaimedBlocks(*stream->head) && IsMoreUrgent(stream, best)) best = stream;
  }
  return best;
}

void Engine::TakeFromReady(Stream* stream) {
  ready_.erase(std::find(ready_.begin(), ready_.end(), stream));
  NoteMostUrgent();
}

void Engine::NoteMostUrgent() {
  const Stream* best = BestReady(/*host=*/false);
  most_urgent_.store(best == nullptr ? std::numeric_limits<int>::max() : best->head->priority,
                     std::memory_order_relaxed);
}

bool Engine::HasWork() const {
  return running_ < cores_ && (BestActive() != nullptr || BestReady(/*host=*/false) != nullptr);
}

bool Engine::RunSomething(Lock& lock) {
  if (paused_.load(std::memory_order_relaxed) || running_ >= cores_) return false;
  Stream* active = BestActive();
  Stream* ready = BestReady(/*host=*/false);
  if (active != nullptr && (ready == nullptr || !IsMoreUrgent(ready, active))) {
    RunLaunch(lock, *active);
    return true;
  }
  if (ready == nullptr) return false;
  TakeFromReady(ready);
  RunHead(lock, *ready);
  return true;
}

Stream* Engine::Help(Lock& lock, Stream& stream) {
  Stream* one = &stream;
  for (;;) {
    switch (one->state) {
      case StreamState::kReady:
        if (one->head->kind == OpKind::kHostFunction) {
          if (host_thread_) return one;
          TakeFromReady(one);
          RunHostFunction(lock, *one);
          return nullptr;
        }
        TakeFromReady(one);
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
    case OpKind::kSequence:
      if (!healthy) break;
      StartLaunch(lock, stream);
      return;
    case OpKind::kGraph:
      if (!healthy) break;
      StartGraph(stream);
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

// Whether an op of a graph may touch a range now: memory of ours may have been freed since it was captured. What is
// not ours is the caller's word, as for every copy.
static bool IsThere(const std::byte* address, size_t bytes) {
  const Arena& arena = Runtime::Get().arena;
  return !arena.Reserved(reinterpret_cast<uintptr_t>(address)) ||
         arena.Find(reinterpret_cast<uintptr_t>(address), bytes).has_value();
}

template <typename Visit>
static void ForEachRow(const Op& op, Visit visit) {
  for (size_t slice = 0; slice < op.box.slices; ++slice) {
    for (size_t row = 0; row < op.box.rows; ++row) {
      visit(op.to + slice * op.box.to_slice + row * op.box.to_pitch,
            op.from + slice * op.box.from_slice + row * op.box.from_pitch);
    }
  }
}

static void FailFreed(Op* op) {
  LogWarning("cpu device: a copy or fill uses memory that has been freed; every later call on its context fails");
  op->error.store(CUDA_ERROR_ILLEGAL_ADDRESS, std::memory_order_relaxed);
}

void Engine::RunAlone(Op* op) {
  if (op->in_graph && op->kind != OpKind::kNothing) {
    const size_t row = op->count * op->width;
    const Box& box = op->box;
    if (!IsThere(op->to, BytesOf(row, box.rows, box.to_pitch, box.slices, box.to_slice)) ||
        (op->kind == OpKind::kCopy &&
         !IsThere(op->from, BytesOf(row, box.rows, box.from_pitch, box.slices, box.from_slice)))) {
      FailFreed(op);
      return;
    }
  }
  Arena& arena = Runtime::Get().arena;
  Fault fault;
  switch (op->kind) {
    case OpKind::kCopy:
      fault = CopyGuarded(arena, [&] {
        ForEachRow(*op, [&](std::byte* to, const std::byte* from) {
          std::memmove(to, from, op->count);  // A device-to-device copy may overlap.
        });
      });
      break;
    case OpKind::kFill:
      fault = CopyGuarded(arena, [&] {
        ForEachRow(*op, [&](std::byte* to, const std::byte*) { Fill(to, op->value, op->width, op->count); });
      });
      break;
    case OpKind::kFree:
      arena.Free(reinterpret_cast<uintptr_t>(op->to));
      break;
    default:
      break;
  }
  if (fault.result != CUDA_SUCCESS) FailFreed(op);
}

void Engine::StartLaunch(Lock& lock, Stream& stream) {
  Op* op = stream.head;
  active_.push_back(&stream);
  op->runners = 0;
  if (op->cooperative) {
    if (!StartCooperative(stream)) {
      op->error.store(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, std::memory_order_relaxed);
      op->next_block.store(op->blocks, std::memory_order_relaxed);
    }
  } else if (op->kind == OpKind::kLaunch && op->blocks > op->chunk && !op->tiny) {
    uint64_t others = std::min<uint64_t>((op->blocks - 1) / op->chunk, static_cast<uint64_t>(cores_ - 1));
    WakePool(static_cast<int>(others));
  }
  RunLaunch(lock, stream);
}

void Engine::RunLaunch(Lock& lock, Stream& stream) {
  Op* op = stream.head;
  std::byte* shared = nullptr;
  ++op->runners;
  ++running_;
  runners_.push_back({&stream, pthread_self()});
  if (op->kind == OpKind::kSequence || op->function->kernel->shared_bytes + op->launch.dynamic_shared_bytes > 0) {
    if (shared_memory_.empty()) {
      shared = static_cast<std::byte*>(std::aligned_alloc(kSharedAlignment, kMaxSharedBytes));
    } else {
      shared = shared_memory_.back();
      shared_memory_.pop_back();
    }
    if (shared == nullptr) {
      LogWarning(absl::StrCat("cpu device: no memory for the ", kMaxSharedBytes, " bytes of a block's shared memory"));
      op->error.store(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, std::memory_order_relaxed);
      op->next_block.store(op->blocks, std::memory_order_relaxed);
    }
  }
  lock.unlock();
  if (op->kind == OpKind::kSequence) {
    RunSequence(op, shared);
  } else {
    RunChunks(op, shared);
  }
  stream.context->printf.Flush();
  lock.lock();
  if (shared != nullptr) shared_memory_.push_back(shared);
  runners_.erase(std::find_if(runners_.begin(), runners_.end(), [&](const Runner& runner) {
    return runner.stream == &stream && pthread_equal(runner.thread, pthread_self()) != 0;
  }));
  LeaveWork();
  if (--op->runners > 0 || HasUnclaimedBlocks(*op)) return;  // The latter when paused for a fork or left for another.
  CompleteLaunch(stream);
}

void Engine::CompleteLaunch(Stream& stream) {
  active_.erase(std::find(active_.begin(), active_.end(), &stream));
  if (std::byte* const workspace = std::exchange(stream.head->launch.grid_workspace, nullptr); workspace != nullptr) {
    Runtime::Get().arena.Free(reinterpret_cast<uintptr_t>(workspace));
  }
  Complete(stream);
}

// Runs blocks of a launch. `shared` may be null if the kernel needs none.
static CUresult RunBlocks(Op& op, uint64_t first, uint64_t last, std::byte* shared) {
  const Function& function = *op.function;
  Fault fault = RunBlocksGuarded(*function.module->program, *function.kernel, &op.launch, first, last, shared);
  const std::atomic_ref trapped(op.launch.trapped);
  const Failure* failure = nullptr;
  if (fault.result == CUDA_SUCCESS) {
    const uint32_t reason = trapped.load(std::memory_order_acquire);
    if (reason == 0) return CUDA_SUCCESS;
    failure = std::find_if(std::begin(kFailures), std::end(kFailures), [&](auto& row) { return row.reason == reason; });
    fault.result = failure->result;
  }
  const std::optional<FailedThread> failed = TakeFailedThread();
  const bool stopped = failure != nullptr && failure->reason == kStopped;
  // Of blocks that another thread of the host runs: it says so.
  if (failure != nullptr && !failed && !stopped) return fault.result;
  CUresult none = CUDA_SUCCESS;
  // Where kStopped is not because the context is destroyed, the block that met the fault has left its error.
  if (op.error.compare_exchange_strong(none, fault.result) && !stopped) {
    LogFault(op, fault, failure, failed ? Describe(*failed) : absl::StrCat("blocks ", first, " to ", last - 1));
  }
  // Blocks that wait for what the one with the fault would have stored end, too.
  uint32_t running = 0;
  trapped.compare_exchange_strong(running, kStopped, std::memory_order_release, std::memory_order_relaxed);
  return fault.result;
}

void Engine::RunChunks(Op* op, std::byte* shared) {
  uint64_t chunk = op->chunk;
  bool alone = op->tiny && op->blocks > chunk && !op->cooperative;
  const auto start = alone ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  while (!paused_.load(std::memory_order_relaxed)) {
    // A waiting thread stays: it must not look for other work than what it waits for.
    if (most_urgent_.load(std::memory_order_relaxed) < op->priority && IsPoolThread() && !op->cooperative) return;
    uint64_t first = op->next_block.fetch_add(chunk, std::memory_order_relaxed);
    if (first >= op->blocks) return;
    if (RunBlocks(*op, first, std::min(op->blocks, first + chunk), shared) != CUDA_SUCCESS) {
      op->next_block.store(op->blocks, std::memory_order_relaxed);  // Nobody takes more.
      return;
    }
    if (!std::exchange(alone, false)) continue;
    const uint64_t portions = (op->blocks - 1) / chunk;
    if ((std::chrono::steady_clock::now() - start) * portions < kWorthWaking) {
      chunk = op->blocks;  // All that is left.
      continue;
    }
    const Lock lock(mutex_);
    WakePool(static_cast<int>(std::min<uint64_t>(portions, static_cast<uint64_t>(cores_ - 1))));
  }
}

void Engine::RunSequence(Op* op, std::byte* shared) {
  uint64_t next = op->next_block.load(std::memory_order_relaxed);
  for (; next < op->blocks && !paused_.load(std::memory_order_relaxed); ++next) {
    if (std::atomic_ref(op->launch.trapped).load(std::memory_order_relaxed) == kStopped) {
      op->error.store(CUDA_ERROR_CONTEXT_IS_DESTROYED, std::memory_order_relaxed);
      next = op->blocks;
      break;
    }
    Op& one = *op->sequence[next];
    one.error.store(CUDA_SUCCESS, std::memory_order_relaxed);
    if (one.kind == OpKind::kLaunch) {
      std::atomic_ref(one.launch.trapped).store(0, std::memory_order_relaxed);
      one.launch.grid_id = op->launch.grid_id + next;
      RunBlocks(one, 0, one.blocks, shared);
    } else {
      RunAlone(&one);
    }
    CUresult error = one.error.load(std::memory_order_relaxed);
    if (error == CUDA_SUCCESS) continue;
    op->error.store(error, std::memory_order_relaxed);
    next = op->blocks;
    break;
  }
  op->next_block.store(next, std::memory_order_relaxed);
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
  const CUresult status = stream.context->sticky.load(std::memory_order_relaxed);
  // A broken context calls no more functions, as a driver does not, but for callbacks, which are told.
  if (status == CUDA_SUCCESS || op->callback != nullptr) {
    lock.unlock();
    in_host_function = true;
    if (op->callback == nullptr) {
      op->host_function(op->user_data);
    } else {
      op->callback(op->callback_stream, status, op->user_data);
    }
    in_host_function = false;
    lock.lock();
  }
  // The child of a fork inside the function has counted it as done.
  if (forks == forks_) Complete(stream);
}

}  // namespace slipway::cpu
