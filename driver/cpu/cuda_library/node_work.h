// What nodes of graphs are to do, as the calls that add and change them tell it.
#ifndef SLIPWAY_DRIVER_CPU_CUDA_LIBRARY_NODE_WORK_H_
#define SLIPWAY_DRIVER_CPU_CUDA_LIBRARY_NODE_WORK_H_

#include <memory>

#include "driver/cpu/cuda_library/client.h"
#include "driver/cpu/graph.h"

namespace slipway::cpu::client {

// The answers are those of cuGraphAddKernelNode and its kin. A null context is the current one.
CUresult KernelNodeWork(const CUDA_KERNEL_NODE_PARAMS* params, NodeWork* work);
CUresult CopyNodeWork(const CUDA_MEMCPY3D* params, CUcontext context, NodeWork* work);
CUresult FillNodeWork(const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context, NodeWork* work);
CUresult HostNodeWork(const CUDA_HOST_NODE_PARAMS* params, NodeWork* work);
CUresult EventNodeWork(CUevent event, CUgraphNodeType type, NodeWork* work);
CUresult EmptyNodeWork(CUgraphNodeType type, NodeWork* work);
// Any of them, by its type; of a node with a graph in it, all but the graph.
CUresult WorkOfParams(const CUgraphNodeParams* params, NodeWork* work);

// With the captures' mutex held: a node of a type. INVALID_VALUE if the handle names none.
CUresult FindNode(CUgraphNode handle, CUgraphNodeType type, std::shared_ptr<GraphNode>* node);

}  // namespace slipway::cpu::client

#endif  // SLIPWAY_DRIVER_CPU_CUDA_LIBRARY_NODE_WORK_H_
