#include "driver/cpu/engine.h"

#include <algorithm>
#include <utility>

#include "driver/cpu/fault.h"
#include "driver/cpu/settings.h"

namespace slipway::cpu {
namespace {

// What a stream holds before a caller has to wait, as a driver's queue does: memory stays flat however far a host runs
// ahead.
constexpr uint64_t kMaxQueued = 1024;
// A recycled op keeps buffers up to this size, enough for any usual parameter list.
constexpr size_t kKeepBuffer = 4096;
// Tiny work does not wake a pool thread by itself, unless this much has gathered.
constexpr uint64_t kGathered = 16;

// A number for each thread that uses per-thread default streams; drops them when the thread ends.
struct ThreadKey {
  uint64_t key = 0;
  ~ThreadKey() {
    if (key != 0) Engine::Get().ForgetThread(key);
  }
};
thread_local ThreadKey thread_key;
std::atomic<uint64_t> next_thread_key{0};

}  // namespace

Engine& Engine::Get() {
  static Engine* engine = new Engine;
  return *engine;
}

Engine::Engine() : cores_(GetSettings().cores), late_(GetSettings().late) {}

Op* Engine::NewOp(OpKind kind) {
  Op* op = nullptr;
  {
    Lock lock(mutex_);
    if (free_ops_ != nullptr) op = std::exchange(free_ops_, free_ops_->next);
  }
  if (op == nullptr) op = new Op;
  op->kind = kind;
  op->next = nullptr;
  return op;
}

void Engine::Discard(Op* op) {
  Lock lock(mutex_);
  Recycle(op);
}

void Engine::Recycle(Op* op) {
  op->dependencies.clear();
  if (op->in_graph) return;
  op->plan.reset();
  op->has_priority = op->cooperative = false;
  op->function.reset();
  op->event.reset();
  op->buffer.Trim(kKeepBuffer);
  op->width = 1;
  op->box = Box();
  op->callback = nullptr;
  op->error.store(CUDA_SUCCESS, std::memory_order_relaxed);
  op->next = free_ops_;
  free_ops_ = op;
}

CUresult Engine::Enqueue(Stream& stream, Op* op, uint64_t* position) {
  Lock lock(mutex_);
  CUresult result = EnqueueLocked(lock, stream, op);
  if (position != nullptr) *position = stream.enqueued;
  return result;
}

CUresult Engine::EnqueueLocked(Lock& lock, Stream& stream, Op* op) {
  WaitForRoomLocked(lock, stream);
  CUresult refused = Refusal(stream);
  if (refused != CUDA_SUCCESS) {
    Recycle(op);
    return refused;
  }
  AddLegacyDependencies(stream, op);
  Append(stream, op);
  return CUDA_SUCCESS;
}

CUresult Engine::Refusal(const Stream& stream) {
  if (stream.context->destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (stream.destroyed) return CUDA_ERROR_INVALID_HANDLE;  // By another thread, since the handle was looked up.
  return stream.context->sticky.load(std::memory_order_acquire);
}

void Engine::WaitForRoomLocked(Lock& lock, Stream& stream) {
  if (stream.enqueued - stream.completed >= kMaxQueued) WaitLocked(lock, stream, stream.enqueued + 1 - kMaxQueued);
}

void Engine::Append(Stream& stream, Op* op) {
  op->position = ++stream.enqueued;
  op->next = nullptr;
  op->tiny = IsTiny(*op);
  if (!op->has_priority) op->priority = stream.priority;
  if (op->kind == OpKind::kLaunch) op->launch.grid_id = ++next_grid_id_;
  if (stream.tail == nullptr) {
    stream.head = stream.tail = op;
    Promote(stream);
  } else {
    stream.tail->next = op;
    stream.tail = op;
    // Enough has gathered behind a head that nobody has started.
    if (stream.state == StreamState::kReady && stream.enqueued - stream.completed == kGathered) MakeReady(stream);
  }
}

// "The legacy default stream is an implicit stream which synchronizes with all other streams in the same CUcontext
// except for non-blocking streams" (CUDA driver API, stream synchronization behavior).
void Engine::AddLegacyDependencies(Stream& stream, Op* op) {
  Context& context = *stream.context;
  if (!stream.is_legacy) {
    const Stream& legacy = *context.legacy;
    if (stream.blocking && legacy.tail != nullptr) op->dependencies.push_back({context.legacy, legacy.enqueued});
    return;
  }
  for (const std::shared_ptr<Stream>& other : context.streams) {
    if (other->blocking && !other->is_legacy && other->tail != nullptr) {
      op->dependencies.push_back({other, other->enqueued});
    }
  }
}

void Engine::Promote(Stream& stream) {
  std::vector<Dependency>& waits = stream.head->dependencies;
  waits.erase(std::remove_if(waits.begin(), waits.end(),
                             [](const Dependency& wait) { return wait.stream->completed >= wait.position; }),
              waits.end());
  if (!waits.empty()) {
    if (stream.state != StreamState::kBlocked) blocked_.push_back(&stream);
    stream.state = StreamState::kBlocked;
    return;
  }
  stream.state = StreamState::kReady;
  ready_.push_back(&stream);
  NoteMostUrgent();
  MakeReady(stream);
}

void Engine::MakeReady(Stream& stream) {
  quiet_ticks_ = 0;
  stream.waiters.NotifyAll();  // A thread that waits may run it.
  if (!Wanted(stream)) return;
  if (stream.head->kind == OpKind::kHostFunction) {
    WakeHostThread();
    return;
  }
  // A pool thread that makes work ready comes back for some of it itself.
  if (IsPoolThread() && ready_.size() <= 1) return;
  bool gathered = stream.enqueued - stream.completed >= kGathered || ready_.size() >= kGathered;
  if (!ticker_ || gathered || !stream.head->tiny) WakePool(1);
}

void Engine::Complete(Stream& stream) {
  std::shared_ptr<Stream> keep = stream.shared_from_this();
  Op* op = stream.head;
  if (CUresult error = op->error.load(std::memory_order_relaxed); error != CUDA_SUCCESS) {
    CUresult none = CUDA_SUCCESS;
    stream.context->sticky.compare_exchange_strong(none, error, std::memory_order_acq_rel);
  }
  stream.head = op->next;
  stream.completed = op->position;
  Recycle(op);
  stream.waiters.NotifyAll();
  if (stream.head != nullptr) {
    Promote(stream);
  } else {
    stream.tail = nullptr;
    stream.state = StreamState::kIdle;
    if (stream.destroyed) {
      std::vector<std::shared_ptr<Stream>>& streams = stream.context->streams;
      streams.erase(std::remove(streams.begin(), streams.end(), keep), streams.end());
    }
  }
  for (size_t i = 0; i < blocked_.size();) {
    Stream* other = blocked_[i];
    Promote(*other);
    if (other->state == StreamState::kBlocked) {
      ++i;
    } else {
      blocked_.erase(blocked_.begin() + static_cast<ptrdiff_t>(i));
    }
  }
}

bool Engine::Wanted(const Stream& stream) const { return !late_ || stream.head->position <= stream.demand; }

// In late mode: lets everything run that has to before `stream` is at `position`.
void Engine::Demand(Stream& stream, uint64_t position) {
  if (!late_) return;
  std::vector<std::pair<Stream*, uint64_t>> wanted = {{&stream, position}};
  while (!wanted.empty()) {
    auto [one, until] = wanted.back();
    wanted.pop_back();
    if (one->demand >= until) continue;
    uint64_t before = std::exchange(one->demand, until);
    for (Op* op = one->head; op != nullptr && op->position <= until; op = op->next) {
      if (op->position <= before) continue;
      for (const Dependency& wait : op->dependencies) wanted.emplace_back(wait.stream.get(), wait.position);
    }
    if (one->state == StreamState::kReady && one->head->kind == OpKind::kHostFunction) WakeHostThread();
  }
  NoteMostUrgent();
}

uint64_t Engine::LastPosition(Stream& stream) {
  Lock lock(mutex_);
  return stream.enqueued;
}

void Engine::Wait(Stream& stream, uint64_t position) {
  Lock lock(mutex_);
  WaitLocked(lock, stream, position);
}

void Engine::WaitLocked(Lock& lock, Stream& stream, uint64_t position) {
  if (stream.completed >= position) return;
  RenewFaultHandlers();
  Demand(stream, position);
  while (stream.completed < position) {
    if (paused_.load(std::memory_order_relaxed)) {
      pause_waiters_.Wait(lock);
      continue;
    }
    Stream* other = Help(lock, stream);
    if (other == nullptr) continue;
    std::shared_ptr<Stream> keep = other->shared_from_this();
    keep->waiters.Wait(lock);
  }
}

bool Engine::Done(Stream& stream, uint64_t position) {
  Lock lock(mutex_);
  return DoneLocked(lock, stream, position);
}

bool Engine::DoneLocked(Lock& lock, Stream& stream, uint64_t position) {
  if (stream.completed >= position) return true;
  Demand(stream, position);
  if (HasWork()) WakePool(1);
  // Where no thread could be started, whoever asks does the work.
  while (pool_threads_ == 0 && stream.completed < position && Help(lock, stream) == nullptr) {
  }
  return stream.completed >= position;
}

std::vector<Dependency> Engine::Pending(const Context& context, bool blocking_only) {
  std::vector<Dependency> pending;
  for (const std::shared_ptr<Stream>& stream : context.streams) {
    if (stream->tail != nullptr && (stream->blocking || !blocking_only)) pending.push_back({stream, stream->enqueued});
  }
  return pending;
}

void Engine::WaitAll(Context& context, bool blocking_only) {
  Lock lock(mutex_);
  for (const Dependency& wait : Pending(context, blocking_only)) WaitLocked(lock, *wait.stream, wait.position);
}

bool Engine::AllDone(Context& context, bool blocking_only) {
  Lock lock(mutex_);
  bool done = true;
  for (const Dependency& wait : Pending(context, blocking_only)) {
    if (!DoneLocked(lock, *wait.stream, wait.position)) done = false;
  }
  return done;
}

CUresult Engine::EnqueueAndWait(Stream& stream, Op* op) {
  Lock lock(mutex_);
  CUresult result = EnqueueLocked(lock, stream, op);
  if (result != CUDA_SUCCESS) return result;
  WaitLocked(lock, stream, stream.enqueued);
  return stream.context->sticky.load(std::memory_order_acquire);
}

void Engine::AddContext(const std::shared_ptr<Context>& context) {
  auto legacy = std::make_shared<Stream>();
  legacy->context = context;
  legacy->is_legacy = true;
  Lock lock(mutex_);
  context->legacy = legacy;
  context->streams.push_back(std::move(legacy));
  contexts_.push_back(context.get());
}

void Engine::DestroyContext(Context& context) {
  std::vector<std::shared_ptr<Stream>> dropped;  // Dies after the lock is released.
  Lock lock(mutex_);
  context.destroyed = true;
  if (!Pending(context, /*blocking_only=*/false).empty()) FinishOrEnd(lock, context);
  dropped.swap(context.streams);
  context.legacy.reset();
  context.per_thread.clear();
  contexts_.erase(std::remove(contexts_.begin(), contexts_.end(), &context), contexts_.end());
}

bool Engine::IsDestroyed(const Context& context) {
  Lock lock(mutex_);
  return context.destroyed;
}

std::shared_ptr<Stream> Engine::AddStream(const std::shared_ptr<Context>& context, bool blocking, int priority) {
  auto stream = std::make_shared<Stream>();
  stream->context = context;
  stream->blocking = blocking;
  stream->priority = priority;
  Lock lock(mutex_);
  if (context->destroyed) return nullptr;
  context->streams.push_back(stream);
  return stream;
}

std::shared_ptr<Stream> Engine::LegacyStream(const Context& context) {
  Lock lock(mutex_);
  return context.legacy;
}

std::shared_ptr<Stream> Engine::PerThreadStream(const std::shared_ptr<Context>& context) {
  if (thread_key.key == 0) thread_key.key = ++next_thread_key;
  {
    Lock lock(mutex_);
    auto found = context->per_thread.find(thread_key.key);
    if (found != context->per_thread.end()) return found->second;
  }
  std::shared_ptr<Stream> stream = AddStream(context, /*blocking=*/true, /*priority=*/0);
  Lock lock(mutex_);
  if (stream != nullptr) context->per_thread.emplace(thread_key.key, stream);
  return stream;
}

void Engine::DestroyStream(Stream& stream) {
  Lock lock(mutex_);
  DestroyStreamLocked(stream);
}

void Engine::DestroyStreamLocked(Stream& stream) {
  stream.destroyed = true;
  if (stream.tail != nullptr) return;  // Complete() drops it.
  std::vector<std::shared_ptr<Stream>>& streams = stream.context->streams;
  streams.erase(std::remove(streams.begin(), streams.end(), stream.shared_from_this()), streams.end());
}

void Engine::ForgetThread(uint64_t thread_key) {
  Lock lock(mutex_);
  for (Context* context : contexts_) {
    auto found = context->per_thread.find(thread_key);
    if (found == context->per_thread.end()) continue;
    std::shared_ptr<Stream> stream = std::move(found->second);
    context->per_thread.erase(found);
    DestroyStreamLocked(*stream);
  }
}

CUresult Engine::Record(const std::shared_ptr<Event>& event, Stream& stream) {
  Op* op = NewOp(OpKind::kRecord);
  op->event = event;
  Lock lock(mutex_);
  CUresult result = EnqueueLocked(lock, stream, op);
  if (result != CUDA_SUCCESS) return result;
  event->stream = stream.shared_from_this();
  event->position = stream.enqueued;
  return CUDA_SUCCESS;
}

Dependency Engine::RecordedAt(Event& event) {
  Lock lock(mutex_);
  return {event.stream, event.position};
}

CUresult Engine::ElapsedTime(Event& start, Event& end, float* milliseconds) {
  if (!start.timing || !end.timing || start.context->device != end.context->device) return CUDA_ERROR_INVALID_HANDLE;
  Lock lock(mutex_);
  for (Event* event : {&start, &end}) {
    if (event->stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (event->stream->completed < event->position) return CUDA_ERROR_NOT_READY;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(end.time - start.time).count();
  return CUDA_SUCCESS;
}

}  // namespace slipway::cpu
