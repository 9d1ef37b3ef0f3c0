// Nodes of graphs: adding them, and what they do. Each call makes the work that a node is to do and gives it to a new
// node, to one of a graph, or to one of an executable graph.
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "driver/cpu/copy.h"
#include "driver/cpu/cuda_library/client.h"
#include "driver/cpu/graph_plan.h"
#include "driver/cpu/graph_update.h"
#include "driver/cpu/launch.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu::client {
namespace {

using GraphLock = std::lock_guard<std::mutex>;

std::mutex& GraphMutex() { return Runtime::Get().captures.mutex(); }

// --- Work.

CUresult FindContext(CUcontext handle, std::shared_ptr<Context>* context) {
  if (handle == nullptr) return CurrentContext(context);
  *context = Runtime::Get().contexts.Find(handle);
  return *context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUDA_KERNEL_NODE_PARAMS Longer(const CUDA_KERNEL_NODE_PARAMS_v1& params) {
  CUDA_KERNEL_NODE_PARAMS longer = {};
  static_assert(sizeof(params) == offsetof(CUDA_KERNEL_NODE_PARAMS, kern));
  std::memcpy(&longer, &params, sizeof(params));
  return longer;
}

CUresult Kernel(const CUDA_KERNEL_NODE_PARAMS* params, NodeWork* work) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Function> function;
  SLIPWAY_RETURN_IF_FAILED(NodeFunction(*params, &function));
  return KernelWork(std::move(function), *params, /*cooperative=*/false, /*priority=*/0, work);
}

CUresult Copy(const CUDA_MEMCPY3D* params, CUcontext handle, NodeWork* work) {
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

CUresult Fill(const CUDA_MEMSET_NODE_PARAMS* params, CUcontext handle, NodeWork* work) {
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

CUresult Host(const CUDA_HOST_NODE_PARAMS* params, NodeWork* work) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (params == nullptr || params->fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Op op;
  op.kind = OpKind::kHostFunction;
  op.host_function = params->fn;
  op.user_data = params->userData;
  *work = WorkOf(op);
  return CUDA_SUCCESS;
}

CUresult OfEvent(CUevent handle, CUgraphNodeType type, NodeWork* work) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const std::shared_ptr<Event> event = Runtime::Get().events.Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *work = EventWork(event, type);
  return CUDA_SUCCESS;
}

CUresult Nothing(CUgraphNodeType type, NodeWork* work) {
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
      return Kernel(&params->kernel, work);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      if (params->memcpy.flags != 0 || params->memcpy.reserved != 0) return CUDA_ERROR_INVALID_VALUE;
      return Copy(&params->memcpy.copyParams, params->memcpy.copyCtx, work);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return Fill(&params->memset.params, params->memset.ctx, work);
    case CU_GRAPH_NODE_TYPE_HOST:
      return Host(&params->host, work);
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return Nothing(params->type, work);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return OfEvent(params->event.event, params->type, work);
  }
  constexpr int kConditional = 13;  // CU_GRAPH_NODE_TYPE_CONDITIONAL, the last.
  return params->type >= 0 && params->type <= kConditional ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

// --- What it is given to.

// A node behind others. One with a graph in it gets a clone of `child`, or, if it is `moved`, that itself.
CUresult Add(CUgraphNode* node, CUgraph handle, const CUgraphNode* dependencies, size_t count, NodeWork work,
             CUgraph child_handle = nullptr, bool moved = false) {
  if (node == nullptr || (dependencies == nullptr && count != 0)) return CUDA_ERROR_INVALID_VALUE;
  Runtime& runtime = Runtime::Get();
  const GraphLock lock(GraphMutex());
  const std::shared_ptr<Graph> graph = runtime.graphs.Find(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<uint32_t> indices;
  SLIPWAY_RETURN_IF_FAILED(IndicesOf(*graph, dependencies, count, &indices));
  if (work.type == CU_GRAPH_NODE_TYPE_GRAPH) {
    std::shared_ptr<Graph> child = runtime.graphs.Find(child_handle);
    if (child == nullptr || child == graph || child->capturing || (moved && child->embedded)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    work.child = moved ? std::move(child) : CloneGraph(*child);
    work.child->embedded = true;
  }
  *node = cpu::AddNode(*graph, std::move(work), std::move(indices))->handle;
  return CUDA_SUCCESS;
}

// A node of a type, with the lock held.
CUresult Find(CUgraphNode handle, CUgraphNodeType type, std::shared_ptr<GraphNode>* node) {
  *node = Runtime::Get().graph_nodes.Find(handle);
  return *node == nullptr || (*node)->type != type ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// What a node of a graph does. Kernels keep their attributes.
CUresult Set(CUgraphNode handle, NodeWork work) {
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> node;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, work.type, &node));
  if (work.type == CU_GRAPH_NODE_TYPE_KERNEL) {
    SLIPWAY_RETURN_IF_FAILED(SetCooperative(node->op->cooperative, work.op.get()));
    work.op->priority = node->op->priority;
  }
  work.child = node->child;
  static_cast<NodeWork&>(*node) = std::move(work);
  return CUDA_SUCCESS;
}

bool HasOneRow(const Op& op) { return op.box.rows == 1 && op.box.slices == 1 && op.kind != OpKind::kNothing; }

// A node of an executable graph, with the lock held.
CUresult Find(CUgraphExec exec_handle, CUgraphNode handle, std::shared_ptr<GraphExec>* exec, ExecNode** node) {
  *exec = Runtime::Get().graph_execs.Find(exec_handle);
  const std::shared_ptr<GraphNode> named = Runtime::Get().graph_nodes.Find(handle);
  if (*exec == nullptr || named == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *node = FindIn(**exec, *named);
  return *node == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// What a node of an executable graph does.
CUresult Set(CUgraphExec exec_handle, CUgraphNode handle, NodeWork work) {
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphExec> exec;
  ExecNode* node = nullptr;
  SLIPWAY_RETURN_IF_FAILED(Find(exec_handle, handle, &exec, &node));
  // "Both the instantiation-time memory operands and the memory operands in copyParams must be 1-dimensional.
  // Zero-length operations are not supported"; "for 2d memsets, all dimension changes are rejected".
  const Op& before = *node->op;
  const bool one_row = HasOneRow(before) && HasOneRow(*work.op);
  if (work.type == CU_GRAPH_NODE_TYPE_MEMCPY && !one_row) return CUDA_ERROR_INVALID_VALUE;
  if (work.type == CU_GRAPH_NODE_TYPE_MEMSET && !one_row &&
      (before.kind == OpKind::kNothing || before.kind != work.op->kind || before.box.rows != work.op->box.rows ||
       before.count != work.op->count || before.width != work.op->width ||
       before.box.to_pitch != work.op->box.to_pitch)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return SetWork(*exec, *node, std::move(work));
}

}  // namespace

// --- Adding.

CUresult GraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_KERNEL_NODE_PARAMS* params) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(Kernel(params, &work));
  return Add(node, graph, dependencies, count, std::move(work));
}

CUresult GraphAddKernelNode_v1(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                               const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS longer = Longer(*params);
  return GraphAddKernelNode(node, graph, dependencies, count, &longer);
}

CUresult GraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_MEMCPY3D* params, CUcontext context) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(Copy(params, context, &work));
  return Add(node, graph, dependencies, count, std::move(work));
}

CUresult GraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(Fill(params, context, &work));
  return Add(node, graph, dependencies, count, std::move(work));
}

