// Graphs as captured or built node by node, graphs as launched, and what joins the two.
//
// A Graph is a list of nodes, each with those that it waits for. An executable graph has copies of them in an order in
// which they can run, cut into units (driver/cpu/graph_plan.h) that the engine queues when a launch gets to the head of
// its stream. All of it is guarded by the mutex of the captures (driver/cpu/capture.h), but for what a queued launch
// holds.
#ifndef SLIPWAY_DRIVER_CPU_GRAPH_H_
#define SLIPWAY_DRIVER_CPU_GRAPH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "driver/cpu/op.h"

namespace slipway::cpu {

// Whose memory a copy or fill uses, as far as an update may not change it: the ids of the contexts that own it, 0 for
// memory of the host.
struct MemoryPlaces {
  uint64_t from = 0;
  uint64_t to = 0;
  friend bool operator==(const MemoryPlaces&, const MemoryPlaces&) = default;
};

struct Graph;

// What a node does.
struct NodeWork {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  // Of the stream that it was captured on, or that the caller named. Null: whichever the graph has.
  std::shared_ptr<Context> context;
  std::shared_ptr<Op> op;
  MemoryPlaces places;
  std::shared_ptr<Graph> child;  // CU_GRAPH_NODE_TYPE_GRAPH: the graph that it runs, which is its own.
};

// What an op does, as a node. It has no context yet.
NodeWork WorkOf(const Op& op);
// CU_GRAPH_NODE_TYPE_EVENT_RECORD or CU_GRAPH_NODE_TYPE_WAIT_EVENT, in the event's context.
NodeWork EventWork(const std::shared_ptr<Event>& event, CUgraphNodeType type);

struct GraphNode : NodeWork {
  uint64_t graph_id = 0;
  uint32_t index = 0;  // In its graph.
  CUgraphNode handle = nullptr;
  CUgraphNode cloned_from = nullptr;   // In the graph of which its own is a clone.
  std::vector<uint32_t> dependencies;  // Indices of other nodes, ascending.
  std::vector<void*> params;           // Kernels: what GraphKernelNodeGetParams points its caller to.
};

struct Graph {
  uint64_t id = 0;  // Never given out again.
  CUgraph handle = nullptr;
  bool capturing = false;
  bool embedded = false;                                  // It belongs to a node.
  bool moved = false;                                     // It was the application's before.
  std::vector<std::shared_ptr<GraphNode>> nodes;          // As they were added.
  std::vector<std::shared_ptr<UserObject>> user_objects;  // Each as often as it is referred to.
};

struct ExecNode : NodeWork {
  CUgraphNode made_from = nullptr;     // What names it in calls.
  std::vector<uint32_t> dependencies;  // Indices of earlier nodes, ascending.
  bool enabled = true;                 // Else it does nothing.
  // Where the plan has it: the unit, and the place in the unit's sequence.
  uint32_t unit = 0;
  uint32_t place = 0;
};

struct GraphExec {
  std::vector<ExecNode> nodes;  // A graph in a node comes as its nodes and, behind them, one that waits for them.
  uint64_t flags = 0;
  // What the next launch runs. A queued launch holds the plan of its time; `launched` says that one might.
  std::shared_ptr<GraphPlan> plan;
  bool launched = false;
  // Engine. The last launch: the next one waits for it.
  Dependency last;
};

// With the mutex held:

// A new graph, with a handle and without nodes.
std::shared_ptr<Graph> NewGraph();
// Takes a graph and its nodes out of the handle tables. INVALID_VALUE if there is none.
CUresult DropGraph(CUgraph graph);

// The indices of nodes of a graph, ascending. INVALID_VALUE for nodes of others, and for one that is named twice.
CUresult IndicesOf(const Graph& graph, const CUgraphNode* nodes, size_t count, std::vector<uint32_t>* indices);
// Adds a node behind others; `dependencies` are indices, ascending. Gives it a handle.
std::shared_ptr<GraphNode> AddNode(Graph& graph, NodeWork work, std::vector<uint32_t> dependencies);
// Takes a node out, and the dependencies of others on it.
void RemoveNode(Graph& graph, const GraphNode& node);
// A node and the graph that it is of. INVALID_VALUE if the handle names nothing alive.
CUresult FindNode(CUgraphNode handle, std::shared_ptr<GraphNode>* node, std::shared_ptr<Graph>* graph);

// A copy with nodes, and graphs in nodes, of its own.
std::shared_ptr<Graph> CloneGraph(const Graph& graph);
// A graph of what an executable graph does now.
std::shared_ptr<Graph> GraphOf(const GraphExec& exec);

// The nodes in an order in which each comes after those that it waits for, with ops of their own: that in which they
// were added, as far as it is one. INVALID_VALUE if some wait for each other.
CUresult ToExecNodes(const Graph& graph, std::vector<ExecNode>* nodes);
// One of the nodes of a graph, or of a graph in it, that wait for each other; null if there are none.
CUgraphNode NodeOfCycle(const Graph& graph);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_GRAPH_H_
