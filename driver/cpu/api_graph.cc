// Stream capture and graphs.
#include "driver/cpu/api.h"

namespace slipway::cpu::api {

CUresult StreamBeginCapture(CUstream, CUstreamCaptureMode) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult StreamEndCapture(CUstream, CUgraph*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult StreamIsCapturing(CUstream, CUstreamCaptureStatus*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult StreamGetCaptureInfo(CUstream, CUstreamCaptureStatus*, uint64_t*, CUgraph*, const CUgraphNode**, size_t*) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult ThreadExchangeStreamCaptureMode(CUstreamCaptureMode*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult GraphDestroy(CUgraph) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult GraphGetNodes(CUgraph, CUgraphNode*, size_t*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult GraphNodeGetType(CUgraphNode, CUgraphNodeType*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult GraphInstantiateWithFlags(CUgraphExec*, CUgraph, unsigned long long) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult GraphExecDestroy(CUgraphExec) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult GraphLaunch(CUgraphExec, CUstream) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult GraphKernelNodeGetParams(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult GraphExecKernelNodeSetParams(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult GraphExecUpdate(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult LaunchKernelEx(const CUlaunchConfig*, CUfunction, void**, void**) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult CtxGetStreamPriorityRange(int*, int*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult CtxEnablePeerAccess(CUcontext, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult DeviceCanAccessPeer(int*, CUdevice, CUdevice) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult FuncGetParamInfo(CUfunction, size_t, size_t*, size_t*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult OccupancyMaxActiveBlocksPerMultiprocessor(int*, CUfunction, int, size_t) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult MemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult StreamGetPriority(CUstream, int*) { return CUDA_ERROR_NOT_SUPPORTED; }

}  // namespace slipway::cpu::api
