// What nodes of graphs may be made to do: whether an executable graph can take over another graph's parameters.
#ifndef SLIPWAY_DRIVER_CPU_GRAPH_UPDATE_H_
#define SLIPWAY_DRIVER_CPU_GRAPH_UPDATE_H_

#include <vector>

#include "driver/cpu/graph.h"

namespace slipway::cpu {

// Whether a node may do `after` in the place of what it does: by the rules of cuGraphExecUpdate, work of the same type,
// kernels of the same contexts, cooperative ones as before, copies and fills between the same devices.
CUgraphExecUpdateResult CompareWork(const NodeWork& before, const NodeWork& after);

// The same of a graph's nodes (ToExecNodes): as many, node for node such that each may take the other's place, and with
// the same dependencies. `errorNode` is the first node that differs, `errorFromNode` the first one that it newly
// depends on.
CUgraphExecUpdateResultInfo CompareForUpdate(const GraphExec& exec, const std::vector<ExecNode>& nodes);

// The node of an executable graph that was made from a graph's; null if there is none.
ExecNode* FindIn(GraphExec& exec, const GraphNode& node);
// Lets a node do something else from the next launch on. INVALID_VALUE if it may not do that.
CUresult SetWork(GraphExec& exec, ExecNode& node, NodeWork work);

// The function that a kernel node is to launch: its own, or that of a kernel in a context. Not with the mutex held: it
// may have to be loaded.
CUresult NodeFunction(const CUDA_KERNEL_NODE_PARAMS& params, std::shared_ptr<Function>* function);
// What a node does that launches it. The answers are cuGraphAddKernelNode's.
CUresult KernelWork(std::shared_ptr<Function> function, const CUDA_KERNEL_NODE_PARAMS& params, bool cooperative,
                    int priority, NodeWork* work);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_GRAPH_UPDATE_H_
