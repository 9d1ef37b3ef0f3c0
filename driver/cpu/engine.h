// The scheduler of the CPU device: streams' work, the threads that run it, and the threads that wait for it.
//
// A pool of as many threads as there are cores takes ready work; a launch is spread over them by chunks of blocks, in
// index order. A thread that waits runs the work it waits for, so a tiny launch and its synchronization happen on one
// thread without waking another, unless its first portion turns out to take long. For that, tiny work does not wake the
// pool: one sleeping pool thread looks every millisecond while the device is in use (the ticker), so that work gets
// done even if nobody ever waits. Host functions run on a thread of their own, never on one that waits.
//
// One mutex guards every queue. No work runs under it, and no other lock of the CPU device but the arena's is ever
// taken while it is held.
#ifndef SLIPWAY_DRIVER_CPU_ENGINE_H_
#define SLIPWAY_DRIVER_CPU_ENGINE_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "driver/cpu/op.h"

namespace slipway::cpu {

struct GraphExec;

class Engine {
 public:
  // Never destroyed: its threads may outlive every static object.
  static Engine& Get();

  // An empty op to be filled in and handed to Enqueue, or to Discard.
  Op* NewOp(OpKind kind);
  void Discard(Op* op);

  // Queues an op and returns its position. It runs after everything queued before it on the same stream, after its
  // dependencies, and by the rules of the legacy default stream. Waits while the stream's queue is full. The op is the
  // engine's from here on, whatever is returned: CUDA_SUCCESS, the context's sticky error, or CONTEXT_IS_DESTROYED.
  CUresult Enqueue(Stream& stream, Op* op, uint64_t* position = nullptr);

  // Returns when Enqueue on this stream would not have to wait.
  void WaitForRoom(Stream& stream);
  // Queues a launch of an executable graph, whose plan `op` holds, after the launch before it. Never waits.
  CUresult EnqueueGraph(Stream& stream, Op* op, GraphExec& exec);
  // Whether the last launch is done: then nothing reads the plan. Asks for nothing to be run.
  bool GraphIsIdle(const GraphExec& exec);

  // The last position of a stream, for Wait and Done.
  uint64_t LastPosition(Stream& stream);
  // Returns when the stream has got to `position`, running its work on this thread where possible.
  void Wait(Stream& stream, uint64_t position);
  // Whether it has; if not, makes sure that it will, however long nobody waits.
  bool Done(Stream& stream, uint64_t position);
  // The same for everything queued in a context so far, or only in the streams that the legacy default stream
  // synchronizes with, itself included.
  void WaitAll(Context& context, bool blocking_only = false);
  bool AllDone(Context& context, bool blocking_only = false);

  // Gives a new context its legacy stream. A per-thread default stream is made when first used.
  void AddContext(const std::shared_ptr<Context>& context);
  // Refuses new work, lets what is queued finish for as long as it is given, ends what is not done by then, and drops
  // the streams. Waits for host functions however long they take.
  void DestroyContext(Context& context);
  bool IsDestroyed(const Context& context);
  std::shared_ptr<Stream> AddStream(const std::shared_ptr<Context>& context, bool blocking, int priority);
  // The default streams; null if the context is destroyed.
  std::shared_ptr<Stream> LegacyStream(const Context& context);
  std::shared_ptr<Stream> PerThreadStream(const std::shared_ptr<Context>& context);
  // Work already queued still runs.
  void DestroyStream(Stream& stream);
  // Drops a thread's default streams, when it ends.
  void ForgetThread(uint64_t thread_key);

  // Records `event` at the end of `stream`.
  CUresult Record(const std::shared_ptr<Event>& event, Stream& stream);
  // The position of an event's last record; no stream if there is none.
  Dependency RecordedAt(Event& event);
  // Milliseconds between two events; NOT_READY if one is not done, INVALID_HANDLE if one was never recorded, takes
  // no time, or is of another device.
  CUresult ElapsedTime(Event& start, Event& end, float* milliseconds);

  // Queues `op` and returns when it is done: the synchronous calls. The context's sticky error, if it has one by then.
  CUresult EnqueueAndWait(Stream& stream, Op* op);

  // fork(): stops the runners between two chunks and holds the lock, so that parent and child both go on with what is
  // queued. The child starts threads of its own when it needs them.
  void BeforeFork();
  void AfterForkInParent();
  void AfterForkInChild();

