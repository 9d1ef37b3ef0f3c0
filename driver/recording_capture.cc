// Captures of the recording driver, and what becomes a node of a graph in them.
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "driver/recording.h"

namespace slipway::recording {
namespace {

using Lock = std::lock_guard<std::mutex>;

CUgraphNode NewNodeHandle() {
  static uintptr_t next = uintptr_t{1} << 40;  // Guarded by the record's lock.
  return reinterpret_cast<CUgraphNode>(next += 16);
}

// Takes the streams out of capture mode; the graph of a broken capture goes.
void Finish(Capture& capture) {
  Record& record = TheRecord();
  record.graphs[capture.graph].capturing = false;
  if (capture.invalidated) DropGraph(capture.graph);
  const std::vector<CUstream> streams = std::exchange(capture.streams, {});
  capture.graph = nullptr;
  for (CUstream stream : streams) record.capturing.erase(stream);  // With the last one the capture may be gone.
  --record.captures;
}

// Whether all that the streams captured comes before where the first one stands.
bool IsJoined(const Capture& capture) {
  Record& record = TheRecord();
  std::unordered_set<CUgraphNode> before;
  std::vector<CUgraphNode> next = record.capturing[capture.streams[0]].last;
  while (!next.empty()) {
    const CUgraphNode node = next.back();
    next.pop_back();
    if (!before.insert(node).second) continue;
    const std::vector<CUgraphNode>& dependencies = record.nodes[node].dependencies;
    next.insert(next.end(), dependencies.begin(), dependencies.end());
  }
  for (CUstream stream : capture.streams) {
    for (CUgraphNode last : record.capturing[stream].last) {
      if (before.count(last) == 0) return false;
    }
  }
  return true;
}

CUresult StreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  if (stream == nullptr || stream == kStreamLegacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  CUgraph graph = nullptr;
  NullDriver().StreamEndCapture(stream, &graph);  // A handle that is nobody else's.
  Record& record = TheRecord();
  Lock lock(record.mutex);
  if (record.capturing.count(stream) != 0) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = ++record.last_capture_id;
  capture->graph = graph;
  capture->streams = {stream};
  record.graphs[graph].capturing = true;
  record.capturing[stream] = {std::move(capture), {}};
  ++record.captures;
  return CUDA_SUCCESS;
}

CUresult StreamEndCapture(CUstream stream, CUgraph* graph) {
  *graph = nullptr;
  Record& record = TheRecord();
  Lock lock(record.mutex);
  const Captured* at = Find(record.capturing, stream);
  if (at == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  const std::shared_ptr<Capture> capture = at->capture;
  if (capture->streams[0] != stream) {
    capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  CUresult result = CUDA_SUCCESS;
  if (capture->invalidated) {
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (!IsJoined(*capture)) {
    result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  capture->invalidated = result != CUDA_SUCCESS;
  if (result == CUDA_SUCCESS) *graph = capture->graph;
  Finish(*capture);
  return result;
}

CUresult StreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, uint64_t* id, CUgraph* graph,
                              const CUgraphNode** dependencies, size_t* count) {
  Record& record = TheRecord();
  Lock lock(record.mutex);
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  const Captured* at = Find(record.capturing, stream);
  if (at == nullptr) return CUDA_SUCCESS;
  *status = at->capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (at->capture->invalidated) return CUDA_SUCCESS;
  if (id != nullptr) *id = at->capture->id;
  if (graph != nullptr) *graph = at->capture->graph;
  if (dependencies != nullptr) *dependencies = at->last.data();
  if (count != nullptr) *count = at->last.size();
  return CUDA_SUCCESS;
}

CUresult StreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return StreamGetCaptureInfo(stream, status, nullptr, nullptr, nullptr, nullptr);
}

CUresult EventRecord(CUevent event, CUstream stream) {
  Record& record = TheRecord();
  Lock lock(record.mutex);
  const Captured* at = Find(record.capturing, stream);
  if (at == nullptr) {
    record.captured_events.erase(event);
    return CUDA_SUCCESS;
  }
  if (at->capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  record.captured_events[event] = *at;
  return CUDA_SUCCESS;
}

CUresult StreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  Record& record = TheRecord();
  Lock lock(record.mutex);
  const Captured* from = Find(record.captured_events, event);
  Captured* at = Find(record.capturing, stream);
  if (from == nullptr) {
    return at == nullptr ? CUDA_SUCCESS : Break(*at->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  }
  if (at != nullptr && at->capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (from->capture->graph == nullptr) {
    if (at != nullptr) at->capture->invalidated = true;
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  if (from->capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (at != nullptr && at->capture != from->capture) {
    at->capture->invalidated = from->capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (at == nullptr) {
    if (stream == nullptr || stream == kStreamLegacy) return Break(*from->capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    from->capture->streams.push_back(stream);
    at = &record.capturing[stream];
    at->capture = from->capture;
  }
  for (CUgraphNode node : from->last) {
    if (std::find(at->last.begin(), at->last.end(), node) == at->last.end()) at->last.push_back(node);
  }
  return CUDA_SUCCESS;
}

// Waits and queries.
CUresult StreamSynchronize(CUstream stream) {
  Record& record = TheRecord();
  Lock lock(record.mutex);
  const Captured* at = Find(record.capturing, stream);
  return at == nullptr ? CUDA_SUCCESS : Break(*at->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}
CUresult EventSynchronize(CUevent event) {
  Record& record = TheRecord();
  Lock lock(record.mutex);
  const Captured* from = Find(record.captured_events, event);
  if (from == nullptr) return CUDA_SUCCESS;
  from->capture->invalidated = true;
  return CUDA_ERROR_CAPTURED_EVENT;
}
CUresult CtxSynchronize() {
  Record& record = TheRecord();
  Lock lock(record.mutex);
  for (auto& [stream, at] : record.capturing) at.capture->invalidated = true;
  return record.capturing.empty() ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

// Copies, fills and host functions.
CUresult Note(CUstream stream, CUgraphNodeType type) {
  Node node;
  node.type = type;
  bool captured = false;
  Lock lock(TheRecord().mutex);
  return AddIfCapturing(stream, std::move(node), &captured);
}
CUresult MemcpyHtoDAsync(CUdeviceptr, const void*, size_t, CUstream stream) {
  return Note(stream, CU_GRAPH_NODE_TYPE_MEMCPY);
}
CUresult MemcpyDtoHAsync(void*, CUdeviceptr, size_t, CUstream stream) {
  return Note(stream, CU_GRAPH_NODE_TYPE_MEMCPY);
}
CUresult MemcpyDtoDAsync(CUdeviceptr, CUdeviceptr, size_t, CUstream stream) {
  return Note(stream, CU_GRAPH_NODE_TYPE_MEMCPY);
}
CUresult MemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream stream) {
  return Note(stream, CU_GRAPH_NODE_TYPE_MEMCPY);
}
CUresult MemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream stream) {
  return Note(stream, CU_GRAPH_NODE_TYPE_MEMSET);
}
CUresult MemsetD32Async(CUdeviceptr, unsigned, size_t, CUstream stream) {
  return Note(stream, CU_GRAPH_NODE_TYPE_MEMSET);
}
CUresult LaunchHostFunc(CUstream stream, CUhostFn function, void* user_data) {
  Node node;
  node.type = CU_GRAPH_NODE_TYPE_HOST;
  node.host_function = function;
  node.user_data = user_data;
  bool captured = false;
  {
    Lock lock(TheRecord().mutex);
    const CUresult result = AddIfCapturing(stream, std::move(node), &captured);
    if (captured) return result;
  }
  return NullDriver().LaunchHostFunc(stream, function, user_data);
}

}  // namespace

CUresult Break(Capture& capture, CUresult why) {
  return std::exchange(capture.invalidated, true) ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : why;
}

CUresult AddIfCapturing(CUstream stream, Node node, bool* captured) {
  Record& record = TheRecord();
  Captured* at = Find(record.capturing, stream);
  *captured = at != nullptr;
  if (at == nullptr) return CUDA_SUCCESS;
  if (at->capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  const CUgraphNode handle = NewNodeHandle();
  node.dependencies = std::exchange(at->last, {handle});
  record.graphs[at->capture->graph].nodes.push_back(handle);
  record.nodes.emplace(handle, std::move(node));
  return CUDA_SUCCESS;
}

void ForgetStream(CUstream stream) {
  Record& record = TheRecord();
  const Captured* at = Find(record.capturing, stream);
  if (at == nullptr) return;
  const std::shared_ptr<Capture> capture = at->capture;
  capture->invalidated = true;
  if (capture->streams[0] == stream) {
    Finish(*capture);
    return;
  }
  capture->streams.erase(std::find(capture->streams.begin(), capture->streams.end(), stream));
  record.capturing.erase(stream);
}

void InstallCaptures(DriverApi* api) {
  api->StreamBeginCapture = &StreamBeginCapture;
  api->StreamEndCapture = &StreamEndCapture;
  api->StreamIsCapturing = &StreamIsCapturing;
  api->StreamGetCaptureInfo = &StreamGetCaptureInfo;
  api->EventRecord = &EventRecord;
  api->StreamWaitEvent = &StreamWaitEvent;
  api->StreamSynchronize = &StreamSynchronize;
  api->StreamQuery = &StreamSynchronize;
  api->EventSynchronize = &EventSynchronize;
  api->EventQuery = &EventSynchronize;
  api->CtxSynchronize = &CtxSynchronize;
  api->MemcpyHtoDAsync = &MemcpyHtoDAsync;
  api->MemcpyDtoHAsync = &MemcpyDtoHAsync;
  api->MemcpyDtoDAsync = &MemcpyDtoDAsync;
  api->MemcpyPeerAsync = &MemcpyPeerAsync;
  api->MemsetD8Async = &MemsetD8Async;
  api->MemsetD32Async = &MemsetD32Async;
  api->LaunchHostFunc = &LaunchHostFunc;
}

}  // namespace slipway::recording
