#include "driver/cpu/graph_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace slipway::cpu {
namespace {

// Lanes of one context: more independent branches than any machine's cores would gain, fewer than make the scheduler's
// look over all streams slow.
constexpr size_t kMaxLanes = 16;

// Whether it may be part of a sequence.
bool IsSmall(const Op& op) {
  switch (op.kind) {
    case OpKind::kLaunch:
      return !op.cooperative && IsTiny(op);
    case OpKind::kCopy:
    case OpKind::kFill:
      return IsTiny(op);
    default:
      return false;
  }
}

bool CanFollowInSequence(const Op& op, const Op& before) {
  return op.has_priority == before.has_priority && op.priority == before.priority;
}

std::shared_ptr<Op> NewSequence(const Op& like, std::vector<std::shared_ptr<Op>> ops) {
  auto sequence = std::make_shared<Op>();
  sequence->kind = OpKind::kSequence;
  sequence->in_graph = true;
  sequence->has_priority = like.has_priority;
  sequence->priority = like.priority;
  sequence->blocks = ops.size();
  sequence->sequence = std::move(ops);
  return sequence;
}

// What the plan has to know about an op besides where it runs.
void NoteUses(GraphPlan& plan, const Op& op) {
  if (op.event != nullptr) (op.kind == OpKind::kRecord ? plan.records : plan.waits_for).push_back(op.event);
  if (op.kind != OpKind::kLaunch) return;
  const std::shared_ptr<Module>& module = op.function->module;
  if (std::find(plan.modules.begin(), plan.modules.end(), module) == plan.modules.end()) {
    plan.modules.push_back(module);
  }
}

// What a node does as it is now.
std::shared_ptr<Op> OpOf(const ExecNode& node) {
  if (node.enabled) return node.op;
  auto nothing = std::make_shared<Op>();
  nothing->in_graph = true;
  return nothing;
}

class Planner {
 public:
  Planner(GraphExec& exec, GraphPlan& plan) : exec_(exec), plan_(plan), dependents_(exec.nodes.size()) {
    for (const ExecNode& node : exec.nodes) {
      for (uint32_t dependency : node.dependencies) ++dependents_[dependency];
    }
  }

  void Place(uint32_t index) {
    ExecNode& node = exec_.nodes[index];
    NoteUses(plan_, *node.op);
    if (AppendToUnit(index)) return;
    node.unit = static_cast<uint32_t>(plan_.units.size());
    node.place = 0;
    GraphPlan::Unit unit;
    unit.op = OpOf(node);
    for (uint32_t dependency : node.dependencies) unit.waits.push_back(exec_.nodes[dependency].unit);
    std::sort(unit.waits.begin(), unit.waits.end());
    unit.waits.erase(std::unique(unit.waits.begin(), unit.waits.end()), unit.waits.end());
    unit.lane = LaneFor(node.context, unit.waits);
    unit.waits.erase(std::remove_if(unit.waits.begin(), unit.waits.end(),
                                    [&](uint32_t wait) { return plan_.units[wait].lane == unit.lane; }),
                     unit.waits.end());
    lane_tails_[unit.lane] = node.unit;
    plan_.units.push_back(std::move(unit));
    last_of_unit_.push_back(index);
  }

 private:
  // Whether the node could be put behind the only one that it waits for, which nothing else waits for.
  bool AppendToUnit(uint32_t index) {
    ExecNode& node = exec_.nodes[index];
    if (node.dependencies.size() != 1 || !IsSmall(*node.op) || !node.enabled) return false;
    const uint32_t before = node.dependencies[0];
    const ExecNode& previous = exec_.nodes[before];
    if (dependents_[before] != 1 || last_of_unit_[previous.unit] != before || previous.context != node.context ||
        !IsSmall(*previous.op) || !previous.enabled || !CanFollowInSequence(*node.op, *previous.op)) {
      return false;
    }
    GraphPlan::Unit& unit = plan_.units[previous.unit];
    if (unit.op->kind != OpKind::kSequence) unit.op = NewSequence(*previous.op, {previous.op});
    node.unit = previous.unit;
    node.place = static_cast<uint32_t>(unit.op->sequence.size());
    unit.op->sequence.push_back(node.op);
    unit.op->blocks = unit.op->sequence.size();
    last_of_unit_[node.unit] = index;
    return true;
  }

  // The lane that ends with something that the unit waits for; else a new one; else the one that ended first.
  uint32_t LaneFor(const std::shared_ptr<Context>& context, const std::vector<uint32_t>& waits) {
    size_t of_context = 0;
    uint32_t oldest = std::numeric_limits<uint32_t>::max();
    for (uint32_t lane = 0; lane < plan_.lanes.size(); ++lane) {
      if (plan_.lanes[lane]->context != context) continue;
      ++of_context;
      if (std::find(waits.begin(), waits.end(), lane_tails_[lane]) != waits.end()) return lane;
      if (oldest == std::numeric_limits<uint32_t>::max() || lane_tails_[lane] < lane_tails_[oldest]) oldest = lane;
    }
    if (of_context == kMaxLanes) return oldest;
    auto lane = std::make_shared<Stream>();
    lane->context = context;
    lane->blocking = false;
    lane->destroyed = true;                               // It has no handle.
    lane->demand = std::numeric_limits<uint64_t>::max();  // Late mode holds back the launch of the graph instead.
    plan_.lanes.push_back(std::move(lane));
    lane_tails_.push_back(0);
    return static_cast<uint32_t>(plan_.lanes.size() - 1);
  }

  GraphExec& exec_;
  GraphPlan& plan_;
  std::vector<uint32_t> dependents_;    // By node: how many wait for it.
  std::vector<uint32_t> last_of_unit_;  // By unit: a node.
  std::vector<uint32_t> lane_tails_;    // By lane: its last unit.
};

}  // namespace

void MakePlan(GraphExec& exec, std::vector<std::shared_ptr<UserObject>> user_objects) {
  auto plan = std::make_shared<GraphPlan>();
  plan->user_objects = std::move(user_objects);
  Planner planner(exec, *plan);
  for (uint32_t i = 0; i < exec.nodes.size(); ++i) planner.Place(i);
  exec.plan = std::move(plan);
  exec.launched = false;
}

void ReplaceInPlan(GraphExec& exec, uint32_t index, std::shared_ptr<Op> op, bool shared) {
  ExecNode& node = exec.nodes[index];
  const bool same_kind = IsSmall(*op) == IsSmall(*node.op) && CanFollowInSequence(*op, *node.op);
  node.op = op;
  if (!node.enabled) return;
  if (!same_kind || op->event != nullptr) {
    MakePlan(exec, exec.plan->user_objects);
    return;
  }
  if (shared) {
    auto copy = std::make_shared<GraphPlan>(*exec.plan);
    for (GraphPlan::Unit& unit : copy->units) {
      if (unit.op->kind == OpKind::kSequence) unit.op = NewSequence(*unit.op, unit.op->sequence);
    }
    exec.plan = std::move(copy);
    exec.launched = false;
  }
  NoteUses(*exec.plan, *op);
  GraphPlan::Unit& unit = exec.plan->units[node.unit];
  if (unit.op->kind == OpKind::kSequence) {
    unit.op->sequence[node.place] = std::move(op);
  } else {
    unit.op = std::move(op);
  }
}

}  // namespace slipway::cpu
