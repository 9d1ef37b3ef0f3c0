#include "driver/cpu/capture.h"

#include <algorithm>
#include <utility>

#include "driver/cpu/runtime.h"

namespace slipway::cpu {
namespace {

// Plain data without a destructor, like each thread's stack of contexts.
thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
thread_local uint64_t thread_number = 0;

// Never given out again, as a std::thread::id may be.
uint64_t ThisThread() {
  static std::atomic<uint64_t> last{0};
  if (thread_number == 0) thread_number = ++last;
  return thread_number;
}

void AddSorted(const std::vector<uint32_t>& more, std::vector<uint32_t>* to) {
  to->insert(to->end(), more.begin(), more.end());
  std::sort(to->begin(), to->end());
  to->erase(std::unique(to->begin(), to->end()), to->end());
}

// Whether every stream that joined has been joined to the first: whether all that they captured comes before where it
// stands.
bool IsJoined(const Capture& capture) {
  const std::vector<std::shared_ptr<GraphNode>>& nodes = capture.graph->nodes;
  std::vector<bool> before(nodes.size());
  std::vector<uint32_t> left = capture.streams[0]->captured;
  while (!left.empty()) {
    const uint32_t node = left.back();
    left.pop_back();
    if (before[node]) continue;
    before[node] = true;
    left.insert(left.end(), nodes[node]->dependencies.begin(), nodes[node]->dependencies.end());
  }
  for (const std::shared_ptr<Stream>& stream : capture.streams) {
    for (uint32_t last : stream->captured) {
      if (!before[last]) return false;
    }
  }
  return true;
}

}  // namespace

CUresult Captures::Begin(const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode) {
  Lock lock(mutex_);
  return BeginLocked(nullptr, {}, stream, mode);
}

CUresult Captures::BeginIn(CUgraph handle, const CUgraphNode* dependencies, size_t count,
                           const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode) {
  Lock lock(mutex_);
  std::shared_ptr<Graph> graph = Runtime::Get().graphs.Find(handle);
  if (graph == nullptr || graph->capturing) return CUDA_ERROR_INVALID_VALUE;
  std::vector<uint32_t> captured;
  SLIPWAY_RETURN_IF_FAILED(IndicesOf(*graph, dependencies, count, &captured));
  return BeginLocked(std::move(graph), std::move(captured), stream, mode);
}

CUresult Captures::BeginLocked(std::shared_ptr<Graph> graph, std::vector<uint32_t> captured,
                               const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode) {
  if (stream->is_legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = ++last_id_;
  capture->mode = mode;
  capture->thread = ThisThread();
  capture->owns_graph = graph == nullptr;
  capture->graph = graph == nullptr ? NewGraph() : std::move(graph);
  capture->graph->capturing = true;
  active_.push_back(capture);
  Join(stream, capture);
  stream->captured = std::move(captured);
  count_.store(active_.size(), std::memory_order_release);
  return CUDA_SUCCESS;
}

CUresult Captures::End(const std::shared_ptr<Stream>& stream, CUgraph* graph) {
  *graph = nullptr;
  Lock lock(mutex_);
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->streams[0] != stream) {
    capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != ThisThread()) {
    capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  CUresult result = CUDA_SUCCESS;
  if (capture->invalidated) {
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (!IsJoined(*capture)) {
    result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  capture->invalidated = result != CUDA_SUCCESS;
  if (result == CUDA_SUCCESS) *graph = capture->graph->handle;
  Finish(capture);
  return result;
}

// Takes the streams out of capture mode; without a valid result the graph goes, too.
void Captures::Finish(const std::shared_ptr<Capture>& capture) {
  for (const std::shared_ptr<Stream>& stream : capture->streams) Leave(*stream);
  capture->streams.clear();
  capture->graph->capturing = false;
  if (capture->invalidated && capture->owns_graph) DropGraph(capture->graph->handle);
  capture->graph.reset();  // Which events that were recorded in the capture do not keep.
  active_.erase(std::remove(active_.begin(), active_.end(), capture), active_.end());
  count_.store(active_.size(), std::memory_order_release);
}

void Captures::Join(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Capture>& capture) {
  capture->streams.push_back(stream);
  stream->capture = capture;
  stream->captured.clear();
  stream->capturing.store(true, std::memory_order_release);
}

void Captures::Leave(Stream& stream) {
  stream.capturing.store(false, std::memory_order_release);
  stream.capture.reset();
  stream.captured.clear();
  stream.captured_handles.clear();
}

CUresult Captures::Info(Stream& stream, CUstreamCaptureStatus* status, uint64_t* id, CUgraph* graph,
                        const CUgraphNode** dependencies, size_t* count) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (!Any()) return CUDA_SUCCESS;
  Lock lock(mutex_);
  if (stream.is_legacy) {
    for (const std::shared_ptr<Capture>& capture : active_) {
      for (const std::shared_ptr<Stream>& other : capture->streams) {
        if (other->blocking && other->context == stream.context) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
      }
    }
    return CUDA_SUCCESS;
  }
  if (stream.capture == nullptr) return CUDA_SUCCESS;
  if (stream.capture->invalidated) {
    *status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return CUDA_SUCCESS;
  }
  *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  const Graph& captured = *stream.capture->graph;
  if (id != nullptr) *id = stream.capture->id;
  if (graph != nullptr) *graph = captured.handle;
  stream.captured_handles.clear();
  for (uint32_t node : stream.captured) stream.captured_handles.push_back(captured.nodes[node]->handle);
  if (dependencies != nullptr) *dependencies = stream.captured_handles.data();
  if (count != nullptr) *count = stream.captured_handles.size();
  return CUDA_SUCCESS;
}

CUresult Captures::ExchangeThreadMode(CUstreamCaptureMode* mode) {
  if (*mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  std::swap(thread_mode, *mode);
  return CUDA_SUCCESS;
}

CUresult Captures::Submit(const std::shared_ptr<Stream>& stream, Op* op) {
  Engine& engine = Engine::Get();
  if (!Any()) return engine.Enqueue(*stream, op);
  CUresult result = CUDA_SUCCESS;
  bool captured = false;
  {
    Lock lock(mutex_);
    captured = stream->capture != nullptr;
    result = captured ? AddNodeLocked(*stream, WorkOf(*op)) : LegacyLocked(*stream);
  }
  if (!captured && result == CUDA_SUCCESS) return engine.Enqueue(*stream, op);
  engine.Discard(op);
  return result;
}

CUresult Captures::AddNodeLocked(Stream& stream, NodeWork work) {
  if (stream.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  work.context = stream.context;
  // A captured kernel keeps its stream's priority, wherever the graph is launched.
  if (!work.op->has_priority) work.op->priority = stream.priority;
  work.op->has_priority = true;
  const std::shared_ptr<GraphNode> node =
      cpu::AddNode(*stream.capture->graph, std::move(work), std::exchange(stream.captured, {}));
  stream.captured = {node->index};
  return CUDA_SUCCESS;
}

CUresult Captures::AddNode(const std::shared_ptr<Stream>& stream, NodeWork work) {
  Lock lock(mutex_);
  return stream->capture == nullptr ? CUDA_ERROR_INVALID_VALUE : AddNodeLocked(*stream, std::move(work));
}

CUresult Captures::SetDependencies(Stream& stream, const CUgraphNode* nodes, size_t count, bool add) {
  Lock lock(mutex_);
  if (stream.capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (stream.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  std::vector<uint32_t> indices;
  SLIPWAY_RETURN_IF_FAILED(IndicesOf(*stream.capture->graph, nodes, count, &indices));
  if (!add) stream.captured.clear();
  AddSorted(indices, &stream.captured);
  return CUDA_SUCCESS;
}

CUresult Captures::UnsafeCallLocked() {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  for (const std::shared_ptr<Capture>& capture : active_) {
    const bool forbids = capture->thread == ThisThread() ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                                                         : capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                                               thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!forbids) continue;
    capture->invalidated = true;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

bool Captures::InvalidateOfContext(const Context& context, bool blocking_only) {
  bool any = false;
  for (const std::shared_ptr<Capture>& capture : active_) {
    for (const std::shared_ptr<Stream>& stream : capture->streams) {
      if (stream->context.get() == &context && (stream->blocking || !blocking_only)) any = capture->invalidated = true;
    }
  }
  return any;
}

CUresult Captures::LegacyLocked(const Stream& stream) {
  if (!stream.is_legacy || !InvalidateOfContext(*stream.context, /*blocking_only=*/true)) return CUDA_SUCCESS;
  return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult Captures::CheckUnsafeCall() {
  Lock lock(mutex_);
  return UnsafeCallLocked();
}

CUresult Captures::CheckWait(Stream& stream) {
  Lock lock(mutex_);
  if (stream.capture != nullptr) {
    return std::exchange(stream.capture->invalidated, true) ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                                                            : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  SLIPWAY_RETURN_IF_FAILED(LegacyLocked(stream));
  return UnsafeCallLocked();
}

CUresult Captures::CheckWait(Context& context) {
  Lock lock(mutex_);
  if (InvalidateOfContext(context, /*blocking_only=*/false)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return UnsafeCallLocked();
}

CUresult Captures::BeforeWait(Event& event) {
  if (event.is_captured.load(std::memory_order_acquire)) {
    Lock lock(mutex_);
    if (event.capture != nullptr) {
      event.capture->invalidated = true;
      return CUDA_ERROR_CAPTURED_EVENT;
    }
  }
  return BeforeUnsafeCall();
}

CUresult Captures::CheckUncapturable(Stream& stream) {
  Lock lock(mutex_);
  if (stream.capture == nullptr) return LegacyLocked(stream);
  return std::exchange(stream.capture->invalidated, true) ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                                                          : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult Captures::Record(const std::shared_ptr<Event>& event, const std::shared_ptr<Stream>& stream, bool* done) {
  *done = false;
  if (!Any() && !event->is_captured.load(std::memory_order_acquire)) return CUDA_SUCCESS;
  Lock lock(mutex_);
  if (stream->capture != nullptr) {
    if (stream->capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    event->capture = stream->capture;
    event->captured = stream->captured;
    event->is_captured.store(true, std::memory_order_release);
    *done = true;
    return CUDA_SUCCESS;
  }
  SLIPWAY_RETURN_IF_FAILED(LegacyLocked(*stream));
  ForgetRecord(*event);
  return CUDA_SUCCESS;
}

void Captures::ForgetRecord(Event& event) {
  event.is_captured.store(false, std::memory_order_release);
  event.capture.reset();
  event.captured.clear();
}

CUresult Captures::WaitEvent(const std::shared_ptr<Stream>& stream, Event& event, bool* done) {
  *done = false;
  if (!Any() && !event.is_captured.load(std::memory_order_acquire)) return CUDA_SUCCESS;
  Lock lock(mutex_);
  const std::shared_ptr<Capture> of_event = event.capture;
  const std::shared_ptr<Capture> of_stream = stream->capture;
  if (of_event == nullptr) {
    if (of_stream == nullptr) return LegacyLocked(*stream);
    return std::exchange(of_stream->invalidated, true) ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                                                       : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (of_stream != nullptr && of_stream->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  // Of a capture that is over: it stands for nothing that was or will be queued.
  if (of_event->graph == nullptr) {
    if (of_stream != nullptr) of_stream->invalidated = true;
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  if (of_event->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (of_stream != nullptr && of_stream != of_event) {
    of_stream->invalidated = of_event->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (stream->is_legacy) {  // Which cannot join.
    of_event->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  if (of_stream == nullptr) Join(stream, of_event);
  AddSorted(event.captured, &stream->captured);
  *done = true;
  return CUDA_SUCCESS;
}

void Captures::Forget(Stream& stream) {
  if (!Any()) return;
  Lock lock(mutex_);
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) return;
  capture->invalidated = true;
  if (capture->streams[0].get() == &stream) {
    Finish(capture);  // Nobody can end it any more.
    return;
  }
  Leave(stream);
  capture->streams.erase(std::find_if(capture->streams.begin(), capture->streams.end(),
                                      [&](const std::shared_ptr<Stream>& one) { return one.get() == &stream; }));
}

void Captures::Forget(const Context& context) {
  if (!Any()) return;
  std::vector<std::shared_ptr<Stream>> gone;
  {
    Lock lock(mutex_);
    for (const std::shared_ptr<Capture>& capture : active_) {
      for (const std::shared_ptr<Stream>& stream : capture->streams) {
        if (stream->context.get() == &context) gone.push_back(stream);
      }
    }
  }
  for (const std::shared_ptr<Stream>& stream : gone) Forget(*stream);
}

}  // namespace slipway::cpu
