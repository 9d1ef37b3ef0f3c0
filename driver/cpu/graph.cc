#include "driver/cpu/graph.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include "driver/cpu/graph_plan.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu {
namespace {

CUgraphNodeType TypeOf(const Op& op) {
  switch (op.kind) {
    case OpKind::kLaunch:
      return CU_GRAPH_NODE_TYPE_KERNEL;
    case OpKind::kCopy:
      return CU_GRAPH_NODE_TYPE_MEMCPY;
    case OpKind::kFill:
      return CU_GRAPH_NODE_TYPE_MEMSET;
    case OpKind::kHostFunction:
      return CU_GRAPH_NODE_TYPE_HOST;
    default:
      return CU_GRAPH_NODE_TYPE_EMPTY;
  }
}

uint64_t PlaceOf(const std::byte* address) {
  std::optional<Arena::Allocation> allocation = Runtime::Get().arena.Find(reinterpret_cast<uintptr_t>(address), 1);
  return allocation && allocation->kind != Arena::Kind::kHost ? allocation->owner : 0;
}

MemoryPlaces PlacesOf(const Op& op) {
  if (op.kind == OpKind::kCopy) return {.from = PlaceOf(op.from), .to = PlaceOf(op.to)};
  if (op.kind == OpKind::kFill) return {.from = 0, .to = PlaceOf(op.to)};
  return {};
}

NodeWork CopyOf(const NodeWork& work) {
  NodeWork copy = work;
  copy.op = CopyForGraph(*work.op);
  if (work.child != nullptr) {
    copy.child = CloneGraph(*work.child);
    copy.child->embedded = true;
  }
  return copy;
}

// Indices of the nodes, each after those that it waits for; of those that could come next, the first. Fewer than there
// are if some wait for each other.
std::vector<uint32_t> OrderOf(const Graph& graph) {
  std::vector<size_t> left(graph.nodes.size());
  std::vector<std::vector<uint32_t>> dependents(graph.nodes.size());
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> next;
  for (const std::shared_ptr<GraphNode>& node : graph.nodes) {
    left[node->index] = node->dependencies.size();
    for (uint32_t dependency : node->dependencies) dependents[dependency].push_back(node->index);
    if (node->dependencies.empty()) next.push(node->index);
  }
  std::vector<uint32_t> order;
  while (!next.empty()) {
    order.push_back(next.top());
    next.pop();
    for (uint32_t dependent : dependents[order.back()]) {
      if (--left[dependent] == 0) next.push(dependent);
    }
  }
  return order;
}

// Appends a graph's nodes; those that wait for none of it wait for `before`. `last` become those that nothing waits
// for.
CUresult Flatten(const Graph& graph, const std::vector<uint32_t>& before, std::vector<ExecNode>* nodes,
                 std::vector<uint32_t>* last) {
  const std::vector<uint32_t> order = OrderOf(graph);
  if (order.size() != graph.nodes.size()) return CUDA_ERROR_INVALID_VALUE;
  std::vector<uint32_t> place(order.size());
  std::vector<bool> is_last(order.size(), true);
  for (uint32_t index : order) {
    const GraphNode& node = *graph.nodes[index];
    std::vector<uint32_t> dependencies = before;
    if (!node.dependencies.empty()) dependencies.clear();
    for (uint32_t dependency : node.dependencies) {
      dependencies.push_back(place[dependency]);
      is_last[dependency] = false;
    }
    std::sort(dependencies.begin(), dependencies.end());
    if (node.child != nullptr) {
      std::vector<uint32_t> ends;
      SLIPWAY_RETURN_IF_FAILED(Flatten(*node.child, dependencies, nodes, &ends));
      if (!ends.empty()) dependencies = std::move(ends);
    }
    ExecNode made;
    static_cast<NodeWork&>(made) = node;
    made.op = CopyForGraph(*node.op);
    made.child.reset();
    made.made_from = node.handle;
    made.dependencies = std::move(dependencies);
    place[index] = static_cast<uint32_t>(nodes->size());
    nodes->push_back(std::move(made));
  }
  for (uint32_t index : order) {
    if (is_last[index]) last->push_back(place[index]);
  }
  std::sort(last->begin(), last->end());
  return CUDA_SUCCESS;
}

}  // namespace

NodeWork WorkOf(const Op& op) {
  return {.type = TypeOf(op), .context = nullptr, .op = CopyForGraph(op), .places = PlacesOf(op), .child = nullptr};
}

NodeWork EventWork(const std::shared_ptr<Event>& event, CUgraphNodeType type) {
  auto op = std::make_shared<Op>();
  op->in_graph = true;
  op->kind = type == CU_GRAPH_NODE_TYPE_EVENT_RECORD ? OpKind::kRecord : OpKind::kNothing;
  op->event = event;
  return {.type = type, .context = event->context, .op = std::move(op), .places = {}, .child = nullptr};
}

