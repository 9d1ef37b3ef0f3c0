#include "driver/cpu/graph_update.h"

#include <algorithm>

namespace slipway::cpu {

CUgraphExecUpdateResult CompareWork(const NodeWork& before, const NodeWork& after) {
  if (before.type != after.type) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
  switch (before.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      if (before.op->function->module->context != after.op->function->module->context) {
        return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
      }
      return before.op->cooperative == after.op->cooperative ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                                             : CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return before.places == after.places ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                           : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    default:
      return CU_GRAPH_EXEC_UPDATE_SUCCESS;
  }
}

CUgraphExecUpdateResultInfo CompareForUpdate(const GraphExec& exec, const std::vector<ExecNode>& nodes) {
  CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED};
  // "The count of nodes directly in hGraphExec and hGraph differ, in which case ... errorNode ... is NULL."
  if (exec.nodes.size() != nodes.size()) return info;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const ExecNode& old = exec.nodes[i];
    const ExecNode& node = nodes[i];
    if (node.dependencies != old.dependencies) {
      info.errorNode = node.made_from;
      for (uint32_t from : node.dependencies) {
        if (std::find(old.dependencies.begin(), old.dependencies.end(), from) != old.dependencies.end()) continue;
        info.errorFromNode = nodes[from].made_from;
        break;
      }
      return info;
    }
    info.result = CompareWork(old, node);
    if (info.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
      info.errorNode = node.made_from;
      return info;
    }
    info.result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  }
  info.result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  return info;
}

}  // namespace slipway::cpu
