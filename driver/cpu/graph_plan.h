// How an executable graph is run: units of work in lanes.
//
// A lane is a stream without a handle, so everything that the engine knows of streams (order, waits, priorities, late
// mode, fork) holds for graphs, too. Independent branches get lanes of their own, up to a limit; what shares a lane
// runs in the order of its nodes. A chain of small kernels, copies and fills is one unit, an op of kind kSequence,
// which one thread runs without looking at the queues in between.
#ifndef SLIPWAY_DRIVER_CPU_GRAPH_PLAN_H_
#define SLIPWAY_DRIVER_CPU_GRAPH_PLAN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "driver/cpu/graph.h"

namespace slipway::cpu {

struct GraphPlan {
  struct Unit {
    std::shared_ptr<Op> op;
    uint32_t lane = 0;
    std::vector<uint32_t> waits;  // Earlier units of other lanes.
  };
  std::vector<Unit> units;
  std::vector<std::shared_ptr<Stream>> lanes;  // Each of one context.
  // Of the kernels, each once: what CheckAlive looks at.
  std::vector<std::shared_ptr<Module>> modules;
  // A launch waits for what these stood for when it was queued, and makes those stand for a place in it.
  std::vector<std::shared_ptr<Event>> waits_for;
  std::vector<std::shared_ptr<Event>> records;
  std::vector<std::shared_ptr<UserObject>> user_objects;  // The graph's, as long as a launch may use them.
};

// Makes `exec.plan` from `exec.nodes`. The plan keeps `user_objects`.
void MakePlan(GraphExec& exec, std::vector<std::shared_ptr<UserObject>> user_objects);

// Puts `op` in the place of a node's. If a queued launch may still run the plan (`shared`), the next ones get a copy.
void ReplaceInPlan(GraphExec& exec, uint32_t node, std::shared_ptr<Op> op, bool shared);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_GRAPH_PLAN_H_
