// Streams, events and launches beyond the driver table's.
#include <memory>
#include <optional>

#include "driver/cpu/cuda_library/client.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu::client {
namespace {

CUresult Find(CUstream handle, std::shared_ptr<Stream>* stream) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  return ResolveStream(handle, stream);
}

}  // namespace

CUresult StreamCreate(CUstream* stream, unsigned flags) { return StreamCreateWithPriority(stream, flags, 0); }

CUresult StreamGetFlags(CUstream handle, unsigned* flags) {
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, &stream));
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = stream->blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
  return CUDA_SUCCESS;
}

CUresult StreamGetId(CUstream handle, unsigned long long* id) {  // NOLINT(google-runtime-int)
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, &stream));
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *id = stream->id;
  return CUDA_SUCCESS;
}

CUresult StreamGetDevice(CUstream handle, CUdevice* device) {
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, &stream));
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = stream->context->device;
  return CUDA_SUCCESS;
}

CUresult StreamGetCtx_v2(CUstream handle, CUcontext* context, void** green_context) {
  if (green_context != nullptr) *green_context = nullptr;
  return StreamGetCtx(handle, context);
}

CUresult StreamAddCallback(CUstream handle, StreamCallback function, void* user_data, unsigned flags) {
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, &stream));
  if (function == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeUncapturable(*stream));
  Op* op = Engine::Get().NewOp(OpKind::kHostFunction);
  op->callback = function;
  op->callback_stream = handle;
  op->user_data = user_data;
  return Engine::Get().Enqueue(*stream, op);
}

CUresult StreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t bytes, unsigned flags) {
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, &stream));
  const std::optional<Arena::Allocation> found = Runtime::Get().arena.Find(address, bytes);
  const bool fits = found && found->kind == Arena::Kind::kManaged && (bytes == 0 || bytes == found->bytes);
  // "It is illegal to attach singly to the NULL stream, because the NULL stream is a virtual global stream".
  const bool known = flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST ||
                     (flags == CU_MEM_ATTACH_SINGLE && !stream->is_legacy);
  return fits && known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;  // Everybody sees it, always.
}

CUresult StreamBeginCapture_v1(CUstream stream) { return StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL); }

CUresult StreamGetCaptureInfo_v1(CUstream stream, CUstreamCaptureStatus* status, uint64_t* id) {
  return StreamGetCaptureInfo(stream, status, id, nullptr, nullptr, nullptr);
}

// Edges carry no data: "NULL ... if all of it is zero".
CUresult StreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, uint64_t* id, CUgraph* graph,
                                 const CUgraphNode** dependencies, const CUgraphEdgeData** edges, size_t* count) {
  if (edges != nullptr) *edges = nullptr;
  return StreamGetCaptureInfo(stream, status, id, graph, dependencies, count);
}

CUresult StreamBeginCaptureToGraph(CUstream handle, CUgraph graph, const CUgraphNode* dependencies,
                                   const CUgraphEdgeData* data, size_t count, CUstreamCaptureMode mode) {
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, &stream));
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  SLIPWAY_RETURN_IF_FAILED(CheckEdgeData(data, count));
  return Runtime::Get().captures.BeginIn(graph, dependencies, count, stream, mode);
}

CUresult StreamUpdateCaptureDependencies(CUstream handle, CUgraphNode* dependencies, size_t count, unsigned flags) {
  constexpr unsigned kSet = 1;  // CU_STREAM_SET_CAPTURE_DEPENDENCIES; else they are added.
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, &stream));
  if ((flags & ~kSet) != 0) return CUDA_ERROR_INVALID_VALUE;
  return Runtime::Get().captures.SetDependencies(*stream, dependencies, count, flags != kSet);
}
CUresult StreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* dependencies, const CUgraphEdgeData* data,
                                            size_t count, unsigned flags) {
  SLIPWAY_RETURN_IF_FAILED(CheckEdgeData(data, count));
  return StreamUpdateCaptureDependencies(stream, dependencies, count, flags);
}

CUresult EventRecordWithFlags(CUevent event_handle, CUstream handle, unsigned flags) {
  constexpr unsigned kExternal = 1;  // CU_EVENT_RECORD_EXTERNAL: a node of the graph that is captured.
  if (flags != kExternal) return flags != 0 ? CUDA_ERROR_INVALID_VALUE : EventRecord(event_handle, handle);
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, &stream));
  const std::shared_ptr<Event> event = Runtime::Get().events.Find(event_handle);
  if (event == nullptr || event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
  return Runtime::Get().captures.AddNode(stream, EventWork(event, CU_GRAPH_NODE_TYPE_EVENT_RECORD));
}

CUresult LaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                 CUstream stream, void** params) {
  CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .pad = {}, .value = {}};
  cooperative.value.cooperative = 1;
  const CUlaunchConfig config = {.gridDimX = grid_x,
                                 .gridDimY = grid_y,
                                 .gridDimZ = grid_z,
                                 .blockDimX = block_x,
                                 .blockDimY = block_y,
                                 .blockDimZ = block_z,
                                 .sharedMemBytes = shared_bytes,
                                 .hStream = stream,
                                 .attrs = &cooperative,
                                 .numAttrs = 1};
  return LaunchKernelEx(&config, function, params, nullptr);
}

}  // namespace slipway::cpu::client
