// The instructions of a function, in order, as IR.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_CONTROL_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_CONTROL_H_

#include "driver/cpu/program.h"
#include "driver/cpu/translate/emitter.h"

namespace slipway::cpu {

// Finds out which registers of a kernel may be read before a thread has written them (e.carries).
void FindCarriedRegisters(Emitter& e);

// Translates e.function's body, or e.part of it, from the builder's insertion point on; every path ends in a branch to
// e.returned, e.exited or e.trapped. Errors are in e.status().
void EmitBody(Emitter& e);

// Ends the thread and its range of blocks; the launch fails for this reason.
void EmitTrap(Emitter& e, CpuFailure reason);

// Goes to where a thread has ended: e.exited or e.trapped. What is emitted next cannot be reached from here.
void EmitEnd(Emitter& e, llvm::BasicBlock* where);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_CONTROL_H_