CUresult GraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                          const CUDA_HOST_NODE_PARAMS* params) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(Host(params, &work));
  return Add(node, graph, dependencies, count, std::move(work));
}

CUresult GraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                CUgraph child) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(Nothing(CU_GRAPH_NODE_TYPE_GRAPH, &work));
  return Add(node, graph, dependencies, count, std::move(work), child);
}

CUresult GraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(Nothing(CU_GRAPH_NODE_TYPE_EMPTY, &work));
  return Add(node, graph, dependencies, count, std::move(work));
}

CUresult GraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                 CUevent event) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(OfEvent(event, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &work));
  return Add(node, graph, dependencies, count, std::move(work));
}

CUresult GraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                               CUevent event) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(OfEvent(event, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &work));
  return Add(node, graph, dependencies, count, std::move(work));
}

CUresult GraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                      CUgraphNodeParams* params) {
  constexpr int kMove = 1;  // CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE.
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(WorkOfParams(params, &work));
  if (work.type != CU_GRAPH_NODE_TYPE_GRAPH) return Add(node, graph, dependencies, count, std::move(work));
  return Add(node, graph, dependencies, count, std::move(work), params->graph.graph, params->graph.ownership == kMove);
}
CUresult GraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* data,
                         size_t count, CUgraphNodeParams* params) {
  SLIPWAY_RETURN_IF_FAILED(CheckEdgeData(data, count));
  return GraphAddNode(node, graph, dependencies, count, params);
}

// --- Changing them in their graph.

CUresult GraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(Kernel(params, &work));
  return Set(node, std::move(work));
}
CUresult GraphKernelNodeSetParams_v1(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS longer = Longer(*params);
  return GraphKernelNodeSetParams(node, &longer);
}