std::shared_ptr<Graph> NewGraph() {
  static std::atomic<uint64_t> last_id{0};
  auto made = std::make_shared<Graph>();
  made->id = ++last_id;
  made->handle = Runtime::Get().graphs.Add(made);
  return made;
}

CUresult DropGraph(CUgraph handle) {
  Runtime& runtime = Runtime::Get();
  const std::shared_ptr<Graph> graph = runtime.graphs.Remove(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const std::shared_ptr<GraphNode>& node : graph->nodes) {
    runtime.graph_nodes.Remove(node->handle);
    if (node->child != nullptr) DropGraph(node->child->handle);
  }
  return CUDA_SUCCESS;
}

CUresult IndicesOf(const Graph& graph, const CUgraphNode* nodes, size_t count, std::vector<uint32_t>* indices) {
  if (nodes == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    const std::shared_ptr<GraphNode> node = Runtime::Get().graph_nodes.Find(nodes[i]);
    if (node == nullptr || node->graph_id != graph.id) return CUDA_ERROR_INVALID_VALUE;
    indices->push_back(node->index);
  }
  std::sort(indices->begin(), indices->end());
  const bool repeated = std::adjacent_find(indices->begin(), indices->end()) != indices->end();
  return repeated ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

std::shared_ptr<GraphNode> AddNode(Graph& graph, NodeWork work, std::vector<uint32_t> dependencies) {
  auto node = std::make_shared<GraphNode>();
  static_cast<NodeWork&>(*node) = std::move(work);
  node->graph_id = graph.id;
  node->index = static_cast<uint32_t>(graph.nodes.size());
  node->dependencies = std::move(dependencies);
  node->handle = Runtime::Get().graph_nodes.Add(node);
  graph.nodes.push_back(node);
  return node;
}

void RemoveNode(Graph& graph, const GraphNode& node) {
  Runtime::Get().graph_nodes.Remove(node.handle);
  if (node.child != nullptr) DropGraph(node.child->handle);
  const uint32_t gone = node.index;
  graph.nodes.erase(graph.nodes.begin() + gone);
  for (const std::shared_ptr<GraphNode>& other : graph.nodes) {
    if (other->index > gone) --other->index;
    std::erase(other->dependencies, gone);
    for (uint32_t& dependency : other->dependencies) dependency -= dependency > gone ? 1 : 0;
  }
}

CUresult FindNode(CUgraphNode handle, std::shared_ptr<GraphNode>* node, std::shared_ptr<Graph>* graph) {
  *node = Runtime::Get().graph_nodes.Find(handle);
  if (*node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *graph = Runtime::Get().graphs.FindIf([&](const Graph& one) { return one.id == (*node)->graph_id; });
  return *graph == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

std::shared_ptr<Graph> CloneGraph(const Graph& graph) {
  std::shared_ptr<Graph> clone = NewGraph();
  clone->user_objects = graph.user_objects;
  for (const std::shared_ptr<GraphNode>& node : graph.nodes) {
    AddNode(*clone, CopyOf(*node), node->dependencies)->cloned_from = node->handle;
  }
  return clone;
}

std::shared_ptr<Graph> GraphOf(const GraphExec& exec) {
  std::shared_ptr<Graph> graph = NewGraph();
  graph->user_objects = exec.plan->user_objects;
  for (const ExecNode& node : exec.nodes) {
    NodeWork work = CopyOf(node);
    if (!node.enabled || node.type == CU_GRAPH_NODE_TYPE_GRAPH) {
      work.type = CU_GRAPH_NODE_TYPE_EMPTY;
      work.op = std::make_shared<Op>();
    }
    AddNode(*graph, std::move(work), node.dependencies);
  }
  return graph;
}

CUresult ToExecNodes(const Graph& graph, std::vector<ExecNode>* nodes) {
  std::vector<uint32_t> last;
  return Flatten(graph, {}, nodes, &last);
}

CUgraphNode NodeOfCycle(const Graph& graph) {
  for (const std::shared_ptr<GraphNode>& node : graph.nodes) {
    const CUgraphNode inside = node->child == nullptr ? nullptr : NodeOfCycle(*node->child);
    if (inside != nullptr) return inside;
  }
  std::vector<bool> left(graph.nodes.size(), true);
  for (const uint32_t index : OrderOf(graph)) left[index] = false;
  const auto first = std::find(left.begin(), left.end(), true);
  if (first == left.end()) return nullptr;
  // Each that is left waits for another that is: so many steps back are on a cycle.
  auto index = static_cast<uint32_t>(first - left.begin());
  for (size_t step = 0; step < left.size(); ++step) {
    const std::vector<uint32_t>& before = graph.nodes[index]->dependencies;
    index = *std::find_if(before.begin(), before.end(), [&](uint32_t dependency) { return left[dependency]; });
  }
  return graph.nodes[index]->handle;
}

}  // namespace slipway::cpu
