// Nodes of executable graphs: changing what they do, and switching them off. They are named by the nodes that they were
// made from.
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "driver/cpu/cuda_library/client.h"
#include "driver/cpu/cuda_library/node_work.h"
#include "driver/cpu/graph_plan.h"
#include "driver/cpu/graph_update.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu::client {
namespace {

using GraphLock = std::lock_guard<std::mutex>;

std::mutex& GraphMutex() { return Runtime::Get().captures.mutex(); }

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

CUresult GraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* params,
                                      CUcontext context) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(CopyNodeWork(params, context, &work));
  return Set(exec, node, std::move(work));
}

CUresult GraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params,
                                      CUcontext context) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(FillNodeWork(params, context, &work));
  return Set(exec, node, std::move(work));
}

CUresult GraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(HostNodeWork(params, &work));
  return Set(exec, node, std::move(work));
}

// "The topology of childGraph, as well as the node insertion order, must match that of the graph contained in hNode."
// Its nodes stand in front of the one that waits for them.
CUresult GraphExecChildGraphNodeSetParams(CUgraphExec exec_handle, CUgraphNode handle, CUgraph child_handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> named;
  SLIPWAY_RETURN_IF_FAILED(FindNode(handle, CU_GRAPH_NODE_TYPE_GRAPH, &named));
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
  SLIPWAY_RETURN_IF_FAILED(EventNodeWork(event, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &work));
  return Set(exec, node, std::move(work));
}

CUresult GraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(EventNodeWork(event, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &work));
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
