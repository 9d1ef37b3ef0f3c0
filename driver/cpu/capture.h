// Stream capture: what becomes of work queued on a capturing stream, and which calls a capture forbids.
//
// The rules are those of the CUDA Programming Guide ("CUDA Graphs", "Creating a Graph Using Stream Capture") and of
// cuStreamBeginCapture and cuThreadExchangeStreamCaptureMode. An invalid operation invalidates the captures that it
// concerns: each further use of their streams and events answers STREAM_CAPTURE_INVALIDATED until the capture is ended,
// and ending it gives no graph.
//
// Entry points ask here before they act. While nobody captures, an answer costs one atomic load.
#ifndef SLIPWAY_DRIVER_CPU_CAPTURE_H_
#define SLIPWAY_DRIVER_CPU_CAPTURE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "driver/cpu/graph.h"

namespace slipway::cpu {

struct Capture {
  uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  uint64_t thread = 0;  // That began it.
  bool invalidated = false;
  bool owns_graph = true;  // Which goes with a capture that fails.
  std::shared_ptr<Graph> graph;
  std::vector<std::shared_ptr<Stream>> streams;  // That it was begun on, and those that joined by an event.
};

class Captures {
 public:
  // Into a new graph, or behind `dependencies` of `graph`, which is the caller's whatever becomes of the capture.
  CUresult Begin(const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode);
  CUresult BeginIn(CUgraph graph, const CUgraphNode* dependencies, size_t count, const std::shared_ptr<Stream>& stream,
                   CUstreamCaptureMode mode);
  // The capture is over even if this fails, but for a stream that does not capture or only joined.
  CUresult End(const std::shared_ptr<Stream>& stream, CUgraph* graph);
  // IMPLICIT for the legacy stream while a stream that it waits for captures. `id`, `graph`, `dependencies` and `count`
  // may be null and are written only while the capture is active; `dependencies` is valid until the next call here for
  // this stream.
  CUresult Info(Stream& stream, CUstreamCaptureStatus* status, uint64_t* id, CUgraph* graph,
                const CUgraphNode** dependencies, size_t* count);
  // Swaps the calling thread's mode with `*mode`.
  static CUresult ExchangeThreadMode(CUstreamCaptureMode* mode);

  // Queues `op` on the stream, or makes it a node of the stream's capture. The op is gone, whatever is returned.
  CUresult Submit(const std::shared_ptr<Stream>& stream, Op* op);
  // The same of a node that is no op of a stream: INVALID_VALUE if the stream does not capture.
  CUresult AddNode(const std::shared_ptr<Stream>& stream, NodeWork work);
  // Adds nodes of the capture's graph to those that the stream's next node waits for, or puts them in their place.
  // ILLEGAL_STATE if the stream does not capture, INVALID_VALUE for nodes of other graphs.
  CUresult SetDependencies(Stream& stream, const CUgraphNode* nodes, size_t count, bool add);
  // Whether a stream captures: what is queued on it must hold until the graph runs.
  static bool IsCapturing(const Stream& stream) { return stream.capturing.load(std::memory_order_acquire); }

  // Before a call that could go wrong in a capture without being seen by it: allocation, module loading, waiting.
  CUresult BeforeUnsafeCall() { return Any() ? CheckUnsafeCall() : CUDA_SUCCESS; }
  // Before a call that waits for, or asks about, a stream, a context, an event.
  CUresult BeforeWait(Stream& stream) { return Any() ? CheckWait(stream) : CUDA_SUCCESS; }
  CUresult BeforeWait(Context& context) { return Any() ? CheckWait(context) : CUDA_SUCCESS; }
  CUresult BeforeWait(Event& event);
  // Before a synchronous call, which works on the legacy stream and waits for it.
  CUresult BeforeSynchronousCall(Stream& legacy) { return BeforeWait(legacy); }
  // Before a call for which a capture has no node.
  CUresult BeforeUncapturable(Stream& stream) { return Any() ? CheckUncapturable(stream) : CUDA_SUCCESS; }

  // EventRecord and StreamWaitEvent, as far as a capture has to do with them; `*done` says that nothing is left to do.
  CUresult Record(const std::shared_ptr<Event>& event, const std::shared_ptr<Stream>& stream, bool* done);
  CUresult WaitEvent(const std::shared_ptr<Stream>& stream, Event& event, bool* done);
  // With the mutex held: an event is recorded otherwise.
  static void ForgetRecord(Event& event);

  // A stream or context goes: its captures with it.
  void Forget(Stream& stream);
  void Forget(const Context& context);

  // Guards every capture, graph and executable graph. Taken before the engine's lock and those of the handle tables.
  std::mutex& mutex() { return mutex_; }

 private:
  using Lock = std::lock_guard<std::mutex>;

  bool Any() const { return count_.load(std::memory_order_acquire) != 0; }
  CUresult CheckUnsafeCall();
  CUresult CheckWait(Stream& stream);
  CUresult CheckWait(Context& context);
  CUresult CheckUncapturable(Stream& stream);

  // With the lock held.
  CUresult BeginLocked(std::shared_ptr<Graph> graph, std::vector<uint32_t> captured,
                       const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode);
  CUresult UnsafeCallLocked();
  CUresult LegacyLocked(const Stream& stream);  // IMPLICIT where it would tie the legacy stream to a capture.
  bool InvalidateOfContext(const Context& context, bool blocking_only);
  void Join(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Capture>& capture);
  void Leave(Stream& stream);
  void Finish(const std::shared_ptr<Capture>& capture);
  CUresult AddNodeLocked(Stream& stream, NodeWork work);

  std::mutex mutex_;
  std::vector<std::shared_ptr<Capture>> active_;
  std::atomic<size_t> count_{0};  // Of active_.
  uint64_t last_id_ = 0;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_CAPTURE_H_
