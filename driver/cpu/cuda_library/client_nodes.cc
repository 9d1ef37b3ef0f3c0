// Nodes of graphs: adding them, changing what they do, and asking about it.
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "driver/cpu/cuda_library/client.h"
#include "driver/cpu/cuda_library/node_work.h"
#include "driver/cpu/launch.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu::client {
namespace {

using GraphLock = std::lock_guard<std::mutex>;

std::mutex& GraphMutex() { return Runtime::Get().captures.mutex(); }

CUDA_KERNEL_NODE_PARAMS Longer(const CUDA_KERNEL_NODE_PARAMS_v1& params) {
  CUDA_KERNEL_NODE_PARAMS longer = {};
  static_assert(sizeof(params) == offsetof(CUDA_KERNEL_NODE_PARAMS, kern));
  std::memcpy(&longer, &params, sizeof(params));
  return longer;
}

// Whether a graph is `other` or has it in it, however deep.
bool Has(const Graph& graph, const Graph& other) {
  return &graph == &other ||
         std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const std::shared_ptr<GraphNode>& node) {
           return node->child != nullptr && Has(*node->child, other);
         });
}

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
    // What was moved into a node "cannot be added as a child graph of a separate parent graph"
    // (CUgraphChildGraphNodeOwnership).
    if (child == nullptr || child == graph || child->capturing || child->moved) return CUDA_ERROR_INVALID_VALUE;
    if (moved && (child->embedded || Has(*child, *graph))) return CUDA_ERROR_INVALID_VALUE;
    work.child = moved ? std::move(child) : CloneGraph(*child);
    work.child->embedded = true;
    work.child->moved = moved;
  }
  *node = cpu::AddNode(*graph, std::move(work), std::move(indices))->handle;
  return CUDA_SUCCESS;
}

// What a node of a graph does. Kernels keep their attributes.
CUresult Set(CUgraphNode handle, NodeWork work) {
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> node;
  SLIPWAY_RETURN_IF_FAILED(FindNode(handle, work.type, &node));
  if (work.type == CU_GRAPH_NODE_TYPE_KERNEL) {
    SLIPWAY_RETURN_IF_FAILED(SetCooperative(node->op->cooperative, work.op.get()));
    work.op->priority = node->op->priority;
  }
  work.child = node->child;
  static_cast<NodeWork&>(*node) = std::move(work);
  return CUDA_SUCCESS;
}

}  // namespace

// --- Adding.

CUresult GraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_KERNEL_NODE_PARAMS* params) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(KernelNodeWork(params, &work));
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
  SLIPWAY_RETURN_IF_FAILED(CopyNodeWork(params, context, &work));
  return Add(node, graph, dependencies, count, std::move(work));
}

CUresult GraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(FillNodeWork(params, context, &work));
  return Add(node, graph, dependencies, count, std::move(work));
}

CUresult GraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                          const CUDA_HOST_NODE_PARAMS* params) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(HostNodeWork(params, &work));
  return Add(node, graph, dependencies, count, std::move(work));
}

CUresult GraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                CUgraph child) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(EmptyNodeWork(CU_GRAPH_NODE_TYPE_GRAPH, &work));
  return Add(node, graph, dependencies, count, std::move(work), child);
}

CUresult GraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(EmptyNodeWork(CU_GRAPH_NODE_TYPE_EMPTY, &work));
  return Add(node, graph, dependencies, count, std::move(work));
}

CUresult GraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                 CUevent event) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(EventNodeWork(event, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &work));
  return Add(node, graph, dependencies, count, std::move(work));
}

CUresult GraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                               CUevent event) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(EventNodeWork(event, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &work));
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
  SLIPWAY_RETURN_IF_FAILED(KernelNodeWork(params, &work));
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
  SLIPWAY_RETURN_IF_FAILED(CopyNodeWork(params, ContextOf(node), &work));
  return Set(node, std::move(work));
}

CUresult GraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(FillNodeWork(params, ContextOf(node), &work));
  return Set(node, std::move(work));
}

CUresult GraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(HostNodeWork(params, &work));
  return Set(node, std::move(work));
}

CUresult GraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(EventNodeWork(event, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &work));
  return Set(node, std::move(work));
}

CUresult GraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(EventNodeWork(event, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &work));
  return Set(node, std::move(work));
}

