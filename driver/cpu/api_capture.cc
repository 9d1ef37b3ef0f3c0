// Beginning, ending and asking about stream captures.
#include "driver/cpu/api.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu::api {

CUresult StreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  return Runtime::Get().captures.Begin(stream, mode);
}

CUresult StreamEndCapture(CUstream handle, CUgraph* graph) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  CUresult result = ResolveStream(handle, &stream);
  // In a broken context, too: the stream gets out of its capture.
  if (stream == nullptr) return result;
  CUresult ended = Runtime::Get().captures.End(stream, graph);
  return result != CUDA_SUCCESS ? result : ended;
}

CUresult StreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return StreamGetCaptureInfo(stream, status, nullptr, nullptr, nullptr, nullptr);
}

CUresult StreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus* status, uint64_t* id, CUgraph* graph,
                              const CUgraphNode** dependencies, size_t* count) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  return Runtime::Get().captures.Info(*stream, status, id, graph, dependencies, count);
}

CUresult ThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  return mode == nullptr ? CUDA_ERROR_INVALID_VALUE : Captures::ExchangeThreadMode(mode);
}

}  // namespace slipway::cpu::api
