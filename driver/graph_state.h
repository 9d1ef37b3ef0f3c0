// What the handles Graph and GraphExec share.
#ifndef SLIPWAY_DRIVER_GRAPH_STATE_H_
#define SLIPWAY_DRIVER_GRAPH_STATE_H_

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "slipway/graph.h"

namespace slipway::internal {

// Written by the capture that makes it, then shared and constant.
struct GraphState {
  explicit GraphState(Device on) : device(std::move(on)) {}
  ~GraphState();
  GraphState(const GraphState&) = delete;
  GraphState& operator=(const GraphState&) = delete;

  const Device device;
  CUgraph handle = nullptr;
  size_t node_count = 0;
  std::vector<Owner> owners;
  std::unordered_map<uint64_t, std::vector<GraphLaunch>> nodes;  // Launches, by key, in order.
  bool nodes_known = true;                                       // Whether `nodes` has all that were noted.
  std::vector<std::shared_ptr<ErrorRecord>> errors;              // Of its kernels.
};

struct GraphExecState {
  explicit GraphExecState(std::shared_ptr<const GraphState> graph) : origin(std::move(graph)), current(origin) {}
  ~GraphExecState();
  GraphExecState(const GraphExecState&) = delete;
  GraphExecState& operator=(const GraphExecState&) = delete;

  // The graph that it was instantiated from: the driver takes that one's nodes to name what to change.
  const std::shared_ptr<const GraphState> origin;
  std::shared_ptr<const GraphState> current;  // That of the last Update, else `origin`.
  CUgraphExec handle = nullptr;
  std::unordered_map<CUgraphNode, std::vector<Owner>> replaced;  // What SetKernelNode keeps, by node.
  // Recorded after each launch. Shared with what is retired until then, and replaced when it is.
  std::shared_ptr<const Event> launched;
  bool was_launched = false;
};

}  // namespace slipway::internal

#endif  // SLIPWAY_DRIVER_GRAPH_STATE_H_
