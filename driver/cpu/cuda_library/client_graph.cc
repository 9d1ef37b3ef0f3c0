// Graphs: what is asked about their shape, and the forms that calls had in older versions of CUDA.
#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "driver/cpu/cuda_library/client.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu::client {
namespace {

using GraphLock = std::lock_guard<std::mutex>;

std::mutex& GraphMutex() { return Runtime::Get().captures.mutex(); }

// As such lists are answered: how many there are where `nodes` is null; else as many as there is room for, nulls after
// the last, and how many were written.
CUresult Answer(const std::vector<CUgraphNode>& all, CUgraphNode* nodes, size_t* count) {
  if (nodes == nullptr) {
    *count = all.size();
    return CUDA_SUCCESS;
  }
  const size_t filled = std::min(*count, all.size());
  std::fill(std::copy_n(all.begin(), filled, nodes), nodes + *count, nullptr);
  *count = filled;
  return CUDA_SUCCESS;
}

// The indices of a node that others wait for, and of one that waits, of one graph.
struct Edge {
  uint32_t from = 0;
  uint32_t to = 0;
};
CUresult EdgesOf(const Graph& graph, const CUgraphNode* from, const CUgraphNode* to, size_t count,
                 std::vector<Edge>* edges) {
  if (count != 0 && (from == nullptr || to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    const std::shared_ptr<GraphNode> begin = Runtime::Get().graph_nodes.Find(from[i]);
    const std::shared_ptr<GraphNode> end = Runtime::Get().graph_nodes.Find(to[i]);
    if (begin == nullptr || end == nullptr || begin == end || begin->graph_id != graph.id ||
        end->graph_id != graph.id) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    edges->push_back({begin->index, end->index});
  }
  return CUDA_SUCCESS;
}

bool Has(const GraphNode& node, uint32_t dependency) {
  return std::binary_search(node.dependencies.begin(), node.dependencies.end(), dependency);
}

}  // namespace

CUresult GraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log, size_t log_bytes) {
  if (error_node != nullptr) *error_node = nullptr;
  if (log != nullptr && log_bytes != 0) log[0] = '\0';
  return GraphInstantiateWithFlags(exec, graph, 0);
}

CUresult GraphInstantiateWithParams(CUgraphExec* exec, CUgraph handle, CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  constexpr uint64_t kUpload = 2;  // CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD: there is nothing to upload.
  constexpr int kSuccess = 0, kError = 1, kInvalidStructure = 2;  // CUgraphInstantiateResult.
  params->hErrNode_out = nullptr;
  const CUresult result = GraphInstantiateWithFlags(exec, handle, params->flags & ~kUpload);
  if (result != CUDA_SUCCESS) {
    const GraphLock lock(GraphMutex());
    if (const std::shared_ptr<Graph> graph = Runtime::Get().graphs.Find(handle)) {
      params->hErrNode_out = NodeOfCycle(*graph);
    }
  }
  params->result_out = static_cast<CUgraphInstantiateResult>(result == CUDA_SUCCESS            ? kSuccess
                                                             : params->hErrNode_out != nullptr ? kInvalidStructure
                                                                                               : kError);
  return result;
}

CUresult GraphGetRootNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  const std::shared_ptr<Graph> graph = Runtime::Get().graphs.Find(handle);
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> roots;
  for (const std::shared_ptr<GraphNode>& node : graph->nodes) {
    if (node->dependencies.empty()) roots.push_back(node->handle);
  }
  return Answer(roots, nodes, count);
}

CUresult GraphGetEdges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  const std::shared_ptr<Graph> graph = Runtime::Get().graphs.Find(handle);
  if (graph == nullptr || count == nullptr || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> begins, ends;
  for (const std::shared_ptr<GraphNode>& node : graph->nodes) {
    for (const uint32_t dependency : node->dependencies) {
      begins.push_back(graph->nodes[dependency]->handle);
      ends.push_back(node->handle);
    }
  }
  size_t room = *count;
  SLIPWAY_RETURN_IF_FAILED(Answer(begins, from, &room));
  return Answer(ends, to, count);
}

CUresult GraphNodeGetDependencies(CUgraphNode handle, CUgraphNode* nodes, size_t* count) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> node;
  std::shared_ptr<Graph> graph;
  SLIPWAY_RETURN_IF_FAILED(FindNode(handle, &node, &graph));
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> before;
  for (const uint32_t dependency : node->dependencies) before.push_back(graph->nodes[dependency]->handle);
  return Answer(before, nodes, count);
}

CUresult GraphNodeGetDependentNodes(CUgraphNode handle, CUgraphNode* nodes, size_t* count) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> node;
  std::shared_ptr<Graph> graph;
  SLIPWAY_RETURN_IF_FAILED(FindNode(handle, &node, &graph));
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> after;
  for (const std::shared_ptr<GraphNode>& other : graph->nodes) {
    const std::vector<uint32_t>& dependencies = other->dependencies;
    if (std::find(dependencies.begin(), dependencies.end(), node->index) != dependencies.end()) {
      after.push_back(other->handle);
    }
  }
  return Answer(after, nodes, count);
}

