// What SLIPWAY_CPU_CHECK=memory adds to translated code: a test before each access. driver/cpu/memory_check.h says what
// it tests and what it calls.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_ACCESS_CHECKS_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_ACCESS_CHECKS_H_

#include <cstdint>
#include <string>

#include "driver/cpu/memory_check.h"
#include "driver/cpu/program.h"
#include "driver/cpu/translate/emitter.h"
#include "driver/cpu/translate/module_translator.h"

namespace slipway::cpu {

// All of these do nothing, and give null, unless the module is checked.

// At the beginning of what runs a range of blocks of a kernel; gives the CheckedThread*.
Value* EmitCheckBegin(llvm::IRBuilder<>& b, ModuleTranslation& module, const CpuKernel& kernel, Value* launch,
                      Value* shared);

// At the entry of a function of e.function's code, before any access: sets e.checks. `thread` is what EmitCheckBegin
// gave, or null in a function that is called. The variables whose addresses it takes are known to the checker from
// PlaceLocals on, to be called when e.storage has them, until LeaveChecks.
void EnterChecks(Emitter& e, Value* thread);
void PlaceLocals(Emitter& e);
void LeaveChecks(Emitter& e);

// Before an access of `bytes` at `address`, which is what Emitter::Address made of `operand`. Leaves the builder where
// the access may be made.
void EmitAccessCheck(Emitter& e, const Operand& operand, Space space, AccessKind kind, uint64_t bytes, Value* address);

// A free() of a kernel: whether it was done (i1). What was wrong has been told.
Value* EmitCheckedFree(Emitter& e, Value* address);

// Whether the launch has failed already (i1).
Value* EmitHasFailed(llvm::IRBuilder<>& b, Value* launch);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_ACCESS_CHECKS_H_
