#include "driver/cpu/graph_update.h"

#include <algorithm>

namespace slipway::cpu {
namespace {

CUgraphExecUpdateResult Compare(const ExecNode& old, const GraphNode& node) {
  if (node.type != old.type) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
  const Op& before = *old.op;
  const Op& after = *node.op;
  switch (node.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      if (before.function->module->context != after.function->module->context) {
        return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
      }
      return before.cooperative == after.cooperative ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                                     : CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return node.places == old.places ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_EMPTY:
      break;
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

}  // namespace

ExecNode ToExecNode(const GraphNode& node) {
  return {.type = node.type,
          .context = node.context,
          .op = CopyForGraph(*node.op),
          .places = node.places,
          .dependencies = node.dependencies,
          .unit = 0,
          .place = 0};
}

CUgraphExecUpdateResultInfo CompareForUpdate(const GraphExec& exec, const Graph& graph) {
  CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED};
  // "The count of nodes directly in hGraphExec and hGraph differ, in which case ... errorNode ... is NULL."
  if (exec.nodes.size() != graph.nodes.size()) return info;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const ExecNode& old = exec.nodes[i];
    const GraphNode& node = *graph.nodes[i];
    if (node.dependencies != old.dependencies) {
      info.errorNode = node.handle;
      for (uint32_t from : node.dependencies) {
        if (std::find(old.dependencies.begin(), old.dependencies.end(), from) != old.dependencies.end()) continue;
        info.errorFromNode = graph.nodes[from]->handle;
        break;
      }
      return info;
    }
    info.result = Compare(old, node);
    if (info.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
      info.errorNode = node.handle;
      return info;
    }
    info.result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  }
  info.result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  return info;
}

}  // namespace slipway::cpu
