#include "driver/cpu/runtime.h"

#include <pthread.h>

#include <atomic>
#include <utility>

namespace slipway::cpu {
namespace {

std::atomic<bool> initialized{false};
thread_local bool null_stream_is_per_thread = false;

// fork() copies memory as it is at one moment. With every lock of ours held by the forking thread at that moment, the
// child's copy is whole, and it can give the locks back.
void BeforeFork() {
  Runtime& runtime = Runtime::Get();
  runtime.load_gate.LockForFork();
  for (PrimaryContext& primary : runtime.primary) primary.mutex.lock();
  runtime.captures.mutex().lock();
  Engine::Get().BeforeFork();
  runtime.contexts.mutex_for_fork().lock();
  runtime.modules.mutex_for_fork().lock();
  runtime.functions.mutex_for_fork().lock();
  runtime.streams.mutex_for_fork().lock();
  runtime.events.mutex_for_fork().lock();
  runtime.graphs.mutex_for_fork().lock();
  runtime.graph_nodes.mutex_for_fork().lock();
  runtime.graph_execs.mutex_for_fork().lock();
  runtime.links.mutex_for_fork().lock();
  runtime.libraries.mutex_for_fork().lock();
  runtime.kernels.mutex_for_fork().lock();
  runtime.user_objects.mutex_for_fork().lock();
  runtime.arena.mutex_for_fork().lock();
}

void UnlockTables(Runtime& runtime) {
  runtime.arena.mutex_for_fork().unlock();
  runtime.user_objects.mutex_for_fork().unlock();
  runtime.kernels.mutex_for_fork().unlock();
  runtime.libraries.mutex_for_fork().unlock();
  runtime.links.mutex_for_fork().unlock();
  runtime.graph_execs.mutex_for_fork().unlock();
  runtime.graph_nodes.mutex_for_fork().unlock();
  runtime.graphs.mutex_for_fork().unlock();
  runtime.events.mutex_for_fork().unlock();
  runtime.streams.mutex_for_fork().unlock();
  runtime.functions.mutex_for_fork().unlock();
  runtime.modules.mutex_for_fork().unlock();
  runtime.contexts.mutex_for_fork().unlock();
}

void UnlockOuter(Runtime& runtime) {
  runtime.captures.mutex().unlock();
  for (PrimaryContext& primary : runtime.primary) primary.mutex.unlock();
  runtime.load_gate.UnlockAfterFork();
}

void AfterForkInParent() {
  Runtime& runtime = Runtime::Get();
  UnlockTables(runtime);
  Engine::Get().AfterForkInParent();
  UnlockOuter(runtime);
}

void AfterForkInChild() {
  Runtime& runtime = Runtime::Get();
  UnlockTables(runtime);
  Engine::Get().AfterForkInChild();
  UnlockOuter(runtime);
}

}  // namespace

LoadGate::Loading::Loading(LoadGate& gate) : gate_(gate) {
  std::lock_guard<std::mutex> lock(gate.mutex_);
  ++gate.loading_;
}

LoadGate::Loading::~Loading() {
  std::lock_guard<std::mutex> lock(gate_.mutex_);
  if (--gate_.loading_ == 0) gate_.forking_.NotifyAll();
}

void LoadGate::LockForFork() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (loading_ > 0) forking_.Wait(lock);
  lock.release();
}

Runtime::Runtime()
    : settings(GetSettings()),
      object_cache(settings.cache_bytes),
      primary(static_cast<size_t>(settings.devices)),
      arena(settings.memory_bytes, settings.devices, settings.check.memory) {}

Runtime& Runtime::Get() {
  static Runtime* runtime = new Runtime;
  return *runtime;
}

bool Runtime::Initialized() { return initialized.load(std::memory_order_acquire); }

void Runtime::Initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    Get();
    Engine::Get();
    pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);
    initialized.store(true, std::memory_order_release);
  });
}

CUresult Ready() {
  if (!Runtime::Initialized()) return CUDA_ERROR_NOT_INITIALIZED;
  // "The host function must not make any CUDA API calls" (cuLaunchHostFunc). One that waits would wait for itself.
  if (Engine::InHostFunction()) return CUDA_ERROR_NOT_PERMITTED;
  return CUDA_SUCCESS;
}

NullStreamIsPerThread::NullStreamIsPerThread() { null_stream_is_per_thread = true; }
NullStreamIsPerThread::~NullStreamIsPerThread() { null_stream_is_per_thread = false; }

CUresult ResolveStream(CUstream handle, std::shared_ptr<Stream>* stream) {
  if (handle == nullptr && null_stream_is_per_thread) handle = kStreamPerThread;
  if (handle == nullptr || handle == kStreamLegacy || handle == kStreamPerThread) {
    std::shared_ptr<Context> context;
    SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
    *stream =
        handle == kStreamPerThread ? Engine::Get().PerThreadStream(context) : Engine::Get().LegacyStream(*context);
    return *stream == nullptr ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
  }
  *stream = Runtime::Get().streams.Find(handle);
  if (*stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return Sticky(*(*stream)->context);
}

UserObject::~UserObject() {
  if (destroy == nullptr) return;
  auto* call = new std::pair<CUhostFn, void*>(destroy, pointer);
  const auto run = [](void* given) -> void* {
    auto* call = static_cast<std::pair<CUhostFn, void*>*>(given);
    call->first(call->second);
    delete call;
    return nullptr;
  };
  pthread_t thread;
  if (pthread_create(&thread, nullptr, run, call) != 0) {
    run(call);
  } else {
    pthread_detach(thread);
  }
}

Module::~Module() {
  program.reset();  // Its code refers to the globals.
  if (globals != nullptr) Runtime::Get().arena.Free(reinterpret_cast<uintptr_t>(globals));
}

}  // namespace slipway::cpu
