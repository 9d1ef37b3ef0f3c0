// Graphs of the recording driver.
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "driver/recording.h"

namespace slipway::recording {
namespace {

using Lock = std::lock_guard<std::mutex>;

CUresult GraphDestroy(CUgraph graph) {
  Record& record = TheRecord();
  Lock lock(record.mutex);
  const Graph* found = Find(record.graphs, graph);
  if (found == nullptr || found->capturing) return CUDA_ERROR_INVALID_VALUE;
  DropGraph(graph);
  return CUDA_SUCCESS;
}

CUresult GraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  Record& record = TheRecord();
  Lock lock(record.mutex);
  const Graph* found = Find(record.graphs, graph);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (nodes != nullptr) {
    const size_t filled = std::min(*count, found->nodes.size());
    std::fill(std::copy_n(found->nodes.begin(), filled, nodes), nodes + *count, nullptr);
    *count = filled;
  } else {
    *count = found->nodes.size();
  }
  return CUDA_SUCCESS;
}

CUresult GraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  Record& record = TheRecord();
  Lock lock(record.mutex);
  const Node* found = Find(record.nodes, node);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = found->type;
  return CUDA_SUCCESS;
}

CUresult GraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  Record& record = TheRecord();
  Lock lock(record.mutex);
  Node* found = Find(record.nodes, node);
  if (found == nullptr || found->type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_INVALID_VALUE;
  RecordedLaunch& launch = found->launch;
  *params = {};
  params->func = launch.function;
  params->gridDimX = launch.grid[0];
  params->gridDimY = launch.grid[1];
  params->gridDimZ = launch.grid[2];
  params->blockDimX = launch.block[0];
  params->blockDimY = launch.block[1];
  params->blockDimZ = launch.block[2];
  params->sharedMemBytes = launch.shared_bytes;
  params->kernelParams = launch.params;
  if (launch.has_buffer) {
    found->buffer_bytes = launch.buffer.size();
    void* extra[] = {kLaunchParamBufferPointer, launch.buffer.data(), kLaunchParamBufferSize, &found->buffer_bytes,
                     kLaunchParamEnd};
    std::copy(std::begin(extra), std::end(extra), found->extra);
    params->extra = found->extra;
  }
  return CUDA_SUCCESS;
}

Exec MakeExec(const Graph& graph) {
  Exec exec;
  for (CUgraphNode node : graph.nodes) {
    exec.names.push_back(node);
    exec.nodes.push_back(TheRecord().nodes[node]);
  }
  return exec;
}

CUresult GraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {  // NOLINT
  Record& record = TheRecord();
  Lock lock(record.mutex);
  const Graph* found = Find(record.graphs, graph);
  if (found == nullptr || found->capturing) return CUDA_ERROR_INVALID_VALUE;
  const CUresult made = NullDriver().GraphInstantiateWithFlags(exec, graph, flags);
  if (made == CUDA_SUCCESS) record.execs[*exec] = MakeExec(*found);
  return made;
}