  // Whether this thread is inside a host function, where no call may wait or queue.
  static bool InHostFunction();

 private:
  using Lock = std::unique_lock<std::mutex>;

  Engine();

  // Everything below is called with the lock held and returns with it held, but RunChunks, RunSequence and RunAlone.

  // Queues (engine.cc).
  CUresult EnqueueLocked(Lock& lock, Stream& stream, Op* op);
  void WaitForRoomLocked(Lock& lock, Stream& stream);
  static CUresult Refusal(const Stream& stream);
  void Append(Stream& stream, Op* op);
  void WaitLocked(Lock& lock, Stream& stream, uint64_t position);
  bool DoneLocked(Lock& lock, Stream& stream, uint64_t position);
  static std::vector<Dependency> Pending(const Context& context, bool blocking_only);
  void AddLegacyDependencies(Stream& stream, Op* op);
  void Promote(Stream& stream);  // Finds the state that the head is in, and tells who may run it.
  void MakeReady(Stream& stream);
  void Complete(Stream& stream);  // The head is done.
  void Demand(Stream& stream, uint64_t position);
  bool Wanted(const Stream& stream) const;
  void DestroyStreamLocked(Stream& stream);
  void Recycle(Op* op);

  // Running (engine_run.cc).
  Stream* BestReady(bool host) const;  // Null if there is none.
  Stream* BestActive() const;          // The same of launches that a thread can join.
  void TakeFromReady(Stream* stream);
  void NoteMostUrgent();                     // After each change of what is ready.
  bool HasWork() const;                      // For the pool.
  bool RunSomething(Lock& lock);             // For a pool thread. False if there is nothing for it.
  Stream* Help(Lock& lock, Stream& stream);  // For a waiting thread. Null if it ran something, else whom to wait for.
  void RunHead(Lock& lock, Stream& stream);
  void RunHostFunction(Lock& lock, Stream& stream);
  void StartLaunch(Lock& lock, Stream& stream);
  void RunLaunch(Lock& lock, Stream& stream);  // Starts it or joins in; a kSequence, too.
  void CompleteLaunch(Stream& stream);         // Which nobody runs any more.
  void RunChunks(Op* op, std::byte* shared);
  void RunSequence(Op* op, std::byte* shared);
  void StartGraph(Stream& stream);
  static void RunAlone(Op* op);  // Copies and the like.
  void LeaveWork();

  // Ending (engine_end.cc).
  struct Drain;
  void FinishOrEnd(Lock& lock, Context& context);
  void WaitUntilIdle(Lock& lock, Context& context);
  void StopLaunches(Lock& lock, Context& context);
  static void* DrainThread(void* drain);

  // Threads (engine_threads.cc).
  void WakePool(int count);
  void WakeHostThread();
  bool StartThread(void* (*body)(void*), void* argument);
  bool StartCooperative(Stream& stream);  // A thread for each block but one.
  static bool IsPoolThread();
  static void* PoolThread(void* engine);
  static void* HostFunctionThread(void* engine);
  static void* CooperativeThread(void* stream);

  std::mutex mutex_;
  std::vector<Stream*> ready_;
  std::vector<Stream*> blocked_;
  std::vector<Stream*> active_;  // Running a launch that others may join.
  struct Runner {
    Stream* stream;
    pthread_t thread;
  };
  std::vector<Runner> runners_;  // Threads inside launches, or sequences of them.
  std::vector<Context*> contexts_;
  std::vector<std::byte*> shared_memory_;  // Spare blocks of kMaxSharedBytes.
  Op* free_ops_ = nullptr;
  uint64_t next_grid_id_ = 0;

  WaitQueue pool_waiters_;
  WaitQueue host_waiters_;
  WaitQueue pause_waiters_;
  int pool_threads_ = 0;
  int cores_ = 1;
  int running_ = 0;  // Threads inside work, of the pool or waiting ones.
  bool late_ = false;
  bool host_thread_ = false;
  bool threads_allowed_ = true;
  bool ticker_ = false;  // A pool thread is looking every millisecond.
  int quiet_ticks_ = 0;  // Looks since something became ready; after some it sleeps for good.
  std::atomic<bool> paused_{false};
  // The lowest priority number among ready_: whoever runs blocks of a higher one leaves for it.
  std::atomic<int> most_urgent_{0};
  uint64_t forks_ = 0;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_ENGINE_H_
