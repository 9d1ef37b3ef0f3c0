// Graphs: looking at them, making them executable, launching and changing them.
#include <algorithm>
#include <mutex>
#include <utility>

#include "driver/cpu/api.h"
#include "driver/cpu/graph_plan.h"
#include "driver/cpu/graph_update.h"
#include "driver/cpu/launch.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu {
namespace {

using GraphLock = std::lock_guard<std::mutex>;

std::mutex& GraphMutex() { return Runtime::Get().captures.mutex(); }

std::shared_ptr<GraphNode> FindKernelNode(CUgraphNode handle) {
  std::shared_ptr<GraphNode> node = Runtime::Get().graph_nodes.Find(handle);
  return node != nullptr && node->type == CU_GRAPH_NODE_TYPE_KERNEL ? node : nullptr;
}

// Whether every context and module that a graph uses is there: CONTEXT_IS_DESTROYED, the sticky error of one of its
// contexts, or INVALID_HANDLE for a kernel whose module was unloaded.
CUresult CheckAlive(const GraphPlan& plan) {
  for (const std::shared_ptr<Stream>& lane : plan.lanes) {
    if (Engine::Get().IsDestroyed(*lane->context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    SLIPWAY_RETURN_IF_FAILED(Sticky(*lane->context));
  }
  for (const std::shared_ptr<Module>& module : plan.modules) {
    if (module->unloaded.load(std::memory_order_acquire)) return CUDA_ERROR_INVALID_HANDLE;
  }
  return CUDA_SUCCESS;
}

// Nodes that name no context run in that of another node; where none does, in the current one.
CUresult GiveContexts(std::vector<ExecNode>& nodes) {
  const auto has = [](const ExecNode& node) { return node.context != nullptr; };
  if (std::all_of(nodes.begin(), nodes.end(), has)) return CUDA_SUCCESS;
  const auto found = std::find_if(nodes.begin(), nodes.end(), has);
  std::shared_ptr<Context> context = found == nodes.end() ? nullptr : found->context;
  if (context == nullptr) SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  for (ExecNode& node : nodes) {
    if (node.context == nullptr) node.context = context;
  }
  return CUDA_SUCCESS;
}

// A launch in a capture is a node with a graph of its own.
CUresult CaptureLaunch(const GraphExec& exec, const std::shared_ptr<Stream>& stream) {
  NodeWork work = {.type = CU_GRAPH_NODE_TYPE_GRAPH,
                   .context = nullptr,
                   .op = std::make_shared<Op>(),
                   .places = {},
                   .child = nullptr};
  {
    const GraphLock lock(GraphMutex());
    work.child = GraphOf(exec);
    work.child->embedded = true;
  }
  const CUgraph child = work.child->handle;
  const CUresult result = Runtime::Get().captures.AddNode(stream, std::move(work));
  if (result == CUDA_SUCCESS) return result;
  const GraphLock lock(GraphMutex());
  DropGraph(child);
  return result;
}

}  // namespace

namespace api {

CUresult GraphDestroy(CUgraph handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  GraphLock lock(GraphMutex());
  std::shared_ptr<Graph> graph = Runtime::Get().graphs.Find(handle);
  // "All operations other than destroy and node removal are permitted on the graph while the capture sequence is in
  // progress" (cuStreamGetCaptureInfo).
  if (graph == nullptr || graph->capturing || graph->embedded) return CUDA_ERROR_INVALID_VALUE;
  return DropGraph(handle);
}

CUresult GraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  GraphLock lock(GraphMutex());
  std::shared_ptr<Graph> graph = Runtime::Get().graphs.Find(handle);
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (nodes == nullptr) {
    *count = graph->nodes.size();
    return CUDA_SUCCESS;
  }
  // "If numNodes is higher than the actual number of nodes, the remaining entries in nodes will be set to NULL, and the
  // number of nodes actually obtained will be returned in numNodes."
  size_t filled = std::min(*count, graph->nodes.size());
  for (size_t i = 0; i < *count; ++i) nodes[i] = i < filled ? graph->nodes[i]->handle : nullptr;
  *count = filled;
  return CUDA_SUCCESS;
}

CUresult GraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<GraphNode> node = Runtime::Get().graph_nodes.Find(handle);
  if (node == nullptr || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = node->type;
  return CUDA_SUCCESS;
}

CUresult GraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS* params) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> node = FindKernelNode(handle);
  if (node == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Op& op = *node->op;
  const CpuKernel& kernel = *op.function->kernel;
  // "The kernelParams ... array returned in nodeParams, as well as the argument values it points to, are owned by the
  // node."
  node->params.clear();
  for (const CpuParameter& parameter : kernel.params) node->params.push_back(op.buffer.data() + parameter.offset);
  *params = {};
  {
    std::lock_guard<std::mutex> module_lock(op.function->module->mutex);
    const auto& functions = op.function->module->functions;
    const auto found = functions.find(kernel.name);
    if (found != functions.end()) params->func = found->second;
  }
  params->gridDimX = op.launch.grid[0];
  params->gridDimY = op.launch.grid[1];
  params->gridDimZ = op.launch.grid[2];
  params->blockDimX = op.launch.block[0];
  params->blockDimY = op.launch.block[1];
  params->blockDimZ = op.launch.block[2];
  params->sharedMemBytes = op.launch.dynamic_shared_bytes;
  params->kernelParams = node->params.empty() ? nullptr : node->params.data();
  return CUDA_SUCCESS;
}

CUresult GraphInstantiateWithFlags(CUgraphExec* exec, CUgraph handle, unsigned long long flags) {  // NOLINT
  SLIPWAY_RETURN_IF_FAILED(Ready());
  GraphLock lock(GraphMutex());
  std::shared_ptr<Graph> graph = Runtime::Get().graphs.Find(handle);
  // Of CUgraphInstantiate_flags. Nodes always use their own priority, and there are none that allocate. No kernel here
  // launches graphs.
  constexpr unsigned kAutoFreeOnLaunch = 1, kDeviceLaunch = 4, kUseNodePriority = 8;
  if (exec == nullptr || graph == nullptr || graph->capturing || graph->embedded ||
      (flags & ~(kAutoFreeOnLaunch | kDeviceLaunch | kUseNodePriority)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if ((flags & kDeviceLaunch) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  auto made = std::make_shared<GraphExec>();
  made->flags = flags;
  SLIPWAY_RETURN_IF_FAILED(ToExecNodes(*graph, &made->nodes));
  SLIPWAY_RETURN_IF_FAILED(GiveContexts(made->nodes));
  MakePlan(*made, graph->user_objects);
  SLIPWAY_RETURN_IF_FAILED(CheckAlive(*made->plan));
  *exec = Runtime::Get().graph_execs.Add(std::move(made));
  return CUDA_SUCCESS;
}

CUresult GraphExecDestroy(CUgraphExec handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  // Launches that are queued or running hold what they run.
  return Runtime::Get().graph_execs.Remove(handle) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult GraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  Runtime& runtime = Runtime::Get();
  Engine& engine = Engine::Get();
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(stream_handle, &stream));
  std::shared_ptr<GraphExec> exec = runtime.graph_execs.Find(handle);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (Captures::IsCapturing(*stream)) return CaptureLaunch(*exec, stream);
  SLIPWAY_RETURN_IF_FAILED(runtime.captures.BeforeUncapturable(*stream));
  engine.WaitForRoom(*stream);  // Before the lock is taken, which other threads need.
  Op* op = engine.NewOp(OpKind::kGraph);
  GraphLock lock(GraphMutex());
  CUresult alive = CheckAlive(*exec->plan);
  if (alive != CUDA_SUCCESS) {
    engine.Discard(op);
    return alive;
  }
  op->plan = exec->plan;
  exec->launched = true;
  for (const std::shared_ptr<Event>& event : exec->plan->records) Captures::ForgetRecord(*event);
  return engine.EnqueueGraph(*stream, op, *exec);
}

CUresult GraphExecKernelNodeSetParams(CUgraphExec exec_handle, CUgraphNode node_handle,
                                      const CUDA_KERNEL_NODE_PARAMS* params) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Function> function;
  const CUresult found = NodeFunction(*params, &function);
  GraphLock lock(GraphMutex());
  std::shared_ptr<GraphExec> exec = Runtime::Get().graph_execs.Find(exec_handle);
  std::shared_ptr<GraphNode> node = FindKernelNode(node_handle);
  ExecNode* const target = exec == nullptr || node == nullptr ? nullptr : FindIn(*exec, *node);
  if (target == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SLIPWAY_RETURN_IF_FAILED(found);
  // "The owning context of the function cannot change."
  if (function->module->context != target->context) return CUDA_ERROR_INVALID_VALUE;
  NodeWork work;
  SLIPWAY_RETURN_IF_FAILED(
      KernelWork(std::move(function), *params, target->op->cooperative, target->op->priority, &work));
  return SetWork(*exec, *target, std::move(work));
}

CUresult GraphExecUpdate(CUgraphExec exec_handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo* info) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  Runtime& runtime = Runtime::Get();
  GraphLock lock(GraphMutex());
  std::shared_ptr<GraphExec> exec = runtime.graph_execs.Find(exec_handle);
  std::shared_ptr<Graph> graph = runtime.graphs.Find(graph_handle);
  if (info == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR, .errorNode = nullptr, .errorFromNode = nullptr};
  if (exec == nullptr || graph == nullptr || graph->capturing || graph->moved) return CUDA_ERROR_INVALID_VALUE;
  std::vector<ExecNode> nodes;
  SLIPWAY_RETURN_IF_FAILED(ToExecNodes(*graph, &nodes));
  *info = CompareForUpdate(*exec, nodes);
  if (info->result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  for (size_t i = 0; i < nodes.size(); ++i) {
    ExecNode& node = exec->nodes[i];
    if (nodes[i].context != nullptr) node.context = std::move(nodes[i].context);
    node.op = std::move(nodes[i].op);
    node.places = nodes[i].places;
  }
  MakePlan(*exec, graph->user_objects);
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace slipway::cpu
