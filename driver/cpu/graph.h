// Graphs as captured, graphs as launched, and what joins the two.
//
// A Graph is a list of ops, each with the earlier ones that it waits for. An executable graph has copies of them, cut
// into units (driver/cpu/graph_plan.h) that the engine queues when a launch gets to the head of its stream. All of it
// is guarded by the mutex of the captures (driver/cpu/capture.h), but for what a queued launch holds.
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

struct GraphNode {
  uint64_t graph_id = 0;
  uint32_t index = 0;  // In its graph.
  CUgraphNode handle = nullptr;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  std::shared_ptr<Context> context;  // Of the stream that it was captured on.
  std::shared_ptr<Op> op;
  MemoryPlaces places;
  std::vector<uint32_t> dependencies;  // Indices of earlier nodes, ascending.
  std::vector<void*> params;           // Kernels: what GraphKernelNodeGetParams points its caller to.
};

struct Graph {
  uint64_t id = 0;  // Never given out again.
  CUgraph handle = nullptr;
  bool capturing = false;
  std::vector<std::shared_ptr<GraphNode>> nodes;          // Each after those that it depends on.
  std::vector<std::shared_ptr<UserObject>> user_objects;  // Each as often as it is referred to.
};

struct ExecNode {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  std::shared_ptr<Context> context;
  std::shared_ptr<Op> op;
  MemoryPlaces places;
  std::vector<uint32_t> dependencies;
  // Where the plan has it: the unit, and the place in the unit's sequence.
  uint32_t unit = 0;
  uint32_t place = 0;
};

struct GraphExec {
  uint64_t graph_id = 0;  // Of the graph that it was made from, whose nodes name its own.
  std::vector<ExecNode> nodes;
  // What the next launch runs. A queued launch holds the plan of its time; `launched` says that one might.
  std::shared_ptr<GraphPlan> plan;
  bool launched = false;
  // Engine. The last launch: the next one waits for it.
  Dependency last;
};

// Takes a graph and its nodes out of the handle tables. INVALID_HANDLE if there is none.
CUresult DropGraph(CUgraph graph);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_GRAPH_H_
