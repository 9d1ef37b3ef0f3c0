// Launches of graphs: each is an op that, when its turn comes, queues the units of its plan and waits for them.
#include <memory>

#include "driver/cpu/engine.h"
#include "driver/cpu/graph_plan.h"

namespace slipway::cpu {

void Engine::WaitForRoom(Stream& stream) {
  Lock lock(mutex_);
  WaitForRoomLocked(lock, stream);
}

CUresult Engine::EnqueueGraph(Stream& stream, Op* op, GraphExec& exec) {
  Lock lock(mutex_);
  CUresult refused = Refusal(stream);
  if (refused != CUDA_SUCCESS) {
    Recycle(op);
    return refused;
  }
  if (exec.last.stream != nullptr) op->dependencies.push_back(exec.last);
  for (const std::shared_ptr<Event>& event : op->plan->waits_for) {
    if (event->stream != nullptr) op->dependencies.push_back({event->stream, event->position});
  }
  AddLegacyDependencies(stream, op);
  Append(stream, op);
  exec.last = {stream.shared_from_this(), stream.enqueued};
  // Until it starts, its end is what they stand for.
  for (const std::shared_ptr<Event>& event : op->plan->records) {
    event->stream = exec.last.stream;
    event->position = exec.last.position;
  }
  return CUDA_SUCCESS;
}

bool Engine::GraphIsIdle(const GraphExec& exec) {
  Lock lock(mutex_);
  return exec.last.stream == nullptr || exec.last.stream->completed >= exec.last.position;
}

void Engine::StartGraph(Stream& stream) {
  Op* op = stream.head;
  GraphPlan& plan = *op->plan;
  for (const std::shared_ptr<Stream>& lane : plan.lanes) {
    // A lane is among its context's streams only while it has work; Complete() drops it, like a destroyed stream.
    if (lane->context->legacy != nullptr) lane->context->streams.push_back(lane);
  }
  for (GraphPlan::Unit& unit : plan.units) {
    Stream& lane = *plan.lanes[unit.lane];
    Op* work = unit.op.get();
    if (lane.context->legacy == nullptr) {  // The context is gone.
      work->position = 0;                   // Done, for those that wait for it.
      continue;
    }
    for (uint32_t wait : unit.waits) {
      const GraphPlan::Unit& other = plan.units[wait];
      work->dependencies.push_back({plan.lanes[other.lane], other.op->position});
    }
    work->error.store(CUDA_SUCCESS, std::memory_order_relaxed);
    work->launch.trapped = 0;
    work->next_block.store(0, std::memory_order_relaxed);
    if (work->kind == OpKind::kRecord && work->event->stream.get() == &stream &&
        work->event->position == op->position) {
      work->event->stream = plan.lanes[unit.lane];
      work->event->position = lane.enqueued + 1;
    }
    Append(lane, work);
    if (work->kind == OpKind::kSequence) {
      work->launch.grid_id = next_grid_id_ + 1;
      next_grid_id_ += work->sequence.size();
    }
  }
  // From here on it is an op that waits; Recycle() lets go of the plan.
  op->kind = OpKind::kNothing;
  for (const std::shared_ptr<Stream>& lane : plan.lanes) op->dependencies.push_back({lane, lane->enqueued});
  Promote(stream);
}

}  // namespace slipway::cpu
