// Visits a kernel in textual order with a stack of its own, so that deep nesting costs no host stack.
#ifndef SLIPWAY_JIT_WALK_H_
#define SLIPWAY_JIT_WALK_H_

#include <utility>
#include <vector>

#include "jit/ir.h"

namespace slipway::ir {

// Calls, in textual order: enter(owner, i) before the i-th block of instruction `owner` (kNone for the body),
// visit(id) for each instruction, leave(owner, i) after the block. Blocks of an instruction come after it.
template <class Enter, class Visit, class Leave>
void Walk(const Kernel& kernel, Enter enter, Visit visit, Leave leave) {
  struct Frame {
    ValueId owner;
    int which;  // Of the owner's blocks.
    BlockId block;
    size_t next;  // Instruction of the block.
  };
  std::vector<Frame> stack = {{kNone, 0, 0, 0}};
  enter(kNone, 0);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next < kernel.blocks[frame.block].size()) {
      const ValueId id = kernel.blocks[frame.block][frame.next++];
      visit(id);
      const Inst& inst = kernel.insts[id];
      if (inst.blocks[0] != kNone) {
        enter(id, 0);
        stack.push_back({id, 0, inst.blocks[0], 0});
      }
      continue;
    }
    const Frame done = frame;
    leave(done.owner, done.which);
    stack.pop_back();
    if (done.owner != kNone && done.which == 0 && kernel.insts[done.owner].blocks[1] != kNone) {
      enter(done.owner, 1);
      stack.push_back({done.owner, 1, kernel.insts[done.owner].blocks[1], 0});
    }
  }
}

}  // namespace slipway::ir

#endif  // SLIPWAY_JIT_WALK_H_
