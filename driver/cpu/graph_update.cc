#include "driver/cpu/graph_update.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "driver/cpu/graph_plan.h"
#include "driver/cpu/launch.h"
#include "driver/cpu/runtime.h"

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

CUresult NodeFunction(const CUDA_KERNEL_NODE_PARAMS& params, std::shared_ptr<Function>* function) {
  Runtime& runtime = Runtime::Get();
  if (params.func != nullptr) {
    *function = runtime.functions.Find(params.func);
    return *function == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
  }
  std::shared_ptr<Context> context = runtime.contexts.Find(params.ctx);
  if (params.ctx == nullptr) SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return ResolveFunction(static_cast<CUfunction>(params.kern), context, function);
}

CUresult KernelWork(std::shared_ptr<Function> function, const CUDA_KERNEL_NODE_PARAMS& params, bool cooperative,
                    int priority, NodeWork* work) {
  work->context = function->module->context;
  SLIPWAY_RETURN_IF_FAILED(Sticky(*work->context));
  LaunchRequest request{.grid = {params.gridDimX, params.gridDimY, params.gridDimZ},
                        .block = {params.blockDimX, params.blockDimY, params.blockDimZ},
                        .shared_bytes = params.sharedMemBytes,
                        .params = params.kernelParams,
                        .extra = params.extra,
                        .cooperative = cooperative,
                        .priority = priority};
  LaunchArguments arguments;
  SLIPWAY_RETURN_IF_FAILED(CheckLaunch(*function, request, &arguments));
  work->type = CU_GRAPH_NODE_TYPE_KERNEL;
  work->op = std::make_shared<Op>();
  work->op->in_graph = true;
  FillLaunch(std::move(function), request, arguments, work->op.get());
  return CUDA_SUCCESS;
}

ExecNode* FindIn(GraphExec& exec, const GraphNode& node) {
  const auto is_it = [&](const ExecNode& one) { return one.made_from == node.handle; };
  // Mostly, a node is where it was added.
  if (node.index < exec.nodes.size() && is_it(exec.nodes[node.index])) return &exec.nodes[node.index];
  const auto found = std::find_if(exec.nodes.begin(), exec.nodes.end(), is_it);
  return found == exec.nodes.end() ? nullptr : &*found;
}

CUresult SetWork(GraphExec& exec, ExecNode& node, NodeWork work) {
  if (CompareWork(node, work) != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
  const bool shared = exec.launched && !Engine::Get().GraphIsIdle(exec);
  ReplaceInPlan(exec, static_cast<uint32_t>(&node - exec.nodes.data()), std::move(work.op), shared);
  return CUDA_SUCCESS;
}

}  // namespace slipway::cpu