namespace {

// Of a node that keeps its context.
CUcontext ContextOf(CUgraphNode handle) {
  const GraphLock lock(GraphMutex());
  const std::shared_ptr<GraphNode> node = Runtime::Get().graph_nodes.Find(handle);
  return node == nullptr || node->context == nullptr ? nullptr : node->context->handle;
}

}  // namespace

CUresult GraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(Copy(params, ContextOf(node), &work));
  return Set(node, std::move(work));
}

CUresult GraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(Fill(params, ContextOf(node), &work));
  return Set(node, std::move(work));
}

CUresult GraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(Host(params, &work));
  return Set(node, std::move(work));
}

CUresult GraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(OfEvent(event, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &work));
  return Set(node, std::move(work));
}

CUresult GraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(OfEvent(event, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &work));
  return Set(node, std::move(work));
}

CUresult GraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(WorkOfParams(params, &work));
  return Set(node, std::move(work));
}

// --- Asking about them.

CUresult GraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D* params) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> node;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, CU_GRAPH_NODE_TYPE_MEMCPY, &node));
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *params = {};
  const Op& op = *node->op;
  if (op.kind == OpKind::kNothing) return CUDA_SUCCESS;
  const auto is_host = [](const std::byte* address) {
    const std::optional<Arena::Allocation> found = Runtime::Get().arena.Find(reinterpret_cast<uintptr_t>(address), 1);
    return !found || found->kind == Arena::Kind::kHost;
  };
  const Box& box = op.box;
  if (is_host(op.from)) {
    params->srcMemoryType = CU_MEMORYTYPE_HOST;
    params->srcHost = op.from;
  } else {
    params->srcMemoryType = CU_MEMORYTYPE_DEVICE;
    params->srcDevice = reinterpret_cast<CUdeviceptr>(op.from);
  }
  if (is_host(op.to)) {
    params->dstMemoryType = CU_MEMORYTYPE_HOST;
    params->dstHost = op.to;
  } else {
    params->dstMemoryType = CU_MEMORYTYPE_DEVICE;
    params->dstDevice = reinterpret_cast<CUdeviceptr>(op.to);
  }
  params->srcPitch = box.from_pitch;
  params->dstPitch = box.to_pitch;
  params->srcHeight = box.from_pitch == 0 ? 0 : box.from_slice / box.from_pitch;
  params->dstHeight = box.to_pitch == 0 ? 0 : box.to_slice / box.to_pitch;
  params->WidthInBytes = op.count;
  params->Height = box.rows;
  params->Depth = box.slices;
  return CUDA_SUCCESS;
}

CUresult GraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS* params) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> node;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, CU_GRAPH_NODE_TYPE_MEMSET, &node));
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Op& op = *node->op;
  *params = {.dst = reinterpret_cast<CUdeviceptr>(op.to),
             .pitch = op.box.to_pitch,
             .value = op.value,
             .elementSize = op.width,
             .width = op.count,
             .height = op.kind == OpKind::kNothing ? 0 : op.box.rows};
  return CUDA_SUCCESS;
}

CUresult GraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS* params) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> node;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, CU_GRAPH_NODE_TYPE_HOST, &node));
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *params = {.fn = node->op->host_function, .userData = node->op->user_data};
  return CUDA_SUCCESS;
}

CUresult GraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph* child) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> node;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, CU_GRAPH_NODE_TYPE_GRAPH, &node));
  if (child == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *child = node->child->handle;
  return CUDA_SUCCESS;
}

namespace {

CUresult GetEvent(CUgraphNode handle, CUgraphNodeType type, CUevent* event) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> node;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, type, &node));
  if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *event = node->op->event->handle;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult GraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  return GetEvent(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult GraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  return GetEvent(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

// --- Attributes of kernels.

CUresult GraphKernelNodeGetAttribute(CUgraphNode handle, CUlaunchAttributeID attribute, void* value) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> node;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, CU_GRAPH_NODE_TYPE_KERNEL, &node));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      static_cast<CUlaunchAttributeValue*>(value)->cooperative = node->op->cooperative ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      static_cast<CUlaunchAttributeValue*>(value)->priority = node->op->priority;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult GraphKernelNodeSetAttribute(CUgraphNode handle, CUlaunchAttributeID attribute, const void* value) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> node;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, CU_GRAPH_NODE_TYPE_KERNEL, &node));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto& given = *static_cast<const CUlaunchAttributeValue*>(value);
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      return SetCooperative(given.cooperative != 0, node->op.get());
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      node->op->has_priority = true;
      node->op->priority = std::clamp(given.priority, kGreatestPriority, kLeastPriority);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult GraphKernelNodeCopyAttributes(CUgraphNode to_handle, CUgraphNode from_handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> to, from;
  SLIPWAY_RETURN_IF_FAILED(Find(to_handle, CU_GRAPH_NODE_TYPE_KERNEL, &to));
  SLIPWAY_RETURN_IF_FAILED(Find(from_handle, CU_GRAPH_NODE_TYPE_KERNEL, &from));
  SLIPWAY_RETURN_IF_FAILED(SetCooperative(from->op->cooperative, to->op.get()));
  to->op->priority = from->op->priority;
  return CUDA_SUCCESS;
}

