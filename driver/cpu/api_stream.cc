// Streams, events and host functions.
#include <algorithm>

#include "driver/cpu/api.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/runtime.h"
#include "driver/cpu/testing.h"

namespace slipway::cpu {
namespace {

CUresult ResolveEvent(CUevent handle, std::shared_ptr<Event>* event) {
  *event = Runtime::Get().events.Find(handle);
  if (*event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return Sticky(*(*event)->context);
}

}  // namespace

size_t LiveHandlesForTesting() {
  Runtime& runtime = Runtime::Get();
  return runtime.modules.size() + runtime.functions.size() + runtime.streams.size() + runtime.events.size() +
         runtime.graphs.size() + runtime.graph_nodes.size() + runtime.graph_execs.size();
}

namespace api {

CUresult StreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  if (stream == nullptr || (flags & ~CU_STREAM_NON_BLOCKING) != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> made = Engine::Get().AddStream(context, (flags & CU_STREAM_NON_BLOCKING) == 0,
                                                         std::clamp(priority, kGreatestPriority, kLeastPriority));
  if (made == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *stream = Runtime::Get().streams.Add(std::move(made));
  return CUDA_SUCCESS;
}

CUresult StreamDestroy(CUstream stream) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Stream> gone = Runtime::Get().streams.Remove(stream);
  if (gone == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Runtime::Get().captures.Forget(*gone);
  Engine::Get().DestroyStream(*gone);
  return Sticky(*gone->context);
}

CUresult StreamGetCtx(CUstream handle, CUcontext* context) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = stream->context->handle;
  return CUDA_SUCCESS;
}

CUresult StreamGetPriority(CUstream handle, int* priority) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *priority = stream->priority;
  return CUDA_SUCCESS;
}

CUresult StreamSynchronize(CUstream handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeWait(*stream));
  Engine& engine = Engine::Get();
  if (stream->is_legacy) {
    engine.WaitAll(*stream->context, /*blocking_only=*/true);
  } else {
    engine.Wait(*stream, engine.LastPosition(*stream));
  }
  return Sticky(*stream->context);
}

CUresult StreamQuery(CUstream handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeWait(*stream));
  Engine& engine = Engine::Get();
  bool done = stream->is_legacy ? engine.AllDone(*stream->context, /*blocking_only=*/true)
                                : engine.Done(*stream, engine.LastPosition(*stream));
  return done ? Sticky(*stream->context) : CUDA_ERROR_NOT_READY;
}

CUresult StreamWaitEvent(CUstream handle, CUevent event_handle, unsigned flags) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Event> event;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  SLIPWAY_RETURN_IF_FAILED(ResolveEvent(event_handle, &event));
  constexpr unsigned kExternal = 1;  // CU_EVENT_WAIT_EXTERNAL: a node of the graph that is captured.
  if (flags == kExternal) {
    return Runtime::Get().captures.AddNode(stream, EventWork(event, CU_GRAPH_NODE_TYPE_WAIT_EVENT));
  }
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  bool done = false;
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.WaitEvent(stream, *event, &done));
  if (done) return CUDA_SUCCESS;
  Dependency recorded = Engine::Get().RecordedAt(*event);
  if (recorded.stream == nullptr || recorded.stream == stream) return CUDA_SUCCESS;
  Op* op = Engine::Get().NewOp(OpKind::kNothing);
  op->dependencies.push_back(std::move(recorded));
  return Engine::Get().Enqueue(*stream, op);
}

CUresult LaunchHostFunc(CUstream handle, CUhostFn function, void* user_data) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Op* op = Engine::Get().NewOp(OpKind::kHostFunction);
  op->host_function = function;
  op->user_data = user_data;
  return Runtime::Get().captures.Submit(stream, op);
}

CUresult EventCreate(CUevent* event, unsigned flags) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  // "CU_EVENT_INTERPROCESS must be specified along with CU_EVENT_DISABLE_TIMING." No other process gets to know it.
  constexpr unsigned kInterprocess = 4;
  const bool fits = (flags & ~(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | kInterprocess)) == 0 &&
                    ((flags & kInterprocess) == 0 || (flags & CU_EVENT_DISABLE_TIMING) != 0);
  if (event == nullptr || !fits) return CUDA_ERROR_INVALID_VALUE;
  auto made = std::make_shared<Event>();
  made->context = std::move(context);
  made->timing = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  *event = made->handle = Runtime::Get().events.Add(made);
  return CUDA_SUCCESS;
}

CUresult EventDestroy(CUevent event) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Event> gone = Runtime::Get().events.Remove(event);
  return gone == nullptr ? CUDA_ERROR_INVALID_HANDLE : Sticky(*gone->context);
}

CUresult EventRecord(CUevent event_handle, CUstream handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Event> event;
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveEvent(event_handle, &event));
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  if (event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
  bool done = false;
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.Record(event, stream, &done));
  if (done) return CUDA_SUCCESS;
  return Engine::Get().Record(event, *stream);
}

CUresult EventQuery(CUevent handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Event> event;
  SLIPWAY_RETURN_IF_FAILED(ResolveEvent(handle, &event));
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeWait(*event));
  Dependency recorded = Engine::Get().RecordedAt(*event);
  if (recorded.stream == nullptr) return CUDA_SUCCESS;
  return Engine::Get().Done(*recorded.stream, recorded.position) ? Sticky(*event->context) : CUDA_ERROR_NOT_READY;
}

CUresult EventSynchronize(CUevent handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Event> event;
  SLIPWAY_RETURN_IF_FAILED(ResolveEvent(handle, &event));
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeWait(*event));
  Dependency recorded = Engine::Get().RecordedAt(*event);
  if (recorded.stream != nullptr) Engine::Get().Wait(*recorded.stream, recorded.position);
  return Sticky(*event->context);
}

CUresult EventElapsedTime(float* milliseconds, CUevent start_handle, CUevent end_handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Event> start;
  std::shared_ptr<Event> end;
  SLIPWAY_RETURN_IF_FAILED(ResolveEvent(start_handle, &start));
  SLIPWAY_RETURN_IF_FAILED(ResolveEvent(end_handle, &end));
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (Event* event : {start.get(), end.get()}) {
    SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeWait(*event));
  }
  return Engine::Get().ElapsedTime(*start, *end, milliseconds);
}

}  // namespace api
}  // namespace slipway::cpu
