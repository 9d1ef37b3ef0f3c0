// Whether an executable graph can take over another graph's parameters.
#ifndef SLIPWAY_DRIVER_CPU_GRAPH_UPDATE_H_
#define SLIPWAY_DRIVER_CPU_GRAPH_UPDATE_H_

#include "driver/cpu/graph.h"

namespace slipway::cpu {

// A node of an executable graph, with an op of its own.
ExecNode ToExecNode(const GraphNode& node);

// By the rules of cuGraphExecUpdate, node for node in the order of capture: as many nodes, of the same types and with
// the same dependencies, kernels of the same contexts, cooperative ones as before, copies and fills between the same
// devices. `errorNode` is the first node of `graph` that differs, `errorFromNode` the first one that it newly depends
// on.
CUgraphExecUpdateResultInfo CompareForUpdate(const GraphExec& exec, const Graph& graph);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_GRAPH_UPDATE_H_
