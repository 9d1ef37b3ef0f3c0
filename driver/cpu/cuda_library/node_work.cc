#include "driver/cpu/cuda_library/node_work.h"

#include <utility>

#include "driver/cpu/copy.h"
#include "driver/cpu/graph_update.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu::client {
namespace {

CUresult FindContext(CUcontext handle, std::shared_ptr<Context>* context) {
  if (handle == nullptr) return CurrentContext(context);
  *context = Runtime::Get().contexts.Find(handle);
  return *context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

}  // namespace

CUresult KernelNodeWork(const CUDA_KERNEL_NODE_PARAMS* params, NodeWork* work) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Function> function;
  SLIPWAY_RETURN_IF_FAILED(NodeFunction(*params, &function));
  return KernelWork(std::move(function), *params, /*cooperative=*/false, /*priority=*/0, work);
}

CUresult CopyNodeWork(const CUDA_MEMCPY3D* params, CUcontext handle, NodeWork* work) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(FindContext(handle, &context));
  Op op;
  SLIPWAY_RETURN_IF_FAILED(MakeCopy3D(*params, &op));
  *work = WorkOf(op);
  work->type = CU_GRAPH_NODE_TYPE_MEMCPY;
  work->context = std::move(context);
  return CUDA_SUCCESS;
}

CUresult FillNodeWork(const CUDA_MEMSET_NODE_PARAMS* params, CUcontext handle, NodeWork* work) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const unsigned width = params->elementSize;
  if (width != 1 && width != 2 && width != 4) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(FindContext(handle, &context));
  Op op;
  SLIPWAY_RETURN_IF_FAILED(
      MakeFill(params->dst, params->pitch, params->value, width, params->width, params->height, &op));
  *work = WorkOf(op);
  work->type = CU_GRAPH_NODE_TYPE_MEMSET;
  work->context = std::move(context);
  return CUDA_SUCCESS;
}

CUresult HostNodeWork(const CUDA_HOST_NODE_PARAMS* params, NodeWork* work) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (params == nullptr || params->fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Op op;
  op.kind = OpKind::kHostFunction;
  op.host_function = params->fn;
  op.user_data = params->userData;
  *work = WorkOf(op);
  return CUDA_SUCCESS;
}

CUresult EventNodeWork(CUevent handle, CUgraphNodeType type, NodeWork* work) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const std::shared_ptr<Event> event = Runtime::Get().events.Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *work = EventWork(event, type);
  return CUDA_SUCCESS;
}

CUresult EmptyNodeWork(CUgraphNodeType type, NodeWork* work) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  *work = WorkOf(Op());
  work->type = type;
  return CUDA_SUCCESS;
}

CUresult WorkOfParams(const CUgraphNodeParams* params, NodeWork* work) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (static_cast<int>(params->type)) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return KernelNodeWork(&params->kernel, work);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      if (params->memcpy.flags != 0 || params->memcpy.reserved != 0) return CUDA_ERROR_INVALID_VALUE;
      return CopyNodeWork(&params->memcpy.copyParams, params->memcpy.copyCtx, work);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return FillNodeWork(&params->memset.params, params->memset.ctx, work);
    case CU_GRAPH_NODE_TYPE_HOST:
      return HostNodeWork(&params->host, work);
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return EmptyNodeWork(params->type, work);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return EventNodeWork(params->event.event, params->type, work);
  }
  constexpr int kConditional = 13;  // CU_GRAPH_NODE_TYPE_CONDITIONAL, the last.
  return params->type >= 0 && params->type <= kConditional ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

CUresult FindNode(CUgraphNode handle, CUgraphNodeType type, std::shared_ptr<GraphNode>* node) {
  *node = Runtime::Get().graph_nodes.Find(handle);
  return *node == nullptr || (*node)->type != type ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace slipway::cpu::client
