// The threads of the engine, and fork().
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstring>

#include "driver/cpu/engine.h"
#include "driver/cpu/fault.h"
#include "driver/cpu/runtime.h"
#include "driver/cpu/sanitizers.h"

namespace slipway::cpu {
namespace {

// How often the ticker looks, and how many looks without anything new end it.
constexpr uint32_t kTickMicroseconds = 1000;
constexpr int kQuietTicks = 50;
// How long fork() waits for running chunks. A kernel that waits for the forking thread would hang it forever.
constexpr int kForkWaits = 50;
constexpr uint32_t kForkWaitMicroseconds = 100'000;

thread_local bool is_pool_thread = false;

}  // namespace

bool Engine::IsPoolThread() { return is_pool_thread; }

bool Engine::StartThread(void* (*body)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // The application's signals are for its own threads; those that a fault raises reach their thread all the same.
  sigset_t all, before;
  sigfillset(&all);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT}) sigdelset(&all, signal);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  int failed = pthread_create(&thread, &attributes, body, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return failed == 0;
}

void Engine::WakePool(int count) {
  count = std::min(count, cores_ - running_);
  int asleep = pool_waiters_.sleepers();
  for (int i = 0; i < std::min(count, asleep); ++i) pool_waiters_.NotifyOne();
  for (int i = asleep; i < count && pool_threads_ < cores_ && threads_allowed_; ++i) {
    if (!StartThread(PoolThread, this)) return;  // Those that wait or ask do the work, then.
    ++pool_threads_;
  }
}

void Engine::WakeHostThread() {
  if (host_thread_) {
    host_waiters_.NotifyOne();
  } else if (threads_allowed_) {
    host_thread_ = StartThread(HostFunctionThread, this);
  }
}

void* Engine::PoolThread(void* engine) {
  is_pool_thread = true;
  Engine& self = *static_cast<Engine*>(engine);
  Lock lock(self.mutex_);
  for (;;) {
    if (self.RunSomething(lock)) continue;
    if (self.ticker_ || self.quiet_ticks_ >= kQuietTicks) {
      self.pool_waiters_.Wait(lock);
      InstallFaultHandlers();
      continue;
    }
    self.ticker_ = true;
    if (!self.pool_waiters_.Wait(lock, kTickMicroseconds)) ++self.quiet_ticks_;
    RenewFaultHandlers();
    self.ticker_ = false;
  }
}

void* Engine::HostFunctionThread(void* engine) {
  Engine& self = *static_cast<Engine*>(engine);
  Lock lock(self.mutex_);
  uint64_t forks = self.forks_;
  while (forks == self.forks_) {  // In a child forked by a host function this thread's work is over.
    Stream* stream = self.paused_.load(std::memory_order_relaxed) ? nullptr : self.BestReady(/*host=*/true);
    if (stream != nullptr) {
      self.TakeFromReady(stream);
      self.RunHostFunction(lock, *stream);
    } else {
      self.host_waiters_.Wait(lock);
    }
  }
  return nullptr;
}

// "The kernel is launched with all of its blocks resident": a block may wait for any other, so each has a thread,
// however few cores there are. The caller's is one of them.
bool Engine::StartCooperative(Stream& stream) {
  Op& op = *stream.head;
  const Context& context = *stream.context;
  void* workspace =
      Runtime::Get().arena.Allocate(kGridWorkspaceBytes, context.device, context.id, Arena::Kind::kModule);
  if (workspace == nullptr) return false;
  op.launch.grid_workspace = static_cast<std::byte*>(std::memset(workspace, 0, kGridWorkspaceBytes));
  for (uint64_t started = 1; started < stream.head->blocks; ++started) {
    auto argument = std::make_unique<std::shared_ptr<Stream>>(stream.shared_from_this());
    if (!threads_allowed_ || !StartThread(CooperativeThread, argument.get())) return false;
    argument.release();
  }
  return true;
}

void* Engine::CooperativeThread(void* argument) {
  is_pool_thread = true;
  std::unique_ptr<std::shared_ptr<Stream>> stream(static_cast<std::shared_ptr<Stream>*>(argument));
  Engine& self = Get();
  Lock lock(self.mutex_);
  // Other threads may have been faster: then the launch is over, or has no block to give.
  const auto active = std::find(self.active_.begin(), self.active_.end(), stream->get());
  if (active != self.active_.end() && (*active)->head->cooperative) self.RunLaunch(lock, **stream);
  return nullptr;
}

void Engine::BeforeFork() {
  Lock lock(mutex_);
  paused_.store(true, std::memory_order_relaxed);
  for (int i = 0; i < kForkWaits && running_ > 0; ++i) pause_waiters_.Wait(lock, kForkWaitMicroseconds);
  lock.release();
}

void Engine::AfterForkInParent() {
  paused_.store(false, std::memory_order_relaxed);
  pause_waiters_.NotifyAll();
  pool_waiters_.NotifyAll();
  host_waiters_.NotifyAll();
  mutex_.unlock();
}

void Engine::AfterForkInChild() {
  paused_.store(false, std::memory_order_relaxed);
  ++forks_;
  pool_threads_ = 0;
  running_ = 0;
  runners_.clear();
  ticker_ = host_thread_ = false;
  for (WaitQueue* queue : {&pool_waiters_, &host_waiters_, &pause_waiters_}) queue->ForgetSleepers();
  std::vector<Stream*> lost;
  for (Context* context : contexts_) {
    for (const std::shared_ptr<Stream>& stream : context->streams) {
      stream->waiters.ForgetSleepers();
      if (stream->state != StreamState::kRunning) continue;
      // Paused between two chunks: goes on here. Everything else was in the hands of a thread that this process does
      // not have: a host function is the parent's, and half a kernel is a failure.
      OpKind kind = stream->head->kind;
      bool paused = (kind == OpKind::kLaunch || kind == OpKind::kSequence) && stream->head->runners == 0;
      if (!paused) lost.push_back(stream.get());
    }
  }
  threads_allowed_ = false;  // Not inside the handler.
  for (Stream* stream : lost) {
    active_.erase(std::remove(active_.begin(), active_.end(), stream), active_.end());
    if (stream->head->kind != OpKind::kHostFunction) stream->head->error = CUDA_ERROR_LAUNCH_FAILED;
    Complete(*stream);
  }
  threads_allowed_ = !kThreadSanitizer;  // Which ends a forked process that starts a thread.
  mutex_.unlock();
}

}  // namespace slipway::cpu
