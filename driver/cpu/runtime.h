// Everything that the CPU device knows, in one place, and what its entry points share.
#ifndef SLIPWAY_DRIVER_CPU_RUNTIME_H_
#define SLIPWAY_DRIVER_CPU_RUNTIME_H_

#include <memory>
#include <mutex>
#include <vector>

#include "driver/cpu/arena.h"
#include "driver/cpu/capture.h"
#include "driver/cpu/engine.h"
#include "driver/cpu/handle_table.h"
#include "driver/cpu/object_cache.h"
#include "driver/cpu/objects.h"
#include "driver/cpu/settings.h"
#include "driver/cpu/wait_queue.h"

namespace slipway::cpu {

struct PrimaryContext {
  std::mutex mutex;
  int retained = 0;
  unsigned flags = 0;                // Of the next context, and of this.
  std::shared_ptr<Context> context;  // Null while nobody retains it.
};

// Lets threads load modules at the same time, and fork() only when none does: the compiler's locks are not ours to
// hold.
class LoadGate {
 public:
  // While one lives, fork() waits.
  class Loading {
   public:
    explicit Loading(LoadGate& gate);
    ~Loading();
    Loading(const Loading&) = delete;
    Loading& operator=(const Loading&) = delete;

   private:
    LoadGate& gate_;
  };
  void LockForFork();
  void UnlockAfterFork() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  WaitQueue forking_;
  int loading_ = 0;
};

// Made by the first Init, never destroyed: threads may use it after main has returned.
//
// Locks are taken in the order of the members, the engine's between `captures` and the tables, and never two of one
// kind.
struct Runtime {
  const Settings& settings;
  LoadGate load_gate;
  ObjectCache object_cache;             // Only loads use it: never while fork() holds the gate.
  std::vector<PrimaryContext> primary;  // By device.
  Captures captures;
  HandleTable<Context, CUcontext, 1> contexts;
  HandleTable<Module, CUmodule, 2> modules;
  HandleTable<Function, CUfunction, 3> functions;
  HandleTable<Stream, CUstream, 4> streams;
  HandleTable<Event, CUevent, 5> events;
  HandleTable<Graph, CUgraph, 6> graphs;
  HandleTable<GraphNode, CUgraphNode, 7> graph_nodes;
  HandleTable<GraphExec, CUgraphExec, 8> graph_execs;
  HandleTable<Link, CUlinkState, 9> links;
  HandleTable<Library, CUlibrary, 10> libraries;
  HandleTable<Kernel, CUkernel, 11> kernels;
  HandleTable<UserObject, CUuserObject, 13> user_objects;
  Arena arena;

  static Runtime& Get();
  // Whether Init has been called.
  static bool Initialized();
  static void Initialize();

 private:
  Runtime();
};

// CUDA_SUCCESS where a call may go on: NOT_INITIALIZED before Init, NOT_PERMITTED inside a host function.
CUresult Ready();

// The context on top of this thread's stack. INVALID_CONTEXT if there is none, CONTEXT_IS_DESTROYED if it is gone, and
// its sticky error if it has one.
CUresult CurrentContext(std::shared_ptr<Context>* context);

// The context of an id; null if it is gone.
std::shared_ptr<Context> ContextById(uint64_t id);

// The function that a handle means in a context: a CUfunction, or a CUkernel, which is loaded there if need be.
// INVALID_HANDLE if it names nothing alive.
CUresult ResolveFunction(CUfunction handle, const std::shared_ptr<Context>& context,
                         std::shared_ptr<Function>* function);
// The same of a CUfunction in whatever context, and of a CUkernel in the current one.
CUresult ResolveFunction(CUfunction handle, std::shared_ptr<Function>* function);

// The stream that a handle means for this thread: a default stream's belongs to the current context. INVALID_HANDLE if
// it names nothing alive; the sticky error of its context if that has one.
CUresult ResolveStream(CUstream handle, std::shared_ptr<Stream>* stream);

// Makes a context, current nowhere.
std::shared_ptr<Context> NewContext(int device);
// Everything that lives in a context goes with it; the handles become invalid.
void DestroyContext(const std::shared_ptr<Context>& context);

// While one lives, calls of this thread take a null stream for the per-thread default stream, and not for the legacy
// one: what the variants of functions do whose names end in `_ptds` and `_ptsz`.
class NullStreamIsPerThread {
 public:
  NullStreamIsPerThread();
  ~NullStreamIsPerThread();
  NullStreamIsPerThread(const NullStreamIsPerThread&) = delete;
  NullStreamIsPerThread& operator=(const NullStreamIsPerThread&) = delete;
};

// The first fault of a context, or CUDA_SUCCESS.
inline CUresult Sticky(const Context& context) { return context.sticky.load(std::memory_order_acquire); }

#define SLIPWAY_RETURN_IF_FAILED(call)                                   \
  do {                                                                   \
    if (CUresult failed = (call); failed != CUDA_SUCCESS) return failed; \
  } while (false)

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_RUNTIME_H_