CUresult GraphCreate(CUgraph* graph, unsigned flags) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const GraphLock lock(GraphMutex());
  *graph = NewGraph()->handle;
  return CUDA_SUCCESS;
}

CUresult GraphClone(CUgraph* clone, CUgraph handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  const std::shared_ptr<Graph> graph = Runtime::Get().graphs.Find(handle);
  if (graph == nullptr || clone == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *clone = CloneGraph(*graph)->handle;
  return CUDA_SUCCESS;
}

CUresult GraphNodeFindInClone(CUgraphNode* found, CUgraphNode original, CUgraph handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  const std::shared_ptr<Graph> clone = Runtime::Get().graphs.Find(handle);
  if (clone == nullptr || found == nullptr || Runtime::Get().graph_nodes.Find(original) == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (const std::shared_ptr<GraphNode>& node : clone->nodes) {
    if (node->cloned_from != original) continue;
    *found = node->handle;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult GraphDestroyNode(CUgraphNode handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  std::shared_ptr<GraphNode> node;
  std::shared_ptr<Graph> graph;
  SLIPWAY_RETURN_IF_FAILED(FindNode(handle, &node, &graph));
  // "All operations other than destroy and node removal are permitted on the graph while the capture sequence is in
  // progress" (cuStreamGetCaptureInfo).
  if (graph->capturing) return CUDA_ERROR_INVALID_VALUE;
  RemoveNode(*graph, *node);
  return CUDA_SUCCESS;
}

CUresult GraphAddDependencies(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  const std::shared_ptr<Graph> graph = Runtime::Get().graphs.Find(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Edge> edges;
  SLIPWAY_RETURN_IF_FAILED(EdgesOf(*graph, from, to, count, &edges));
  // All of them, or none.
  const auto is_there = [&](const Edge& edge) { return Has(*graph->nodes[edge.to], edge.from); };
  if (std::any_of(edges.begin(), edges.end(), is_there)) return CUDA_ERROR_INVALID_VALUE;
  for (const Edge& edge : edges) {
    std::vector<uint32_t>& dependencies = graph->nodes[edge.to]->dependencies;
    if (is_there(edge)) continue;
    dependencies.insert(std::lower_bound(dependencies.begin(), dependencies.end(), edge.from), edge.from);
  }
  return CUDA_SUCCESS;
}

CUresult GraphRemoveDependencies(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  const std::shared_ptr<Graph> graph = Runtime::Get().graphs.Find(handle);
  if (graph == nullptr || graph->capturing) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Edge> edges;
  SLIPWAY_RETURN_IF_FAILED(EdgesOf(*graph, from, to, count, &edges));
  const auto is_there = [&](const Edge& edge) { return Has(*graph->nodes[edge.to], edge.from); };
  if (!std::all_of(edges.begin(), edges.end(), is_there)) return CUDA_ERROR_INVALID_VALUE;
  for (const Edge& edge : edges) std::erase(graph->nodes[edge.to]->dependencies, edge.from);
  return CUDA_SUCCESS;
}

CUresult CheckEdgeData(const CUgraphEdgeData* data, size_t count) {
  constexpr CUgraphEdgeData kPlain = {};
  for (size_t i = 0; data != nullptr && i < count; ++i) {
    if (std::memcmp(&data[i], &kPlain, sizeof(kPlain)) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}

CUresult GraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                 const CUgraphEdgeData* data, size_t count) {
  SLIPWAY_RETURN_IF_FAILED(CheckEdgeData(data, count));
  return GraphAddDependencies(graph, from, to, count);
}
CUresult GraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                    const CUgraphEdgeData* data, size_t count) {
  SLIPWAY_RETURN_IF_FAILED(CheckEdgeData(data, count));
  return GraphRemoveDependencies(graph, from, to, count);
}

CUresult GraphDebugDotPrint(CUgraph handle, const char* path, unsigned) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  const std::shared_ptr<Graph> graph = Runtime::Get().graphs.Find(handle);
  if (graph == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  constexpr const char* kTypes[] = {"kernel", "memcpy", "memset",     "host",
                                    "graph",  "empty",  "event wait", "event record"};
  std::ofstream file(path);
  file << "digraph dot {\n";
  for (const std::shared_ptr<GraphNode>& node : graph->nodes) {
    file << "  n" << node->index << " [label=\"" << kTypes[node->type];
    if (node->type == CU_GRAPH_NODE_TYPE_KERNEL) file << ' ' << node->op->function->kernel->name;
    file << "\"];\n";
    for (const uint32_t dependency : node->dependencies) file << "  n" << dependency << " -> n" << node->index << ";\n";
  }
  file << "}\n";
  return file ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

CUresult GraphExecGetFlags(CUgraphExec handle, uint64_t* flags) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const std::shared_ptr<GraphExec> exec = Runtime::Get().graph_execs.Find(handle);
  if (exec == nullptr || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = exec->flags;
  return CUDA_SUCCESS;
}

namespace {

CUresult NoData(CUresult result, CUgraphEdgeData* data, const size_t* count) {
  if (result == CUDA_SUCCESS && data != nullptr) std::memset(data, 0, *count * sizeof(*data));
  return result;
}

}  // namespace

CUresult GraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
  return NoData(GraphGetEdges(graph, from, to, count), from == nullptr ? nullptr : data, count);
}
CUresult GraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count) {
  return NoData(GraphNodeGetDependencies(node, nodes, count), nodes == nullptr ? nullptr : data, count);
}
CUresult GraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count) {
  return NoData(GraphNodeGetDependentNodes(node, nodes, count), nodes == nullptr ? nullptr : data, count);
}

CUresult GraphUpload(CUgraphExec exec, CUstream handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  return Runtime::Get().graph_execs.Find(exec) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult GraphExecUpdate_v1(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node, CUgraphExecUpdateResult* result) {
  CUgraphExecUpdateResultInfo info = {};
  const CUresult updated = GraphExecUpdate(exec, graph, &info);
  if (error_node != nullptr) *error_node = info.errorNode;
  if (result != nullptr) *result = info.result;
  return updated;
}

CUresult GraphExecKernelNodeSetParams_v1(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS longer = {};
  static_assert(sizeof(*params) == offsetof(CUDA_KERNEL_NODE_PARAMS, kern));
  std::memcpy(&longer, params, sizeof(*params));
  return GraphExecKernelNodeSetParams(exec, node, &longer);
}

CUresult GraphKernelNodeGetParams_v1(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS longer = {};
  const CUresult result = GraphKernelNodeGetParams(node, &longer);
  if (result == CUDA_SUCCESS) std::memcpy(params, &longer, sizeof(*params));
  return result;
}

CUresult UserObjectCreate(CUuserObject* object, void* pointer, CUhostFn destroy, unsigned references, unsigned flags) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  constexpr unsigned kNoDestructorSync = 1;  // CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, which callers must say.
  if (object == nullptr || destroy == nullptr || references == 0 || references > INT_MAX ||
      flags != kNoDestructorSync) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto made = std::make_shared<UserObject>();
  made->pointer = pointer;
  made->destroy = destroy;
  made->owned = references;
  UserObject& added = *made;
  *object = added.handle = Runtime::Get().user_objects.Add(std::move(made));
  return CUDA_SUCCESS;
}

CUresult UserObjectRetain(CUuserObject handle, unsigned count) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const std::shared_ptr<UserObject> object = Runtime::Get().user_objects.Find(handle);
  if (object == nullptr || count == 0 || count > INT_MAX - object->owned) return CUDA_ERROR_INVALID_VALUE;
  object->owned += count;
  return CUDA_SUCCESS;
}

CUresult UserObjectRelease(CUuserObject handle, unsigned count) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const std::shared_ptr<UserObject> object = Runtime::Get().user_objects.Find(handle);
  if (object == nullptr || count == 0 || count > object->owned) return CUDA_ERROR_INVALID_VALUE;
  if ((object->owned -= count) == 0) Runtime::Get().user_objects.Remove(handle);
  return CUDA_SUCCESS;
}

CUresult GraphRetainUserObject(CUgraph graph_handle, CUuserObject handle, unsigned count, unsigned flags) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  constexpr unsigned kMostReferences = 1 << 20;
  constexpr unsigned kMove = 1;  // CU_GRAPH_USER_OBJECT_MOVE: the application's references become the graph's.
  const std::shared_ptr<UserObject> object = Runtime::Get().user_objects.Find(handle);
  {
    const GraphLock lock(GraphMutex());
    const std::shared_ptr<Graph> graph = Runtime::Get().graphs.Find(graph_handle);
    if (graph == nullptr || object == nullptr || count == 0 || (flags & ~kMove) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (flags == kMove && count > object->owned) return CUDA_ERROR_INVALID_VALUE;
    // Each reference is kept as one; nobody who counts them needs more.
    if (count > kMostReferences || graph->user_objects.size() > kMostReferences) return CUDA_ERROR_OUT_OF_MEMORY;
    graph->user_objects.insert(graph->user_objects.end(), count, object);
  }
  return flags == kMove ? UserObjectRelease(handle, count) : CUDA_SUCCESS;
}

CUresult GraphReleaseUserObject(CUgraph graph_handle, CUuserObject handle, unsigned count) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const GraphLock lock(GraphMutex());
  const std::shared_ptr<Graph> graph = Runtime::Get().graphs.Find(graph_handle);
  if (graph == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  std::vector<std::shared_ptr<UserObject>>& all = graph->user_objects;
  const auto is_it = [&](const std::shared_ptr<UserObject>& object) { return object->handle == handle; };
  if (std::count_if(all.begin(), all.end(), is_it) < static_cast<ptrdiff_t>(count)) return CUDA_ERROR_INVALID_VALUE;
  std::erase_if(all, [&](const std::shared_ptr<UserObject>& object) {
    if (count == 0 || !is_it(object)) return false;
    --count;
    return true;
  });
  return CUDA_SUCCESS;
}

}  // namespace slipway::cpu::client