namespace {

// A clone of another graph in the place of the one that a node holds.
CUresult SetChild(CUgraphNode handle, CUgraph child_handle) {
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> node;
  SLIPWAY_RETURN_IF_FAILED(FindNode(handle, CU_GRAPH_NODE_TYPE_GRAPH, &node));
  const std::shared_ptr<Graph> child = Runtime::Get().graphs.Find(child_handle);
  if (child == nullptr || child->capturing) return CUDA_ERROR_INVALID_VALUE;
  if (child == node->child) return CUDA_SUCCESS;
  if (child->moved) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Graph> clone = CloneGraph(*child);
  clone->embedded = true;
  return DropGraph(std::exchange(node->child, std::move(clone))->handle);
}

}  // namespace

CUresult GraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(WorkOfParams(params, &work));
  return work.type == CU_GRAPH_NODE_TYPE_GRAPH ? SetChild(node, params->graph.graph) : Set(node, std::move(work));
}

// --- Asking about them.

namespace {

// Has `look` see a node of a type, with the lock held, and fill in `*answer`.
template <typename Answer, typename Look>
CUresult Ask(CUgraphNode handle, CUgraphNodeType type, Answer* answer, const Look& look) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> node;
  SLIPWAY_RETURN_IF_FAILED(FindNode(handle, type, &node));
  if (answer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return look(*node);
}

}  // namespace

CUresult GraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D* params) {
  return Ask(handle, CU_GRAPH_NODE_TYPE_MEMCPY, params, [&](GraphNode& node) {
    *params = {};
    const Op& op = *node.op;
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
  });
}

CUresult GraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS* params) {
  return Ask(handle, CU_GRAPH_NODE_TYPE_MEMSET, params, [&](GraphNode& node) {
    const Op& op = *node.op;
    *params = {.dst = reinterpret_cast<CUdeviceptr>(op.to),
               .pitch = op.box.to_pitch,
               .value = op.value,
               .elementSize = op.width,
               .width = op.count,
               .height = op.kind == OpKind::kNothing ? 0 : op.box.rows};
    return CUDA_SUCCESS;
  });
}

CUresult GraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS* params) {
  return Ask(handle, CU_GRAPH_NODE_TYPE_HOST, params, [&](GraphNode& node) {
    *params = {.fn = node.op->host_function, .userData = node.op->user_data};
    return CUDA_SUCCESS;
  });
}

CUresult GraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph* child) {
  return Ask(handle, CU_GRAPH_NODE_TYPE_GRAPH, child, [&](GraphNode& node) {
    *child = node.child->handle;
    return CUDA_SUCCESS;
  });
}

namespace {

CUresult GetEvent(CUgraphNode handle, CUgraphNodeType type, CUevent* event) {
  return Ask(handle, type, event, [&](GraphNode& node) {
    *event = node.op->event->handle;
    return CUDA_SUCCESS;
  });
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
  return Ask(handle, CU_GRAPH_NODE_TYPE_KERNEL, value, [&](GraphNode& node) {
    switch (attribute) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        static_cast<CUlaunchAttributeValue*>(value)->cooperative = node.op->cooperative ? 1 : 0;
        return CUDA_SUCCESS;
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        static_cast<CUlaunchAttributeValue*>(value)->priority = node.op->priority;
        return CUDA_SUCCESS;
      default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
  });
}

CUresult GraphKernelNodeSetAttribute(CUgraphNode handle, CUlaunchAttributeID attribute, const void* value) {
  return Ask(handle, CU_GRAPH_NODE_TYPE_KERNEL, value, [&](GraphNode& node) {
    const auto& given = *static_cast<const CUlaunchAttributeValue*>(value);
    switch (attribute) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        return SetCooperative(given.cooperative != 0, node.op.get());
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        node.op->has_priority = true;
        node.op->priority = std::clamp(given.priority, kGreatestPriority, kLeastPriority);
        return CUDA_SUCCESS;
      default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
  });
}

CUresult GraphKernelNodeCopyAttributes(CUgraphNode to_handle, CUgraphNode from_handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> to, from;
  SLIPWAY_RETURN_IF_FAILED(FindNode(to_handle, CU_GRAPH_NODE_TYPE_KERNEL, &to));
  SLIPWAY_RETURN_IF_FAILED(FindNode(from_handle, CU_GRAPH_NODE_TYPE_KERNEL, &from));
  SLIPWAY_RETURN_IF_FAILED(SetCooperative(from->op->cooperative, to->op.get()));
  to->op->priority = from->op->priority;
  return CUDA_SUCCESS;
}

}  // namespace slipway::cpu::client