CUresult GraphExecDestroy(CUgraphExec exec) {
  Lock lock(TheRecord().mutex);
  return TheRecord().execs.erase(exec) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult GraphLaunch(CUgraphExec exec, CUstream stream) {
  CUcontext context = nullptr;
  NullDriver().CtxGetCurrent(&context);
  std::vector<std::pair<CUhostFn, void*>> host_functions;
  {
    Record& record = TheRecord();
    Lock lock(record.mutex);
    if (const Captured* at = Find(record.capturing, stream)) {
      return Break(*at->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    const Exec* found = Find(record.execs, exec);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (const Node& node : found->nodes) {
      if (node.type == CU_GRAPH_NODE_TYPE_HOST) host_functions.emplace_back(node.host_function, node.user_data);
      if (node.type != CU_GRAPH_NODE_TYPE_KERNEL) continue;
      RecordedLaunch launch = node.launch;
      launch.stream = stream;
      launch.context = context;
      launch.graph = exec;
      record.launches.push_back(std::move(launch));
    }
  }
  // Without the lock: what they do is not ours to know.
  for (const auto& [function, user_data] : host_functions) function(user_data);
  return CUDA_SUCCESS;
}

CUresult GraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  Record& record = TheRecord();
  Lock lock(record.mutex);
  Exec* found = Find(record.execs, exec);
  // A node whose graph is gone names nothing, as on a driver.
  if (found == nullptr || record.nodes.count(node) == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto name = std::find(found->names.begin(), found->names.end(), node);
  if (name == found->names.end()) return CUDA_ERROR_INVALID_VALUE;
  Node& target = found->nodes[static_cast<size_t>(name - found->names.begin())];
  if (target.type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_INVALID_VALUE;
  RecordedLaunch& launch = target.launch;
  launch.function = params->func;
  launch.grid = {params->gridDimX, params->gridDimY, params->gridDimZ};
  launch.block = {params->blockDimX, params->blockDimY, params->blockDimZ};
  launch.shared_bytes = params->sharedMemBytes;
  launch.params = params->kernelParams;
  launch.has_buffer = false;
  launch.buffer.clear();
  if (params->extra != nullptr) CopyBuffer(params->extra, &launch);
  return CUDA_SUCCESS;
}

// The nodes that a node waits for, as places in the list of all.
std::vector<size_t> Places(const std::vector<CUgraphNode>& all, const std::vector<CUgraphNode>& some) {
  std::vector<size_t> places;
  for (CUgraphNode node : some) {
    places.push_back(static_cast<size_t>(std::find(all.begin(), all.end(), node) - all.begin()));
  }
  std::sort(places.begin(), places.end());
  return places;
}

CUresult GraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  Record& record = TheRecord();
  Lock lock(record.mutex);
  Exec* found = Find(record.execs, exec);
  const Graph* from = Find(record.graphs, graph);
  *info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR, .errorNode = nullptr, .errorFromNode = nullptr};
  if (found == nullptr || from == nullptr || from->capturing) return CUDA_ERROR_INVALID_VALUE;
  Exec update = MakeExec(*from);
  info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  if (update.nodes.size() != found->nodes.size()) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  for (size_t i = 0; i < update.nodes.size(); ++i) {
    info->errorNode = update.names[i];
    if (Places(update.names, update.nodes[i].dependencies) != Places(found->names, found->nodes[i].dependencies)) {
      return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    if (update.nodes[i].type != found->nodes[i].type) {
      info->result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
      return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
  }
  *info = {.result = CU_GRAPH_EXEC_UPDATE_SUCCESS, .errorNode = nullptr, .errorFromNode = nullptr};
  for (size_t i = 0; i < update.nodes.size(); ++i) {
    update.nodes[i].dependencies = std::move(found->nodes[i].dependencies);
    found->nodes[i] = std::move(update.nodes[i]);
  }
  return CUDA_SUCCESS;
}

}  // namespace

void DropGraph(CUgraph graph) {
  Record& record = TheRecord();
  for (CUgraphNode node : record.graphs[graph].nodes) record.nodes.erase(node);
  record.graphs.erase(graph);
}

void InstallGraphs(DriverApi* api) {
  api->GraphDestroy = &GraphDestroy;
  api->GraphGetNodes = &GraphGetNodes;
  api->GraphNodeGetType = &GraphNodeGetType;
  api->GraphKernelNodeGetParams = &GraphKernelNodeGetParams;
  api->GraphInstantiateWithFlags = &GraphInstantiateWithFlags;
  api->GraphExecDestroy = &GraphExecDestroy;
  api->GraphLaunch = &GraphLaunch;
  api->GraphExecKernelNodeSetParams = &GraphExecKernelNodeSetParams;
  api->GraphExecUpdate = &GraphExecUpdate;
}

}  // namespace slipway::recording
