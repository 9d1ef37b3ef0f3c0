// Work that is recorded once and launched as a whole, again and again, for less than its parts cost.
//
//   Graph graph = Graph::Capture(stream, [&]() -> absl::Status {
//     if (absl::Status status = step(stream, ForSize(n), y, x, 0.5f); !status.ok()) return status;
//     return step(stream, ForSize(n), x, y, 0.5f);
//   }).value();
//   GraphExec exec = graph.Instantiate().value();
//   for (int i = 0; i < 100; ++i) exec.Launch(stream).IgnoreError();
//
// A graph keeps alive what the launches recorded in it use: kernels, the memory of arrays (views of it, too) and host
// functions. Memory that is not Slipway's has to be kept by its owner.
#ifndef SLIPWAY_GRAPH_H_
#define SLIPWAY_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/device.h"
#include "slipway/driver_api.h"
#include "slipway/stream.h"

namespace slipway {

class GraphExec;

namespace internal {
class ErrorRecord;
struct KernelFailure;
struct GraphState;
struct GraphExecState;
}  // namespace internal

// What was captured; immutable. A handle with shared ownership, safe to use from any thread.
class Graph {
 public:
  // Captures what `record` queues on `stream`, and on streams that wait for it. However `record` ends, the capture ends
  // with it and the stream is an ordinary one again. The error of `record`, else that of ending the capture.
  static absl::StatusOr<Graph> Capture(const Stream& stream, absl::FunctionRef<absl::Status()> record,
                                       CaptureMode mode = CaptureMode::kThreadLocal);

  size_t node_count() const;
  CUgraph handle() const;
  const Device& device() const;

  // Makes it launchable. UNIMPLEMENTED for a driver before CUDA 11.4; else the driver's error.
  absl::StatusOr<GraphExec> Instantiate() const;

 private:
  friend class GraphExec;
  friend class Stream;
  explicit Graph(std::shared_ptr<const internal::GraphState> state) : state_(std::move(state)) {}
  std::shared_ptr<const internal::GraphState> state_;
};

// A graph that can be launched. Move-only; one that was moved from may only be destroyed or assigned. It may be
// destroyed while it runs, which neither waits nor stops it. Not thread-safe: one thread at a time.
class GraphExec {
 public:
  GraphExec(GraphExec&&) noexcept;
  GraphExec& operator=(GraphExec&&) noexcept;
  ~GraphExec();

  CUgraphExec handle() const;
  const Device& device() const;

  // Queues the whole graph on `stream`, of the device that it was captured on (INVALID_ARGUMENT otherwise). Launches of
  // one GraphExec run one after the other, whatever their streams. On a stream that is captured it becomes a part of
  // that graph, where the driver can do that: the CPU device cannot, and the capture becomes invalid.
  absl::Status Launch(const Stream& stream);

  // Gives it the kernels, arguments and copies of `graph`, which must be of the same form: launches from now on do what
  // `graph` says. INVALID_ARGUMENT names the node that cannot be changed and why; this is as it was then, and `graph`
  // can be instantiated instead. UNIMPLEMENTED for a driver before CUDA 12.0.
  absl::Status Update(const Graph& graph);

  // For bound launches (BoundLaunch::UpdateIn). Gives launches recorded under `key` another kernel, size or arguments:
  // the `occurrence`-th of them, counted from 0, or all for -1. `owners` keep alive what they use. Launches that are
  // queued already are not changed. Keys are those of the graph that this was instantiated from, also after an Update.
  // `errors`, where it is not null, is in the launch's parameters: each launch gets there what it was captured with.
  // NOT_FOUND if the graph has no such launch; UNIMPLEMENTED for a driver before CUDA 12.0; else the driver's error.
  absl::Status SetKernelNode(uint64_t key, int occurrence, const CUDA_KERNEL_NODE_PARAMS& params,
                             std::vector<std::shared_ptr<const void>> owners, void* errors = nullptr);

 private:
  friend class Graph;
  explicit GraphExec(std::shared_ptr<internal::GraphExecState> state);
  absl::Status CheckUsable(const char* what) const;
  void Release();
  std::shared_ptr<internal::GraphExecState> state_;
};

namespace internal {

using Owner = std::shared_ptr<const void>;

// A launch in a graph that can be changed there, and what it was given if it may raise an error.
struct GraphLaunch {
  CUgraphNode node = nullptr;
  ErrorWords errors;
};

// What is noted beside a capture while it goes on. Shared by the streams and events that take part. Thread-safe.
class CaptureRecord {
 public:
  // `origin` is the stream that began it.
  explicit CaptureRecord(CUstream origin) : origin_(origin) {}
  CaptureRecord(const CaptureRecord&) = delete;
  CaptureRecord& operator=(const CaptureRecord&) = delete;

  // The graph will keep `owner` alive, and its GraphExecs will. Null is nothing to keep.
  void Keep(Owner owner);
  // Notes that the work just queued on `stream` is a launch of `key`, so that GraphExec::SetKernelNode finds it. To be
  // called after the launch, before anything else is queued on that stream. FAILED_PRECONDITION if the capture has
  // become invalid.
  absl::Status NoteLaunch(const Stream& stream, uint64_t key, const ErrorWords& errors = {});
  // Where the kernels of the graph leave their errors; made by the first launch that may raise one.
  absl::StatusOr<ErrorRecord*> Errors(const Device& device, absl::Status (*decode)(const KernelFailure&));
  // A graph in the graph has such a record.
  void Watch(std::shared_ptr<ErrorRecord> record);

  CUstream origin() const { return origin_; }
  bool ended() const;

 private:
  friend class ::slipway::Stream;
  // Hands over what was noted; nothing more is.
  void End(GraphState* graph);

  const CUstream origin_;
  mutable std::mutex mutex_;
  bool ended_ = false;
  bool nodes_known_ = true;  // False where the driver cannot tell them.
  std::set<Owner, std::owner_less<Owner>> owners_;
  std::unordered_map<uint64_t, std::vector<GraphLaunch>> nodes_;
  std::shared_ptr<ErrorRecord> own_errors_;
  std::vector<std::shared_ptr<ErrorRecord>> errors_;  // With it, and of graphs in the graph.
};

// Lets this thread make calls that captures forbid: loading modules, allocating, freeing and asking for attributes,
// none of which depends on captured work, so that a kernel may be launched for the first time inside a capture. Costs
// two calls that only touch the thread's own state.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const DriverApi& api);
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const DriverApi& api_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool changed_;
};

// The owner of the live DeviceMemory that `address` lies in, whichever device it is of; nullptr for other memory.
Owner OwnerOf(CUdeviceptr address);

}  // namespace internal
}  // namespace slipway

#endif  // SLIPWAY_GRAPH_H_