// --- Changing them in an executable graph.

CUresult GraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* params,
                                      CUcontext context) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(Copy(params, context, &work));
  return Set(exec, node, std::move(work));
}

CUresult GraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params,
                                      CUcontext context) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(Fill(params, context, &work));
  return Set(exec, node, std::move(work));
}

CUresult GraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(Host(params, &work));
  return Set(exec, node, std::move(work));
}

// "The topology of childGraph, as well as the node insertion order, must match that of the graph contained in hNode."
// Its nodes stand in front of the one that waits for them.
CUresult GraphExecChildGraphNodeSetParams(CUgraphExec exec_handle, CUgraphNode handle, CUgraph child_handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> named;
  SLIPWAY_RETURN_IF_FAILED(Find(handle, CU_GRAPH_NODE_TYPE_GRAPH, &named));
  std::shared_ptr<GraphExec> exec;
  ExecNode* node = nullptr;
  SLIPWAY_RETURN_IF_FAILED(Find(exec_handle, handle, &exec, &node));
  const std::shared_ptr<Graph> child = Runtime::Get().graphs.Find(child_handle);
  if (child == nullptr || child->capturing) return CUDA_ERROR_INVALID_VALUE;
  std::vector<ExecNode> before, after;
  SLIPWAY_RETURN_IF_FAILED(ToExecNodes(*named->child, &before));
  SLIPWAY_RETURN_IF_FAILED(ToExecNodes(*child, &after));
  const size_t end = static_cast<size_t>(node - exec->nodes.data());
  if (before.size() != after.size() || before.size() > end) return CUDA_ERROR_INVALID_VALUE;
  const size_t first = end - before.size();
  for (size_t i = 0; i < after.size(); ++i) {
    if (after[i].dependencies != before[i].dependencies ||
        CompareWork(exec->nodes[first + i], after[i]) != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  for (size_t i = 0; i < after.size(); ++i) {
    exec->nodes[first + i].op = std::move(after[i].op);
    exec->nodes[first + i].places = after[i].places;
  }
  MakePlan(*exec, exec->plan->user_objects);
  return CUDA_SUCCESS;
}

CUresult GraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(OfEvent(event, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &work));
  return Set(exec, node, std::move(work));
}

CUresult GraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(OfEvent(event, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &work));
  return Set(exec, node, std::move(work));
}

CUresult GraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (params->type == CU_GRAPH_NODE_TYPE_KERNEL) return GraphExecKernelNodeSetParams(exec, node, &params->kernel);
  if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) {
    return GraphExecChildGraphNodeSetParams(exec, node, params->graph.graph);
  }
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(WorkOfParams(params, &work));
  return Set(exec, node, std::move(work));
}

namespace {

// "Currently only kernel, memset and memcpy nodes are supported."
CUresult FindSwitch(CUgraphExec exec_handle, CUgraphNode handle, std::shared_ptr<GraphExec>* exec, ExecNode** node) {
  SLIPWAY_RETURN_IF_FAILED(Find(exec_handle, handle, exec, node));
  return (*node)->type <= CU_GRAPH_NODE_TYPE_MEMSET ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult GraphNodeSetEnabled(CUgraphExec exec_handle, CUgraphNode handle, unsigned enabled) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphExec> exec;
  ExecNode* node = nullptr;
  SLIPWAY_RETURN_IF_FAILED(FindSwitch(exec_handle, handle, &exec, &node));
  if (std::exchange(node->enabled, enabled != 0) != (enabled != 0)) MakePlan(*exec, exec->plan->user_objects);
  return CUDA_SUCCESS;
}

CUresult GraphNodeGetEnabled(CUgraphExec exec_handle, CUgraphNode handle, unsigned* enabled) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphExec> exec;
  ExecNode* node = nullptr;
  SLIPWAY_RETURN_IF_FAILED(FindSwitch(exec_handle, handle, &exec, &node));
  if (enabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *enabled = node->enabled ? 1 : 0;
  return CUDA_SUCCESS;
}

}  // namespace slipway::cpu::client
